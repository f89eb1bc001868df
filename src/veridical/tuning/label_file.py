"""Labels from a file of their own: what reviewers said of the records of a run."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import UsageError
from veridical.io.files import raw_rows
from veridical.io.label_words import label_of
from veridical.io.problems import LABEL, RowProblem
from veridical.text.display import display, shown
from veridical.tuning.draws import Drawn, drawn, no_promise

if TYPE_CHECKING:
    from veridical.report.results import Results


class ReviewLabel(NamedTuple):
    """A label of a review: where it stands, the ``row`` and ``id`` it names, itself, and how its
    answer was drawn, where the file says."""

    place: str
    row: dict[str, Any]
    label: float
    draw: Drawn | None = None


def read_review(path: str | Path) -> list[ReviewLabel]:
    """The labels of a review.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet. Each row has a ``label`` (0 right .. 1
            hallucinated, or a word such as right or wrong; empty: not reviewed), and says by
            ``row``, ``id`` or both which record it is about: result lines and exports with a
            column more will do.

    Raises:
        UsageError: it, or a row of it, cannot be read; the message names the line.
    """
    labels = []
    for place, row in _rows(Path(path)):
        label = _label(row.get("label"), place)
        if label is not None:
            about = {k: row.get(k) for k in ("row", "id")}
            try:
                labels.append(ReviewLabel(place, about, label, drawn(row)))
            except UsageError as e:
                raise UsageError(f"{place}: {e}") from None
    return labels


def check_promise(review: list[ReviewLabel], path: str | Path) -> None:
    """See that a promise may rest on labels of a review.

    Raises:
        UsageError: none of their answers was drawn at random.
    """
    if review and all(said.draw is not None and not said.draw.promises for said in review):
        raise no_promise(display(path))


def labels_and_draws(
    review: Iterable[ReviewLabel], results: Results
) -> tuple[dict[int, float | None], dict[int, Drawn]]:
    """Labels of a run's records by their row, a review's in place of their own; None where there
    is none. And how the answers of the review were drawn, by their row.

    Raises:
        UsageError: a row of the review is about no record or about several, or contradicts
            another one; the message names its line.
    """
    labels: dict[int, float | None] = {}
    draws: dict[int, Drawn] = {}
    rows_of: dict[str, list[int]] = {}
    for record, line in results.records():
        if line is not None:
            labels[record.row] = record.label
            rows_of.setdefault(str(record.id), []).append(record.row)
    reviewed: dict[int, float] = {}
    for place, row, label, draw in review:
        at = _record(row, rows_of, labels, place)
        if draw is not None:
            draws[at] = draw
        if reviewed.setdefault(at, label) != label:
            raise UsageError(f"{place}: row {at} has another label before")
    return labels | reviewed, draws


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    name = display(path)
    labelled = False
    for line, row in raw_rows(path):
        place = f"{name}, line {line}"
        if isinstance(row, RowProblem):
            raise UsageError(f"{place}: {row.error}")
        labelled = labelled or "label" in row
        yield place, row
    if not labelled:
        raise UsageError(f"{name}: no row has a label")


def _label(value: Any, place: str) -> float | None:
    if isinstance(value, str):
        try:
            value = label_of(value)
        except RowProblem as e:
            raise UsageError(f"{place}: label {e.error}") from None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, (bool, int, float)) or not 0 <= value <= 1:
        raise UsageError(f"{place}: label must be {LABEL}, got {shown(value)}")
    return float(value)


def _record(
    row: dict[str, Any], rows_of: dict[str, list[int]], all_rows: Container[int], place: str
) -> int:
    """The row of the input that a row of the review is about."""
    number, name = row.get("row"), row.get("id")
    if number in (None, "") and name in (None, ""):
        raise UsageError(f"{place}: it has neither row nor id, so it is about no record")
    matching = rows_of.get(str(name), []) if name not in (None, "") else None
    if number not in (None, ""):
        text = str(number).strip()
        at = int(text) if text.isdecimal() and len(text) < 19 else -1
        if at not in all_rows:
            raise UsageError(f"{place}: there is no record of row {shown(number)}")
        if matching is not None and at not in matching:
            raise UsageError(f"{place}: the record of row {at} has another id than {shown(name)}")
        return at
    if not matching:
        raise UsageError(f"{place}: there is no record of id {shown(name)}")
    if len(matching) > 1:
        rows = ", ".join(str(r) for r in matching[:5])
        raise UsageError(f"{place}: id {shown(name)} is that of rows {rows}: name the row too")
    return matching[0]
