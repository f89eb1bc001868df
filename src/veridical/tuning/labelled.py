"""Checks of labels before any model is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.engine.causes import of_rows
from veridical.errors import RowError, UsageError, option_named
from veridical.text.display import display
from veridical.tuning.draws import drawn, no_guarantee
from veridical.tuning.nested import check_counts

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.ensembles.graded import Level
    from veridical.io.source import InputSource
    from veridical.tuning.nested import Tell
    from veridical.tuning.options import TuneOptions

#: Maximum bad rows stored, and maximum causes reported.
_MOST_ERRORS, _MOST_CAUSES = 10_000, 3


def labelled_job(
    tuning: TuneOptions, reviewed: bool, tell: Tell | None, *arguments: Any, **options: Any
) -> Job:
    """Return a :class:`veridical.api.Job` that runs :func:`check_rows` on its records.

    Args:
        reviewed: True if labels come from a separate file.
        tell: callback(text) with the number of labels.
        arguments, options: arguments of the job.
    """
    from veridical.api import Job

    class Labelled(Job):
        def _see(self, rows: InputSource) -> None:
            unused = rows.unused_columns()
            likely = next((u.sentence for u in unused if u.meaning in ("label", "unit_labels")), "")
            some = islice(rows.rows(), options.get("limit"))
            counted = check_rows(some, tuning, reviewed, likely)
            if tell is not None and not reviewed:
                tell(counted.sentence())

    return Labelled(*arguments, **options)


@dataclass
class LabelCounts:
    """Labels of an input, counted before anything is scored.

    Attributes:
        wrong, right: labels of each kind; with a grader, records that it can grade are ``right``.
        without: valid records without a label.
        errors: invalid rows.
    """

    tuning: TuneOptions
    wrong: int = 0
    right: int = 0
    without: int = 0
    errors: list[RowError] = field(default_factory=list)
    n_errors: int = 0

    def add(self, record: Record) -> bool:
        """Count a record; return True if it has a label."""
        if self.tuning.grader is not None:
            found = [0.0] if record.reference else []
        elif self.tuning.level == "sentence":
            found = [unit.label for unit in record.unit_labels or ()]
        else:
            found = [] if record.label is None else [record.label]
        wrong = sum(label >= 0.5 for label in found)  # threshold of the figures for graded labels
        self.wrong += wrong
        self.right += len(found) - wrong
        self.without += not found
        return bool(found)

    def add_error(self, error: RowError) -> None:
        self.n_errors += 1
        if len(self.errors) < _MOST_ERRORS:
            self.errors.append(error)

    def causes(self) -> str:
        """Describe why rows are invalid, most common causes first."""
        return "; ".join(
            f"{cause.count:,} bad row{'' if cause.count == 1 else 's'}, such as "
            f"{display(str(cause.example or cause.reason))}"
            for cause in of_rows(self.errors, {})[:_MOST_CAUSES]
        )

    def sentence(self) -> str:
        """Describe the counts."""
        total = self.wrong + self.right
        if self.tuning.grader is not None:
            text = f"{total:,} records to grade"
        else:
            what = "labels" if self.tuning.level == "response" else "unit_labels"
            text = f"{total:,} {what}: {self.right:,} right, {self.wrong:,} hallucinated"
        if self.without:
            text += f"; {self.without:,} records without one"
        return text + (f"; {self.causes()}" if self.errors else "")


def check_rows(
    rows: Iterable[Record | RowError], tuning: TuneOptions, reviewed: bool, likely: str = ""
) -> LabelCounts:
    """Count the labels, and check that there are enough, and that ``by`` has groups.

    Args:
        reviewed: True if labels come from a separate file.
        likely: hint about a column that may contain labels.

    Raises:
        UsageError: there are no labels or too few, or no guarantee can rest on them.
    """
    counted = LabelCounts(tuning)
    has_groups, allowed = tuning.by is None, reviewed or tuning.alpha is None
    for row in rows:
        if not isinstance(row, Record):
            counted.add_error(row)
            continue
        labelled = counted.add(row)
        if labelled and not allowed:
            draw = None if tuning.grader is not None else drawn(row.meta)
            allowed = draw is None or draw.allows_guarantee
        counts = labelled or reviewed
        has_groups = has_groups or (counts and row.meta.get(str(tuning.by)) is not None)
    if reviewed and has_groups:
        return counted
    if not reviewed and not counted.wrong + counted.right:
        if tuning.grader is None:
            raise no_labels(tuning.level, likely or counted.causes())
        raise UsageError(f"no record has a reference, which the grader {tuning.grader} requires")
    if not allowed:
        raise no_guarantee("the input")
    if not has_groups:
        what = "record" if reviewed or tuning.grader is not None else "graded record"
        raise UsageError(
            f"{option_named('by', str(tuning.by))}: no {what} has a field {tuning.by!r}"
        )
    if tuning.grader is None:
        check_counts(counted.wrong, counted.right, tuning.level, counted.causes())
    return counted


def no_labels(level: Level, likely: str = "") -> UsageError:
    """Return the error that there is nothing to tune on, with advice.

    Args:
        likely: hint about a column that may contain labels.
    """
    hint = f"; {likely}" if likely else ""
    if level == "sentence":
        return UsageError(
            'no record has unit_labels ([{"start", "end", "label"}], label 0 right .. 1 '
            f"hallucinated), which {option_named('level', 'sentence')} requires{hint}"
        )
    return UsageError(
        "no record has a label (0 right .. 1 hallucinated): grade some, name their "
        f"{option_named('labels')} or a {option_named('grader')}; "
        f"for unit_labels see {option_named('level', 'sentence')}{hint}"
    )
