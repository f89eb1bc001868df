"""Labels from a separate file, such as an export of a review."""

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
from veridical.tuning.draws import Drawn, drawn, no_guarantee

if TYPE_CHECKING:
    from veridical.report.results import Results


class ReviewLabel(NamedTuple):
    """A reviewer's label with its location.

    It has the ``row`` and ``id`` that it names, and the draw of its answer, if given.
    """

    place: str
    row: dict[str, Any]
    label: float
    draw: Drawn | None = None


def read_review(path: str | Path) -> list[ReviewLabel]:
    """Read the labels of a review.

    Args:
        path: JSONL, JSON, CSV, TSV or Parquet. Each row has a ``label`` (0 right .. 1
            hallucinated, or a word such as right or wrong; empty: not reviewed). It names its
            record by ``row``, ``id`` or both: result lines and exports with one more column are
            valid.

    Raises:
        UsageError: the file, or a row of it, cannot be read; the message names the line.
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
    """Check that a guarantee may rest on labels of a review.

    Raises:
        UsageError: none of their answers was drawn at random.
    """
    if review and all(said.draw is not None and not said.draw.allows_guarantee for said in review):
        raise no_guarantee(display(path))


def labels_and_draws(
    review: Iterable[ReviewLabel], results: Results
) -> tuple[dict[int, float | None], dict[int, Drawn]]:
    """Return the labels of a run's records, and the draws of the reviewed answers, by row.

    Labels of a review replace the records' own; None without a label.

    Raises:
        UsageError: a row of the review refers to no record or to several, or contradicts another
            row; the message names its line.
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
            raise UsageError(f"{place}: row {at} has a different label earlier in the file")
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
    """Return the row of the input to which a row of the review refers."""
    number, name = row.get("row"), row.get("id")
    if number in (None, "") and name in (None, ""):
        raise UsageError(f"{place}: the row names no record; add row or id")
    matching = rows_of.get(str(name), []) if name not in (None, "") else None
    if number not in (None, ""):
        text = str(number).strip()
        at = int(text) if text.isdecimal() and len(text) < 19 else -1
        if at not in all_rows:
            raise UsageError(f"{place}: no record has row {shown(number)}")
        if matching is not None and at not in matching:
            raise UsageError(f"{place}: the record of row {at} does not have the id {shown(name)}")
        return at
    if not matching:
        raise UsageError(f"{place}: no record has the id {shown(name)}")
    if len(matching) > 1:
        rows = ", ".join(str(r) for r in matching[:5])
        raise UsageError(f"{place}: rows {rows} have the id {shown(name)}; add row")
    return matching[0]
