"""Verdicts on fields of structured answers, from units of the deciding score."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veridical.core.verdict_cuts import WORST_FIRST, Verdict, verdict_of_label
from veridical.text.structure import read_structure

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.text.structure import Leaf

Json = Mapping[str, Any]

#: Maximum fields of a result line; further fields of a larger answer are left out.
MAX_FIELDS = 10_000
_STATING = ("sentence", "claim")


def fields_of(
    record: Record, deciding: Json | None, others: Sequence[Json], reported: Verdict
) -> list[dict[str, Any]] | None:
    """Return a verdict on each value of a structured response, in order; None for other responses.

    Structured are JSON, YAML, XML and tables; images are not.

    Args:
        deciding: the score whose labelled units make the verdict; None if there is no such score.
        others: further scores, for evidence that the deciding one lacks.
        reported: the verdict on the response; if it is unchecked, every field is.
    """
    structured = read_structure(record.answer) if record.answer else None
    blocks = [b for b in structured.blocks if b.kind != "pairs"] if structured else []
    leaves = [leaf for block in blocks for leaf in block.leaves][:MAX_FIELDS]
    if not leaves:
        return None
    units = [] if deciding is None or reported == "unchecked" else _stating(deciding)
    starts = [u["start"] for u in units]
    evidence: dict[tuple[int, int], list[Any]] = {}
    for score in others if units else ():
        for unit in score["units"]:
            if unit["evidence"]:
                evidence.setdefault((unit["start"], unit["end"]), unit["evidence"])
    return [_field(leaf, units, starts, evidence) for leaf in leaves]


def _stating(score: Json) -> list[Json]:
    """Return the units with a verdict, in order; they overlap only at equal positions."""
    units = [u for u in score["units"] if u["level"] in _STATING and u["risk"] is not None]
    return sorted(units, key=lambda u: (u["start"], u["end"]))


def _field(
    leaf: Leaf,
    units: Sequence[Json],
    starts: Sequence[int],
    evidence: Mapping[tuple[int, int], list[Any]],
) -> dict[str, Any]:
    here: list[tuple[Verdict, Json]] = []
    first = bisect_left(starts, leaf.start)
    if first and units[first - 1]["end"] >= leaf.end > leaf.start:
        first -= 1
    for unit in units[first:]:
        if unit["start"] >= leaf.end:
            break
        verdict = verdict_of_label(unit["label"])
        if verdict is not None and leaf.kind != "null":
            here.append((verdict, unit))
    field: dict[str, Any] = {
        "path": leaf.path,
        "value": leaf.value,
        "verdict": "unchecked",
        "risk": None,
        "start": leaf.start,
        "end": leaf.end,
        "evidence": [],
    }
    if here:
        verdict, worst = min(here, key=lambda x: (WORST_FIRST.index(x[0]), -x[1]["risk"]))
        place = worst["start"], worst["end"]
        field["verdict"] = verdict
        field["risk"] = worst["risk"]
        field["evidence"] = worst["evidence"] or evidence.get(place, [])
    return field
