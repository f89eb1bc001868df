"""Whether an input can be tuned on, seen before any model is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import UsageError, option_named
from veridical.tuning.draws import drawn, no_promise

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.ensembles.graded import Level
    from veridical.io.source import InputSource
    from veridical.tuning.options import TuneOptions


def labelled_job(tuning: TuneOptions, reviewed: bool, *arguments: Any, **options: Any) -> Job:
    """A :class:`veridical.api.Job` of records that :func:`check_rows` takes.

    Args:
        reviewed: there are labels of a file of their own.
        arguments, options: of the job.
    """
    from veridical.api import Job

    class Labelled(Job):
        def _see(self, rows: InputSource) -> None:
            unused = rows.unused_columns()
            likely = next((u.sentence for u in unused if u.meaning in ("label", "unit_labels")), "")
            some = islice(rows.rows(), options.get("limit"))
            check_rows((r for r in some if isinstance(r, Record)), tuning, reviewed, likely)

    return Labelled(*arguments, **options)


def check_rows(
    records: Iterable[Record], tuning: TuneOptions, reviewed: bool, likely: str = ""
) -> None:
    """See that labels, or what a grader makes them of, are there, and the groups of ``by``.

    Args:
        reviewed: there are labels of a file of their own.
        likely: what is said of a column that may hold labels.

    Raises:
        UsageError: they are in no record, or no guarantee can rest on them.
    """
    has_labels, has_groups = reviewed, tuning.by is None
    promises = reviewed or tuning.alpha is None
    empty = True
    for record in records:
        empty = False
        if tuning.grader is not None:
            labelled = bool(record.reference)
        elif tuning.level == "sentence":
            labelled = bool(record.unit_labels)
        else:
            labelled = record.label is not None
        has_labels = has_labels or labelled
        if labelled and not promises:
            draw = None if tuning.grader is not None else drawn(record.meta)
            promises = draw is None or draw.promises
        has_groups = has_groups or record.meta.get(str(tuning.by)) is not None
        if has_labels and has_groups and promises:
            return
    if empty:  # bad rows are told of when they are read
        return
    if not has_labels and tuning.grader is not None:
        raise UsageError(f"no record has a reference, which the grader {tuning.grader} goes by")
    if not has_labels:
        raise no_labels(tuning.level, likely)
    if not promises:
        raise no_promise("the input")
    what = "record" if reviewed or tuning.grader is not None else "graded record"
    raise UsageError(f"{option_named('by', str(tuning.by))}: no {what} has a field {tuning.by!r}")


def no_labels(level: Level, likely: str = "") -> UsageError:
    """That there is nothing to tune on, and what to do.

    Args:
        likely: what is said of a column that may hold labels.
    """
    hint = f"; {likely}" if likely else ""
    if level == "sentence":
        return UsageError(
            'no record has unit_labels ([{"start", "end", "label"}], label 0 right .. 1 '
            f"hallucinated), which {option_named('level', 'sentence')} is tuned on{hint}"
        )
    return UsageError(
        "no record has a label (0 right .. 1 hallucinated): grade some, name their "
        f"{option_named('labels')} or a {option_named('grader')}; "
        f"for unit_labels see {option_named('level', 'sentence')}{hint}"
    )
