"""Question-answering report of the tunable-ensemble paper.

Bouchard and Chauhan 2025: table 1 over all data sets, accuracy above a confidence threshold (figure
1), and scorers ranked by area.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from veridical.report.document import TableFigure as Cell
from veridical.report.formats import interval, metric_name, number
from veridical.report.plots import Axis, Figure, Series, lines
from veridical.report.plots_bars import Bar, ranked
from veridical.stats.proportions import wilson
from veridical_lab.bench.published.tunable_ensemble import MODEL, PARTS, TABLE_1
from veridical_lab.bench.report.figures import Styles, style_legend
from veridical_lab.bench.report.view import Line, SplitView
from veridical_lab.bench.result import Curves

SUITE = "qa"
_RIGHT = "-right"
_FIGURES = ("precision", "recall", "f1")
_TENTHS = tuple(i / 10 for i in range(10))
_SPREAD = 0.06  # width on the confidence axis of the bars at one threshold


class TableRow(NamedTuple):
    """One line of table 1. ``group`` names whose it is; cells follow the data sets."""

    group: str
    figure: str
    cells: list[Cell]


class Table1(NamedTuple):
    """The table: a column a data set."""

    parts: list[str]
    rows: list[TableRow]
    notes: list[str]


def table_1(shown: Iterable[SplitView]) -> Table1 | None:
    """Return precision, recall and F1 of the right answers; None without such a split.

    The share of right answers, the precision of passing all, comes first. The paper's own rows come
    last, for the data sets that are included.
    """
    views = [v for v in shown if v.split.suite == SUITE and v.split.split.endswith(_RIGHT)]
    if not views:
        return None
    parts = [v.split.split.removesuffix(_RIGHT) for v in views]
    rows = [TableRow("the model", "share right", [Cell(number(v.prevalence)) for v in views])]
    names = dict.fromkeys(x.scorer for v in views for x in v.lines)
    for name in [*names, "always_positive"]:
        group = "baseline: all called right" if name == "always_positive" else name
        for figure in _FIGURES:
            cells = [_cell(v, name, figure) for v in views]
            rows.append(TableRow(group, metric_name(figure), cells))
    notes = ["Thresholds are fitted to F1 on other folds than they are used on."]
    given = {
        row.threshold
        for v in views
        for x in v.lines
        for row in x.cells.values()
        if isinstance(row.threshold, float)
    }
    if given:
        notes = [f"Answers of a risk under {min(given):g} are called right, as requested."]
    if any(f.name == "threshold_fitted_on_test" for v in views for x in v.lines for f in x.flags):
        notes = ["Thresholds are fitted to F1 on these very answers, as published."]
    if set(parts) & set(PARTS):
        notes.append(
            f"The paper's rows are of {MODEL}, whose answers are not published, so they do not "
            "describe the answers here. Its thresholds were fitted on the answers reported on."
        )
        for name, values in TABLE_1.items():
            for figure, of_parts in zip(_FIGURES, values, strict=True):
                printed = dict(zip(PARTS, of_parts, strict=True))
                cells = [Cell(number(printed.get(part))) for part in parts]
                rows.append(TableRow(f"paper: {name}", metric_name(figure), cells))
    return Table1(parts, rows, notes)


def figures(shown: Iterable[SplitView], styles: Styles) -> list[Figure]:
    """Figure 1 and the ranked areas of each data set."""
    drawings: list[Figure] = []
    for view in shown:
        if view.split.suite == SUITE and not view.split.split.endswith(_RIGHT):
            drawings += [f for f in (_filtered(view, styles), *_ranked(view)) if f is not None]
    return drawings


def _cell(view: SplitView, scorer: str, figure: str) -> Cell:
    line = next((x for x in view.all_lines if x.scorer == scorer), None)
    row = None if line is None else line.cells.get(figure)
    if row is None:
        return Cell("-")
    return Cell(number(row.value), interval(row.ci_low, row.ci_high))


def _filtered(view: SplitView, styles: Styles) -> Figure | None:
    """Plot the accuracy of answers with confidence 1 - risk >= tau, tau = 0, 0.1 .. 0.9."""
    series, rows = [], []
    scored = {x.scorer: _scored(x) for x in view.lines}
    curves = [(curve, n) for curve in view.split.curves if (n := scored.get(curve.scorer))]
    for i, (curve, n) in enumerate(curves):
        points = list(_above(curve, n))
        # side by side, or bars of several scorers would hide each other
        aside = _SPREAD * (i - (len(curves) - 1) / 2) / len(curves)
        series.append(
            Series(
                curve.scorer,
                [(tau + aside, right) for tau, right, _, _, _ in points],
                styles[curve.scorer],
                [(tau + aside, low, high) for tau, _, low, high, _ in points],
                dots=True,
            )
        )
        rows += [
            [curve.scorer, f"{tau:g}", number(right), interval(low, high), f"{answers:,}"]
            for tau, right, low, high, answers in points
        ]
    if not series or view.prevalence is None:
        return None
    title = f"Accuracy above a confidence, {view.split.split}"
    note = "Of the answers with a confidence (1 - risk) of at least τ. Bars: 95 % (Wilson)."
    x = Axis("τ: lowest confidence let through", -_SPREAD, 0.9 + _SPREAD)
    axes = x, Axis("share right", 0, 1)
    drawing = lines(title, *axes, series, level=(1 - view.prevalence, "the model's accuracy"))
    head = ["Scorer", "τ", "Share right", "95 % interval", "Answers"]
    key = style_legend([one.name for one in series], styles)
    return Figure(title, note, drawing, head, rows, key)


def _above(curve: Curves, n: int) -> Iterator[tuple[float, float, float, float, int]]:
    """Yield (tau, accuracy, low, high, answers) at thresholds that some answers reach."""
    by_risk = {round(tau, 2): (right, share) for tau, right, share in curve.accuracy_at}
    for tau in _TENTHS:
        right, share = by_risk.get(round(1 - tau, 2), (math.nan, 0.0))
        answers = round(share * n)
        if answers:
            yield tau, right, *wilson(right, answers), answers


def _scored(line: Line) -> int:
    return max((row.n_scored for row in line.cells.values()), default=0)


def _ranked(view: SplitView) -> list[Figure]:
    """Plot bars by AUROC and by average precision, the best on top."""
    figures = []
    for metric, short in (("auroc", "AUROC"), ("average_precision", "AUPRC")):
        rows = [x.cells[metric] for x in view.lines if metric in x.cells]
        known = sorted((r for r in rows if r.value is not None), key=lambda r: -(r.value or 0.0))
        if not known:
            continue
        chance = known[0].baselines.random
        bars = [Bar(r.scorer, r.value or 0.0, r.ci_low, r.ci_high) for r in known]
        title = f"Scorers by {short}, {view.split.split}"
        note = "Of finding the wrong answers. The dashed line is what a random order reaches."
        table = [[r.scorer, number(r.value), interval(r.ci_low, r.ci_high)] for r in known]
        head = ["Scorer", metric_name(metric), "95 % interval"]
        figures.append(Figure(title, note, ranked(title, bars, chance), head, table))
    return figures
