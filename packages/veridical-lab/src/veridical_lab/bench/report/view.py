"""A benchmark arranged for reading: one table a split, best scorer first. Shared by all views."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from veridical.report.document import ShownFlag
from veridical.stats.tables import Comparison
from veridical_lab.bench.report.flags import ordered
from veridical_lab.bench.result import BASELINES, Baselines, Row, Split, StoredBench

#: The metrics of the main table by kind of task; all others follow in a second one.
MAIN: dict[str, tuple[str, ...]] = {
    "binary": ("average_precision", "trapezoid_pr", "auroc"),
    "graded": ("spearman", "pearson", "kendall"),
    "classes": ("macro_f1", "accuracy", "weighted_f1"),
    "spans": ("span_f1", "span_precision", "span_recall", "span_overlap_f1"),
    "extraction": ("f1", "precision", "recall"),
}
#: Metrics shown next to the headline if labels are verdicts.
AT_VERDICT = (
    *("balanced_accuracy", "right_flagged", "wrong_missed", "unclear"),
    *("balanced_accuracy_half", "balanced_accuracy_cross_fitted", "balanced_accuracy_macro"),
)
LOWER_IS_BETTER = frozenset(
    {
        *("brier", "log_loss", "ece", "mce", "right_flagged", "wrong_missed", "unclear"),
        *("right_flagged_macro", "wrong_missed_macro"),
    }
)
#: Flags of a whole split, independent of the scorer.
_OF_SPLIT = frozenset({"small_n", "few_groups"})


@dataclass
class Line:
    """A scorer's line: its rows by column name (see :func:`column`)."""

    scorer: str
    baseline: bool
    cells: dict[str, Row] = field(default_factory=dict)

    @property
    def flags(self) -> list[ShownFlag]:
        """The flags that are about the scorer."""
        return ordered(f for f in self.all_flags if f not in _OF_SPLIT)

    @property
    def all_flags(self) -> list[str]:
        return [f for row in self.cells.values() for f in row.flags]

    def counts(self, headline: str) -> Row | None:
        """Return the row with the line's counts: the headline's, else the first."""
        return self.cells.get(headline) or next(iter(self.cells.values()), None)


@dataclass
class SplitView:
    """One split. ``main`` and ``others`` are column names; the headline is the first of main."""

    split: Split
    lines: list[Line]
    baselines: list[Line]
    main: list[str]
    others: list[str]
    pairings: list[Pairing]

    @property
    def title(self) -> str:
        return f"{self.split.suite} · {self.split.split}"

    @property
    def prevalence(self) -> float | None:
        s = self.split
        return None if s.n_positive is None or not s.n_total else s.n_positive / s.n_total

    @property
    def flags(self) -> list[ShownFlag]:
        """The flags that are about the split, whatever the scorer."""
        return ordered(f for x in self.all_lines for f in x.all_flags if f in _OF_SPLIT)

    @property
    def notes(self) -> list[str]:
        """The split's own, then those of rows, after the names of the scorers they are about."""
        about: dict[str, dict[str, None]] = {}
        for line in self.all_lines:
            for note in (n for row in line.cells.values() for n in row.notes):
                about.setdefault(note, {})[line.scorer] = None
        of_split = dict.fromkeys(self.split.notes)
        of_rows = [f"{', '.join(who)}: {n}" for n, who in about.items() if n not in of_split]
        return [*of_split, *of_rows]

    @property
    def table(self) -> list[list[Line]]:
        """The parts of the main table: scorers, and the baselines that have a figure in it."""
        baselines = [x for x in self.baselines if any(m in x.cells for m in self.main)]
        return [part for part in (self.lines, baselines) if part]

    @property
    def all_lines(self) -> list[Line]:
        return [*self.lines, *self.baselines]


@dataclass(frozen=True)
class Pairing:
    """The best scorer against another: ``difference`` is the best's figure minus the other's."""

    other: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None

    @property
    def distinguishable(self) -> bool:
        return self.p is not None and self.p <= 0.05

    @property
    def verdict(self) -> str:
        """The best against the other, to be followed by the other's name."""
        if self.p is None:
            return "not tested against"
        return "better than" if self.distinguishable else "not distinguishable from"


#: A scorer's rank on a split: the best, not distinguishable from it by the paired test, or neither.
Standing = Literal["best", "level", ""]


class Overview(NamedTuple):
    """A scorer's headline row on each split, with its standing there."""

    scorer: str
    baseline: bool
    cells: list[tuple[Row | None, Standing]]


def views(bench: StoredBench) -> list[SplitView]:
    """Return the splits in the order stored, then those with rows only."""
    rows: dict[tuple[str, str, str], list[Row]] = {}
    for row in bench.rows:
        rows.setdefault((row.suite, row.split, row.level), []).append(row)
    stored = [_view(s, rows.pop((s.suite, s.split, s.level), [])) for s in bench.splits]
    return stored + [_view(_split_of(unstored), unstored) for unstored in rows.values()]


def overview(shown: Iterable[SplitView]) -> list[Overview]:
    """Return every scorer's headline figures on all splits, then those of baselines."""
    splits = list(shown)
    scorers = dict.fromkeys(x.scorer for v in splits for x in v.lines)
    baselines = dict.fromkeys(x.scorer for v in splits for x in v.baselines)
    lines = [
        Overview(name, name in baselines, [_standing(name, v) for v in splits])
        for name in [*scorers, *(n for n in baselines if n not in scorers)]
    ]
    return [x for x in lines if not x.baseline or any(row for row, _ in x.cells)]


def _standing(scorer: str, view: SplitView) -> tuple[Row | None, Standing]:
    line = next((x for x in view.all_lines if x.scorer == scorer), None)
    row = line.cells.get(view.main[0]) if line is not None and view.main else None
    if row is None or row.value is None or row.scorer in BASELINES:
        return row, ""
    if view.lines[0].scorer == scorer:
        return row, "best"
    paired = next((p for p in view.pairings if p.other == scorer), None)
    return row, "level" if paired is not None and paired.p is not None and paired.p > 0.05 else ""


def column(row: Row, split: Split) -> str:
    """Return the column of a row: its metric, with the class if it differs from the split's."""
    return row.metric if row.positive == split.positive else f"{row.metric} ({row.positive})"


def _view(split: Split, rows: list[Row]) -> SplitView:
    lines: dict[str, Line] = {}
    for row in rows:
        line = lines.setdefault(row.scorer, Line(row.scorer, row.scorer in BASELINES))
        name = column(row, split)
        # Rows of one scorer may differ in the number of samples: the most samples stand for it.
        if name not in line.cells or _samples(row) >= _samples(line.cells[name]):
            line.cells[name] = row
    for name in ("constant", "random", "length", "majority"):
        if name not in lines:
            cells = {column(r, split): r for r in _from_baselines(rows, name)}
            if cells:
                lines[name] = Line(name, True, cells)
    for name in split.scorers:  # one that scored nothing has no rows, and must not vanish
        lines.setdefault(name, Line(name, False))
    columns = list(dict.fromkeys(c for x in lines.values() for c in x.cells))
    verdicts = AT_VERDICT if "right_flagged" in columns else ()
    preferred = dict.fromkeys((split.headline, *verdicts, *MAIN.get(split.kind, ())))
    main = [name for name in preferred if name in columns] or columns[:4]
    head = main[0] if main else split.headline
    scorers = sorted((x for x in lines.values() if not x.baseline), key=lambda x: _key(x, head))
    apart = [lines[name] for name in BASELINES if name in lines]
    others = [name for name in columns if name not in main]
    best = scorers[0].scorer if scorers else ""
    by_other = {p.other: p for p in pairings(split.comparisons, split.headline, best)}
    in_order = [by_other[x.scorer] for x in scorers if x.scorer in by_other]
    return SplitView(split, scorers, apart, main, others, in_order)


def _samples(row: Row) -> float:
    return float("inf") if row.samples is None else row.samples


def _key(line: Line, headline: str) -> tuple[bool, float]:
    row = line.cells.get(headline)
    if row is None or row.value is None:
        return True, 0.0
    return False, row.value if headline in LOWER_IS_BETTER else -row.value


def _from_baselines(rows: list[Row], name: str) -> list[Row]:
    """Return rows of a baseline that is stored only with the scorers' figures."""
    by_metric = {}
    for row in rows:
        value = getattr(row.baselines, name)
        if value is not None:
            by_metric[row.metric, row.positive] = Row(
                suite=row.suite,
                scorer=name,
                split=row.split,
                level=row.level,
                positive=row.positive,
                metric=row.metric,
                value=value,
                n_total=row.n_total,
                n_scored=row.n_total,
                coverage=1.0,
                prevalence=row.prevalence,
                baselines=Baselines(),
            )
    return list(by_metric.values())


def _split_of(rows: list[Row]) -> Split:
    first = rows[0]
    prevalence = first.prevalence
    return Split(
        suite=first.suite,
        split=first.split,
        level=first.level,
        kind=next((k for k, names in MAIN.items() if first.metric in names), "binary"),
        positive=first.positive,
        n_total=first.n_total,
        n_positive=None if prevalence is None else round(prevalence * first.n_total),
        n_groups=0,
        headline=first.metric,
        scorers=list(dict.fromkeys(r.scorer for r in rows)),
    )


def pairings(comparisons: Iterable[Comparison], metric: str, best: str) -> list[Pairing]:
    """Select the comparisons of ``best`` with others on a metric, seen from the best."""
    of_best = []
    for c in comparisons:
        if c.metric != metric or best not in (c.a, c.b) or c.a == c.b:
            continue
        difference, low, high = c.difference, c.ci_low, c.ci_high
        if c.b == best:
            turned = (None if v is None else -v for v in (difference, high, low))
            difference, low, high = turned
        of_best.append(Pairing(c.b if c.a == best else c.a, difference, low, high, c.p_holm))
    return of_best
