"""Benchmark suites: labelled items, and tasks on them.

A suite is a loader and a protocol in one file of this folder. The loader turns a published data set
(or the user's own) into items. The protocol defines the splits, the positives, and the metrics that
the papers report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.options import Options
from veridical.core.records import Against, Record
from veridical.errors import RowError, UsageError
from veridical.text.display import display

Kind = Literal["binary", "graded", "classes", "spans"]
Level = Literal["response", "passage", "sentence", "claim", "span"]

#: Metrics of a task of each kind, headline first.
METRICS: dict[Kind, tuple[str, ...]] = {
    "binary": (
        "average_precision",
        "trapezoid_pr",
        "auroc",
        "accuracy",
        "balanced_accuracy",
        "precision",
        "recall",
        "f1",
        "macro_f1",
        "weighted_f1",
        "mcc",
        "prr",
        "brier",
        "log_loss",
        "ece",
        "mce",
    ),
    "graded": ("spearman", "pearson", "kendall"),
    "classes": ("macro_f1", "accuracy", "balanced_accuracy", "weighted_f1", "mcc", "f1"),
    "spans": (
        "span_f1",
        "span_precision",
        "span_recall",
        "span_overlap_f1",
        "span_overlap_precision",
        "span_overlap_recall",
    ),
}


@dataclass(frozen=True)
class Item:
    """One labelled record.

    Attributes:
        part: the part of the data set it belongs to, such as ``wow/test``.
        group: the independent unit (passage, prompt, question) it belongs to, unique within the
            part. Sampling, resampling and folds take or leave whole groups.
        facets: further names by which a protocol may split, such as the model that answered.
        annotators: labels of single annotators by name, 0 .. 1, where the data has several.
        unusable: how much of it people set aside as not to be judged (see ``Suite.unusable``).
    """

    record: Record
    part: str
    group: str
    facets: dict[str, str] = field(default_factory=dict)
    annotators: dict[str, float] = field(default_factory=dict)
    unusable: int = 0


@dataclass(frozen=True)
class BadItem:
    """Invalid row of the data. It counts as failed for every scorer."""

    part: str
    error: RowError
    facets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Labelled:
    """Labels of a suite's items, in columns and record order.

    Attributes:
        parts, groups: one per item; a group's number is unique over all parts.
        label: of the response, 0 right .. 1 hallucinated; NaN if missing.
        length, words: of the response, in characters and in words between white space.
        facets: name -> one value per item ("" if absent).
        unit_item: the item of each labelled unit.
        unit_start, unit_end, unit_words, unit_label: the labelled units.
    """

    parts: NDArray[np.str_]
    groups: NDArray[np.int64]
    label: Floats
    length: NDArray[np.int64]
    words: NDArray[np.int64]
    facets: dict[str, NDArray[np.str_]]
    unit_item: NDArray[np.int64]
    unit_start: NDArray[np.int64]
    unit_end: NDArray[np.int64]
    unit_words: NDArray[np.int64]
    unit_label: Floats

    @classmethod
    def of(cls, items: Sequence[Item]) -> Labelled:
        """Build the columns of ``items``."""
        numbers: dict[tuple[str, str], int] = {}
        groups = [numbers.setdefault((i.part, i.group), len(numbers)) for i in items]
        names = sorted({name for i in items for name in i.facets})
        labels = [i.record.label for i in items]
        units = [(n, u) for n, i in enumerate(items) for u in i.record.unit_labels or ()]
        return cls(
            parts=np.array([i.part for i in items], dtype=np.str_),
            groups=np.array(groups, dtype=np.int64),
            label=np.array([np.nan if y is None else y for y in labels], dtype=np.float64),
            length=np.array([len(i.record.response) for i in items], dtype=np.int64),
            words=np.array([_words(i.record.response) for i in items], dtype=np.int64),
            facets={
                name: np.array([i.facets.get(name, "") for i in items], dtype=np.str_)
                for name in names
            },
            unit_item=np.array([n for n, _ in units], dtype=np.int64),
            unit_start=np.array([u.start for _, u in units], dtype=np.int64),
            unit_end=np.array([u.end for _, u in units], dtype=np.int64),
            unit_words=np.array(
                [_words(items[n].record.response[u.start : u.end]) for n, u in units],
                dtype=np.int64,
            ),
            unit_label=np.array([u.label for _, u in units], dtype=np.float64),
        )


@dataclass(frozen=True)
class Task:
    """One question: how well do scores find the positive targets of this split?

    Attributes:
        split: name of the split in tables and JSON.
        on: whether targets are items (one score each) or their labelled units.
        truth: one value a target, NaN where it is not asked about. ``binary``: 1 positive, 0 not.
            ``graded``: the human's number. ``classes``: index into ``classes``, ordered from right
            to wrong. ``spans``: over items, 1 where there is a hallucinated span (a unit of label
            >= 0.5), else 0.
        positive: what truth 1 means, in words.
        flip: the positives are the right ones, so scores are negated.
        objective: what the thresholds behind labels are fitted to; None leaves it to the harness.
        at_verdict: labels are the verdicts that ``check`` gives, and no threshold is fitted.
        sets: of a task over the items of several sets, the number of each item's set, for figures
            that are means over sets.
        named: a scorer's own labels -> index into ``classes``, where they are not those names.
        headline: the metric the scorers are compared by; the kind's first unless given.
    """

    split: str
    level: Level
    kind: Kind
    positive: str
    on: Literal["items", "units"]
    truth: Floats
    metrics: tuple[str, ...] = ()
    headline: str = ""
    flip: bool = False
    objective: str | None = None
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    at_verdict: bool = False
    sets: NDArray[np.int64] | None = None
    named: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", self.metrics or METRICS[self.kind])
        object.__setattr__(self, "headline", self.headline or self.metrics[0])

    def sets_of(self, items: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the numbers of the sets of some items; None if the task has a single set."""
        return None if self.sets is None else self.sets[items]


@dataclass(frozen=True)
class Suite:
    """A benchmark.

    Attributes:
        needs: the files or columns ``--data`` must hold, in words.
        source: the paper.
        hub: id of the data set on the public hub, where it is there in a form the loader reads.
        hub_files: patterns of the files to fetch from it.
        against: what its records hold to compare with; scorers with a choice are set to it.
        quick: most groups of a part that the quick protocol takes; None takes all.
        read: items (or bad rows) of the data at a path, by the suite's options.
        tasks: the questions put to them.
        options: the class of the suite's own options.
        hint: said after ``needs`` where the data does not fit.
        questions: reads items that are still to be answered and graded (their responses are
            empty), where the suite has such.
        unusable: what people set aside as not to be judged; it is left out, and counted.
        measures: ``scorers`` against labels, or claim ``extractors`` against claims.
    """

    name: str
    summary: str
    needs: str
    source: str
    read: Callable[[Path, Any], Iterable[Item | BadItem]]
    tasks: Callable[[Labelled], list[Task]]
    options: type[Options] = Options
    hint: str = ""
    hub: str | None = None
    hub_files: tuple[str, ...] = ()
    against: Against | None = None
    quick: int | None = 1000
    notes: tuple[str, ...] = ()
    questions: Callable[[Path, Any], Iterable[Item | BadItem]] | None = None
    unusable: str = ""
    measures: Literal["scorers", "extractors"] = "scorers"

    def load(self, path: Path, options: Options | None = None) -> Iterator[Item | BadItem]:
        """Yield the items and bad rows at ``path``, by ``options`` of the suite's class.

        Raises:
            UsageError: no item is valid, or the files are unreadable; the message states the needs.
        """
        expected = f"{self.name} needs {self.needs}{self.hint}"
        first_error: RowError | None = None
        has_items = False
        try:
            for item in self.read(path, self.options() if options is None else options):
                if isinstance(item, Item):
                    has_items = True
                elif first_error is None:
                    first_error = item.error
                yield item
        except UsageError as e:
            raise UsageError(f"{e}. {expected}") from None
        if not has_items:
            why = "there are no rows"
            if first_error is not None:
                why = f"no row fits; the first problem: {first_error}"
            raise UsageError(f"{display(path)}: {why}. {expected}")


def _words(text: str) -> int:
    return len(text.split())


def by_part(labelled: Labelled, positive: str = "hallucinated", **settings: Any) -> list[Task]:
    """Return one binary task per part: label >= 0.5 is positive. Unlabelled items are left out."""
    tasks = []
    for part in dict.fromkeys(labelled.parts.tolist()):
        of_part = (labelled.parts == part) & ~np.isnan(labelled.label)
        truth = np.where(of_part, (labelled.label >= 0.5).astype(np.float64), np.nan)
        tasks.append(Task(part, "response", "binary", positive, "items", truth, **settings))
    return tasks


def by_part_or_generic(labelled: Labelled, positive: str) -> list[Task]:
    """Return tasks as :func:`by_part`, with kept generic responses as positives."""
    generic = labelled.facets.get("generic")
    if generic is not None and (generic == "yes").any():
        positive += ", or generic (kept as asked)"
    return by_part(labelled, positive)
