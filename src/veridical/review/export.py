"""Export of labels as rows with ``label`` and ``unit_labels``, for other commands."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError
from veridical.files.outputs import writing
from veridical.review.events import LABELS, NUMBERS, read_events
from veridical.review.items import Items
from veridical.review.labels import Labels, answer_label, finals, outcome
from veridical.review.queue import RandomOrder, random_prefix, stratified_draw
from veridical.review.triplets import EXTRACTED, export_triplets, published

if TYPE_CHECKING:
    from veridical.report.results import Results
    from veridical.review.labels import AnswerLabels, FinalLabel


def labels_of(results: Results) -> Labels:
    """Read the labels of a run.

    Raises:
        UsageError: a line of the file is unreadable.
    """
    return Labels.from_events(read_events(results.path / LABELS))


def export_rows(
    items: Items, labels: Labels, *, redact: bool = False, worst: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield a row for each finished answer, in input order.

    ``label`` and ``unit_labels`` are by adjudication, else by the majority, else left out. ``draw``
    states the selection: ``random`` with the probability of a simple random sample, ``neyman`` with
    that of its stratum, or ``chosen`` without one. ``labels`` has each reviewer's labels.

    Args:
        redact: replace names by pseudonyms, new ones for each export, and leave out comments.
        worst: see :func:`~veridical.review.labels.finals`.

    Raises:
        UsageError: labels belong to other records than the run's.
    """
    for row, digests in labels.digests.items():
        items.check_digest(row, digests)
    chances = RandomOrder(items)
    drawn = _draws(items, labels, chances)
    names = _pseudonyms(labels) if redact else {}
    for place, row in enumerate(items.rows):
        if not labels.is_done(row):
            continue
        record, _ = items.get(place)
        units = finals(labels, row, worst=worst)
        draw, probability = drawn.get(place, ("chosen", None))
        out: dict[str, Any] = {"row": row}
        if record.id is not None:
            out["id"] = record.id
        if record.prompt is not None:
            out["prompt"] = record.prompt
        out["response"] = record.response
        if record.response_image is not None:
            out["response"] = {"text": record.response, "image": record.response_image}
        if record.contexts:
            out["contexts"] = [c.model_dump(exclude_none=True) for c in record.contexts]
        if record.samples:
            out["samples"] = [s.model_dump(exclude_none=True) or None for s in record.samples]
        if record.reference:
            out["reference"] = list(record.reference)
        if record.given_sentences is not None:
            out["sentences"] = [list(pair) for pair in record.given_sentences]
        label = answer_label(units)
        if label is not None:
            out["label"] = label
        out["unit_labels"] = list(_unit_labels(units))
        out["draw"] = draw
        out["draw_probability"] = probability
        out["disagreements"] = sum(unit.label is None for unit in units)
        out["labels"] = list(_individual(labels.of.get(row, {}), names, redact))
        yield out


def export(
    results: Results,
    path: Path,
    *,
    redact: bool = False,
    triplets: bool = False,
    worst: bool = False,
) -> int:
    """Write :func:`export_rows`, or the labelled triplets, as JSON lines; return their number.

    Triplets to a file named ``.json`` are written in RefChecker's published format, an answer with
    its claims.

    Raises:
        UsageError: no answer is finished, no triplet is labelled, or the file cannot be written.
    """
    labels = labels_of(results)
    if not any(labels.is_done(row) for row in labels.of):
        raise UsageError(
            f"{results.path}: no answer is finished, so there is nothing to export; "
            "label some with veridical review RUN"
        )
    items = Items(results)
    if triplets:
        rows = export_triplets(items, labels)
        first = next(rows, None)
        if first is None:
            raise UsageError(f"{results.path}: no triplet has a label")
        rows = chain([first], rows)
    else:
        rows = export_rows(items, labels, redact=redact, worst=worst)
    count = 0
    with writing(path) as out:
        if triplets and path.suffix == ".json":
            answers = published(rows)
            json.dump(answers, out, ensure_ascii=False, indent=2)
            out.write("\n")
            return sum(len(answer[EXTRACTED]) for answer in answers)
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def unlabelled_line(labels: Labels, *, worst: bool = False) -> str | None:
    """Return a notice of exported answers without a label; None if all have one."""
    done = [row for row in labels.of if labels.is_done(row)]
    found = Counter(outcome(finals(labels, row, worst=worst)) for row in done)
    undecided, silent = found["undecided"], found["no_statement"]
    parts = []
    if undecided:
        parts.append(f"{undecided:,} undecided (reviewers disagree: adjudicate on the review page)")
    if silent:
        parts.append(f"{silent:,} with no statement")
    if not parts:
        return None
    return f"without a label, so left out by tune and bench: {', '.join(parts)}"


def _draws(
    items: Items, labels: Labels, chances: RandomOrder
) -> dict[int, tuple[str, float | None]]:
    """Return the selection and probability of each place.

    The larger sample counts: a simple random one, else a stratified one.
    """
    prefix = random_prefix(items, labels, chances).tolist()
    random = {place: ("random", round(len(prefix) / len(items), 9)) for place in prefix}
    strata: dict[int, tuple[str, float | None]] = {}
    parts = stratified_draw(items, labels, chances)
    if all(len(part) for part in parts):
        for h, part in enumerate(parts):
            probability = round(len(part) / int(chances.sizes[h]), 9)
            strata |= dict.fromkeys(part.tolist(), ("neyman", probability))
    if len(random) >= len(strata):
        return {**random}
    return strata


def _unit_labels(units: list[FinalLabel]) -> Iterator[dict[str, Any]]:
    for unit in units:
        if unit.label is None:
            continue
        number = NUMBERS[unit.label]
        if number is not None:
            yield {"start": unit.unit.start, "end": unit.unit.end, "label": number}


def _individual(
    said: dict[str, AnswerLabels], names: dict[str, str], redact: bool
) -> Iterator[dict[str, Any]]:
    for who, one in sorted(said.items()):
        if one.done is None:
            continue
        for event in one.units.values():
            assert event.unit is not None
            out = {
                "who": names.get(who, who),
                "start": event.unit.start,
                "end": event.unit.end,
                "level": event.unit.level,
                "label": event.label,
                "blind": event.blind,
            }
            if event.missed:
                out["missed"] = True
            if event.evidence:
                out["evidence"] = [e.model_dump() for e in event.evidence]
            yield out
        if one.comment and not redact:
            yield {"who": names.get(who, who), "comment": one.comment}


def _pseudonyms(labels: Labels) -> dict[str, str]:
    """Map names to pseudonyms, in an order that does not depend on the names."""
    salt = secrets.token_bytes(16)
    ranked = sorted(
        labels.people(), key=lambda name: hashlib.blake2b(name.encode(), key=salt).digest()
    )
    return {name: f"annotator {i}" for i, name in enumerate(ranked, 1)}
