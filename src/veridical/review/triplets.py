"""Labelled claims in the format of RefChecker's annotations.

A file is a JSON list of answers. Each has ``id``, ``response``, and under a key that names the
extractor (``claude2_response_kg``) a list of ``{"triplet": [head, relation, tail], "human_label":
"Entailment" | "Neutral" | "Contradiction"}`` (Hu et al. 2024, ``benchmark/human_annotations_v1``).
Setting, data set and model are part of the file's name, as in ``nq_gpt4_answers.json``. The flat
form has one row per claim, with all of these as columns.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import UsageError
from veridical.io.files import raw_rows
from veridical.io.problems import RowProblem
from veridical.review.events import Draw, Label, ReviewEvent, UnitPlace, now
from veridical.review.labels import finals
from veridical.text.display import display, shown

if TYPE_CHECKING:
    from veridical.review.items import Items
    from veridical.review.labels import Labels

SETTINGS = {"nq": "zero_context", "msmarco": "noisy_context", "dolly": "accurate_context"}
_PUBLISHED = re.compile(r"(nq|msmarco|dolly)_(.+)_answers\.json(?:\.gz)?")
#: Column of the published rows that contains the claims.
EXTRACTED = "claude2_response_kg"
#: RefChecker's classes as labels, and the reverse.
LABELS_OF: dict[str, Label] = {
    "Entailment": "supported",
    "Neutral": "says_nothing",
    "Contradiction": "contradicted",
}
CLASSES_OF: dict[str, str] = {label: name for name, label in LABELS_OF.items()}
#: Annotators' term for a triplet that is not a claim of the answer.
BAD = "bad triplet"
#: Fields that distinguish answers of the same id and text.
_APART = ("setting", "dataset", "model")


def import_triplets(path: Path, items: Items, *, who: str = "refchecker") -> list[ReviewEvent]:
    """Read labels of a file in RefChecker's format as events.

    Each answer of the run with the id and text of claims is labelled by ``who`` and finished.

    Args:
        path: answers with their claims, or a claim per row with ``id``, ``response``, ``triplet``
            and ``human_label``, as JSON or JSON lines.

    Raises:
        UsageError: a row is unreadable, or matches no answer of the run; the message names it.
    """
    answers = _by_text(items)
    units: dict[int, list[ReviewEvent]] = {}
    seen: Counter[tuple[int, tuple[str, str, str]]] = Counter()
    at = now()
    for place, row in _claims(path):
        name, response = row.get("id"), row.get("response")
        if not isinstance(name, (str, int)):
            raise UsageError(f"{place}: id must be the answer's id, got {shown(name)}")
        if not isinstance(response, str):
            raise UsageError(f"{place}: response must be a text, got {shown(response)}")
        found = _told_apart(answers.get((str(name), response), []), row)
        if len(found) != 1:
            many = "several answers" if found else "no answer"
            raise UsageError(
                f"{place}: id {shown(name)} with that response matches {many} of the run"
            )
        at_place = found[0].place
        triplet, label = _triplet(row.get("triplet"), place), _label(row.get("human_label"), place)
        unit = UnitPlace(
            level="claim",
            start=0,
            end=len(response),
            text=" ".join(triplet),
            triplet=triplet,
            again=seen[at_place, triplet],
        )
        seen[at_place, triplet] += 1
        event = ReviewEvent(
            event="label",
            at=at,
            who=who,
            row=items.rows[at_place],
            record=items.digests[at_place],
            unit=unit,
            label=label,
            draw=Draw(order="chosen"),
        )
        units.setdefault(at_place, []).append(event)
    events: list[ReviewEvent] = []
    for at_place, labelled in units.items():
        events += labelled
        done = {"at": at, "who": who, "record": items.digests[at_place]}
        events.append(ReviewEvent(event="done", row=items.rows[at_place], **done))
    return events


def published(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Convert flat rows of :func:`export_triplets` to answers with their claims, as published."""
    answers: dict[str, dict[str, Any]] = {}
    for row in rows:
        shared = {k: v for k, v in row.items() if k not in ("triplet", "human_label")}
        answer = answers.setdefault(json.dumps(shared), {**shared, EXTRACTED: []})
        answer[EXTRACTED].append({k: row[k] for k in ("triplet", "human_label")})
    return list(answers.values())


def export_triplets(items: Items, labels: Labels) -> Iterator[dict[str, Any]]:
    """Yield a row for each labelled triplet of the run, in RefChecker's flat format.

    Columns: ``setting``, ``dataset``, ``model`` (if the record's ``meta`` has them), ``id``,
    ``response``, ``triplet``, ``human_label``.
    """
    for place, row in enumerate(items.rows):
        if not labels.is_done(row):
            continue
        record, _ = items.get(place)
        apart: dict[str, Any] = {
            field: record.meta[field] for field in _APART if field in record.meta
        }
        for unit in finals(labels, row):
            if unit.unit.triplet is None or unit.label is None:
                continue
            yield {
                **apart,
                "id": record.id,
                "response": record.response,
                "triplet": list(unit.unit.triplet),
                "human_label": CLASSES_OF.get(unit.label, BAD),
            }


class _Answer(NamedTuple):
    place: int
    apart: Mapping[str, Any]


def _by_text(items: Items) -> dict[tuple[str, Any], list[_Answer]]:
    found: dict[tuple[str, Any], list[_Answer]] = {}
    for place in range(len(items)):
        record, _ = items.get(place)
        apart = {field: record.meta.get(field) for field in _APART}
        found.setdefault((str(record.id), record.response), []).append(_Answer(place, apart))
    return found


def _told_apart(answers: list[_Answer], row: Mapping[str, Any]) -> list[_Answer]:
    if len(answers) < 2:
        return answers
    return [
        a
        for a in answers
        if all(a.apart[f] is None or row.get(f) is None or a.apart[f] == row[f] for f in _APART)
    ]


def _claims(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each claim's location and flat row."""
    for ordinal, (line, row) in enumerate(raw_rows(path)):
        place = f"{display(path)}, " + (f"row {ordinal}" if line is None else f"line {line}")
        if isinstance(row, RowProblem):
            raise UsageError(f"{place}: {row.error}")
        nested = [k for k in row if k.endswith("_response_kg")]
        answer = {k: v for k, v in row.items() if k not in nested}
        if not nested:
            yield place, row
            continue
        for key in nested:
            claims = row[key]
            if not isinstance(claims, list):
                raise UsageError(f"{place}: {key} must be a list of claims, got {shown(claims)}")
            for n, claim in enumerate(claims):
                at = f"{place}, {key}[{n}]"
                if not isinstance(claim, Mapping):
                    raise UsageError(
                        f"{at}: must be an object with triplet and human_label, got {shown(claim)}"
                    )
                yield at, {**told_by_name(path), **answer, **claim}


def told_by_name(file: Path) -> dict[str, str]:
    """Read ``setting``, ``dataset`` and ``model`` from a published file's name; {} for others."""
    match = _PUBLISHED.fullmatch(file.name)
    if match is None:
        return {}
    return {"setting": SETTINGS[match[1]], "dataset": match[1], "model": match[2]}


def _triplet(value: Any, place: str) -> tuple[str, str, str]:
    if (
        not isinstance(value, (list, tuple))
        or len(value) != 3
        or not all(isinstance(part, str) for part in value)
    ):
        raise UsageError(f"{place}: triplet must be a list of three texts, got {shown(value)}")
    return value[0], value[1], value[2]


def _label(value: Any, place: str) -> Label:
    text = value.strip() if isinstance(value, str) else ""
    if text.lower().replace("_", " ") in ("bad triplet", "bad"):
        return "not_a_claim"
    if text not in LABELS_OF:
        raise UsageError(
            f"{place}: human_label must be {', '.join(LABELS_OF)} or {BAD}, got {shown(value)}"
        )
    return LABELS_OF[text]
