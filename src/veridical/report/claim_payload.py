"""Data of the claims view: verdict, category and evidence of each claim.

Scores of level ``claim`` provide them in their units' labels and in ``raw["claims"]``. Data of
unexpected form is left out, and the units are shown without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from veridical.core.scores import Score

#: Verdict of a unit's label.
VERDICTS = {
    "entailment": "entailment",
    "neutral": "neutral",
    "contradiction": "contradiction",
    "supported": "entailment",
    "unsupported": "neutral",
    "unclear": "unclear",
}
MAX_PARTS = 64  #: runs of words of one claim; of more, only the beginning and end are shown
MAX_TEXT = 4_000  #: code points of a claim's text, or of a reason
MAX_LEFT_OUT = 20

Json = Any


class ClaimFact(NamedTuple):
    """Facts of one claim; ``says`` has a verdict for each item of its evidence."""

    shown: dict[str, Json]
    says: list[str | None]


def claims_of(score: Score) -> dict[str, Json] | None:
    """Return the facts of a score's claims as a whole; None if no claims were judged.

    ``abstained`` is True for a response that declines to answer. ``left_out`` has the omitted parts
    of a model's output.
    """
    raw = score.raw if isinstance(score.raw, Mapping) else {}
    abstained = not score.units and raw.get("label") == "abstain"
    judged = bool(score.units) and all(
        u.level == "claim" and u.label in VERDICTS for u in score.units
    )
    if not (judged or abstained):
        return None
    left_out = [_short(t) for t in _list(raw.get("left_out")) if isinstance(t, str)]
    return {"abstained": abstained, "left_out": left_out[:MAX_LEFT_OUT]}


def claim_facts(score: Score) -> list[ClaimFact]:
    """Return the facts of each unit of a score with claims (see :func:`claims_of`).

    Each has its verdict ``v`` and, if it differs from the unit's, its ``text``. Where the scorer
    provides them, it also has ``triplet``, ``parts``, ``kind`` (number, date, name, other),
    ``conflict`` and ``why``.
    """
    raw = score.raw if isinstance(score.raw, Mapping) else {}
    described = _list(raw.get("claims"))
    if len(described) != len(score.units):
        described = [None] * len(score.units)
    facts = []
    for unit, fact in zip(score.units, described, strict=True):
        fact = fact if isinstance(fact, Mapping) else {}
        verdict = VERDICTS[unit.label or ""]
        says = [VERDICTS.get(s) if isinstance(s, str) else None for s in _list(fact.get("says"))]
        repeated = [verdict] * len(unit.evidence) if "says" not in fact else []
        facts.append(ClaimFact({"v": verdict, **_facts(unit.text, fact)}, [*says, *repeated]))
    return facts


def _facts(unit_text: str, fact: Mapping[str, Any]) -> dict[str, Json]:
    out: dict[str, Json] = {}
    text, category = fact.get("text"), fact.get("category")
    triplet = _list(fact.get("triplet"))
    if isinstance(text, str) and text != unit_text:
        out["text"] = _short(text)
    if len(triplet) == 3 and all(isinstance(part, str) for part in triplet):
        out["triplet"] = [_short(part) for part in triplet]
    parts = [list(p) for p in _list(fact.get("parts")) if _is_range(p)]
    if 0 < len(parts) <= MAX_PARTS:
        out["parts"] = parts
    if isinstance(category, str):
        out["kind"] = _short(category.partition("/")[2] or category)
    if fact.get("conflict") is True:
        out["conflict"] = True
    if isinstance(fact.get("why"), str):
        out["why"] = _short(fact["why"])
    elif votes := _votes(fact.get("votes")):
        out["why"] = _short(f"Checkers: {votes}.")
    return out


def _votes(votes: Any) -> str:
    """Return the verdicts of several checkers, in a line."""
    return ", ".join(
        f"{vote['checker']} {vote['label']}"
        for vote in _list(votes)
        if isinstance(vote, Mapping)
        and isinstance(vote.get("checker"), str)
        and vote.get("label") in VERDICTS
    )


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _is_range(part: Any) -> bool:
    if len(_list(part)) != 2 or not all(type(place) is int for place in part):
        return False
    return bool(0 <= part[0] < part[1])


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
