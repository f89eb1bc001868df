"""The figures of one split, from its stored curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from veridical.report.formats import metric_name, number
from veridical.report.plots import (
    Axis,
    Figure,
    Series,
    columns,
    legend,
    lines,
    round_ticks,
    scatter,
)
from veridical.report.plots_bars import histogram
from veridical.stats.tables import Histogram
from veridical_lab.bench.report.plots_matrix import (
    Cell,
    correlation,
    critical_difference,
    filled,
    heat_map,
)
from veridical_lab.bench.report.view import SplitView
from veridical_lab.bench.result import Confusion, Curves, SampleCurve, Split

Styles = Mapping[str, int]
CORRELATION = "Rank correlation between scorers"
#: Positions at which the tables of the curves read them.
_PLACES = (0.1, 0.25, 0.5, 0.75, 0.9)
_FEW = 15  #: points up to which each is drawn, since the line between them is a guess
_PER_BIN = 10  #: targets for each bin of a histogram


def curve_figures(view: SplitView, styles: Styles) -> list[Figure]:
    """Return curves of all scorers, a figure per question, without those that lack data."""
    curves = _in_order(view)
    share = _unit("share of positive targets found (recall)")
    level = None if view.prevalence is None else (view.prevalence, "prevalence")
    figures = [
        _curve(
            "Precision and recall",
            "Tied scores give long straight stretches.",
            {c.scorer: c.precision_recall for c in curves},
            (share, _unit("precision")),
            styles,
            "precision at recall",
            level=level,
        ),
        _curve(
            "ROC",
            "Below the diagonal a scorer is worse than chance.",
            {c.scorer: c.roc for c in curves},
            (_unit("false positive rate"), _unit("true positive rate")),
            styles,
            "true positive rate at",
            diagonal=True,
        ),
        _risk_coverage(curves, styles),
        _curve(
            "Accuracy at τ",
            "Share of negative (right) targets among those of risk up to τ.",
            {c.scorer: [(tau, right) for tau, right, _ in c.accuracy_at] for c in curves},
            (_unit("τ: highest risk let through"), _unit("share negative")),
            styles,
            "share negative at τ",
        ),
        _reliability(curves, styles),
        _by_length(curves, styles, _fitted_on(view)),
    ]
    drawn = [f for f in figures if f is not None]
    return [*drawn, *graded_figures(view), *sample_figures(view.split, styles)]


def graded_figures(view: SplitView) -> list[Figure]:
    """Return the histogram of graded labels, and each scorer's scores by label.

    SelfCheckGPT, figures 4, 6 and 10.
    """
    figures = []
    counted = view.split.labels
    if counted is not None:
        edges, counts = counted.edges, counted.counts
        axes = Axis("label", edges[0], edges[-1]), Axis("targets", 0, max(counts))
        rows = [
            [f"{low:.3g} to {high:.3g}", f"{n:,}"]
            for low, high, n in zip(edges, edges[1:], counts, strict=False)
        ]
        drawing = columns("Labels", *axes, edges, counts)
        note = "How many targets people gave each label."
        figures.append(Figure("Labels", note, drawing, ["Label", "Targets"], rows))
    for c in _in_order(view):
        if not c.scatter:
            continue
        labels, scores = zip(*c.scatter, strict=True)
        x = Axis("people's label", min(0.0, *labels), max(1.0, *labels))
        y = fitted("score", [Series(c.scorer, c.scatter, 0)])
        title = f"Scores of {c.scorer} by human label"
        rows = [
            [f"{low:.2g} to {high:.2g}", f"{len(of):,}", number(sum(of) / len(of) if of else None)]
            for low, high, of in _by_label(x, labels, scores)
        ]
        note = "A point a target; larger scores are riskier."
        head = ["Label", "Points", "Mean score"]
        figures.append(Figure(title, note, scatter(title, x, y, c.scatter), head, rows))
    return figures


def _by_label(
    axis: Axis, labels: Sequence[float], scores: Sequence[float]
) -> list[tuple[float, float, list[float]]]:
    """Return the scores in five bins of labels."""
    step = (axis.high - axis.low) / 5
    places = [min(4, int((label - axis.low) / step)) for label in labels]
    return [
        (
            axis.low + i * step,
            axis.low + (i + 1) * step,
            [s for s, place in zip(scores, places, strict=True) if place == i],
        )
        for i in range(5)
    ]


def histograms(view: SplitView) -> Figure | None:
    """Return distributions of risk for positive and negative targets, a small drawing per
    scorer.
    """
    with_histogram = [c for c in _in_order(view) if c.histogram is not None]
    if not with_histogram:
        return None
    drawings, rows = [], []
    widest: list[float] = []
    for c in with_histogram:
        h = c.histogram
        assert h is not None
        title = f"Distribution of the risk of {c.scorer}"
        positive, negative, edges = _coarse(h)
        drawings.append(histogram(title, c.scorer, positive, negative))
        rows.append([c.scorer, "positive", *(f"{n:,}" for n in positive)])
        rows.append([c.scorer, "negative", *(f"{n:,}" for n in negative)])
        widest = max(widest, edges, key=len)
    drawing = Markup('<div class="small">') + Markup("").join(drawings) + Markup("</div>")
    head = ["Scorer", "Targets", *(f"from {low:.2g}" for low in widest[:-1])]
    note = (
        "Up: positive targets. Down: negative ones. Each in shares of its own total; "
        "the more the two differ along the axis, the better the scorer."
    )
    return Figure("Score distributions", note, drawing, head, rows)


def _coarse(h: Histogram) -> tuple[list[int], list[int], list[float]]:
    """Return counts in fewer, wider bins if there are too few targets for the stored bins."""
    n, bins = sum(h.positive) + sum(h.negative), len(h.positive)
    joined = next((k for k in (1, 2, 4) if bins % k == 0 and n >= _PER_BIN * bins / k), 4)
    if bins % joined:
        return h.positive, h.negative, h.edges
    positive, negative = (
        [sum(counts[i : i + joined]) for i in range(0, bins, joined)]
        for counts in (h.positive, h.negative)
    )
    return positive, negative, h.edges[::joined]


def matrix_figures(view: SplitView) -> list[Figure]:
    """Rank correlations between the scorers, and the critical-difference diagram."""
    split, figures = view.split, []
    names = correlated(view)
    if split.spearman and len(names) == len(split.spearman):
        note = "Spearman's rank correlation of the scores. Columns are numbered like the rows."
        figures.append(pairs_figure(CORRELATION, note, names, split.spearman, correlation))
    if split.ranks:
        drawing = critical_difference("Critical differences", split.ranks, split.cliques)
        rows = [
            [r.scorer, f"{r.rank:.2f}", number(r.value)]
            for r in sorted(split.ranks, key=lambda r: r.rank)
        ]
        note = (
            f"Mean rank by {metric_name(split.headline)} over the resamples. A bar at the right "
            "joins scorers without a significant difference (paired tests, Holm)."
        )
        head = ["Scorer", "Mean rank", metric_name(split.headline)]
        figures.append(Figure("Critical differences", note, drawing, head, rows))
    return figures


def pairs_figure(
    title: str,
    note: str,
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    cell: Callable[[float], Cell],
) -> Figure:
    """Return a matrix of pairs of scorers, filled by ``cell``."""
    rows = [[n, *map(number, r)] for n, r in zip(names, values, strict=False)]
    head = ["Scorer", *map(str, range(1, len(names) + 1))]
    return Figure(title, note, heat_map(title, names, filled(values, cell)), head, rows)


def confusion_figure(c: Confusion) -> Figure:
    """Return counts, filled by their share of the true class."""
    cells = [[Cell(f"{n:,}", n / (sum(row) or 1)) for n in row] for row in c.matrix]
    title = f"Confusion matrix of {c.scorer}: rows true, columns predicted"
    drawing = heat_map(title, c.classes, cells, c.classes)
    rows = [[n, *(f"{v:,}" for v in r)] for n, r in zip(c.classes, c.matrix, strict=False)]
    head = ["True \\ predicted", *c.classes]
    return Figure(c.scorer, "Rows: true class. Columns: predicted.", drawing, head, rows)


def sample_figures(split: Split, styles: Styles) -> list[Figure]:
    """Return metrics by the number of samples, a figure each (SelfCheckGPT, figures 7 and 8)."""
    by_metric: dict[str, list[SampleCurve]] = {}
    for curve in split.samples:
        by_metric.setdefault(curve.metric, []).append(curve)
    figures = []
    for metric, curves in by_metric.items():
        series, rows = [], []
        for c in curves:
            known = [(n, v, a, b) for n, v, a, b in c.points if v is not None]
            bounds = [(n, a, b) for n, _, a, b in known if a is not None and b is not None]
            points = [(float(n), v) for n, v, _, _ in known]
            series.append(Series(c.scorer, points, styles[c.scorer], bounds, dots=True))
            rows += [[c.scorer, str(n), number(v), number(a), number(b)] for n, v, a, b in c.points]
        counts = sorted({n for c in curves for n, *_ in c.points})
        if not any(s.points for s in series):
            continue
        marks = [(float(n), str(n)) for n in counts] if len(counts) <= 10 else []
        x = Axis("samples per response", 0, counts[-1], ticks=tuple(marks))
        y = fitted(metric_name(metric), series)
        name = metric_name(metric)
        title = f"{name[:1].upper()}{name[1:]} by number of samples"
        head = ["Scorer", "Samples", metric_name(metric), "Low", "High"]
        figures.append(
            Figure(title, "Bars: 95 % intervals.", lines(title, x, y, series), head, rows)
        )
    return figures


def correlated(view: SplitView) -> list[str]:
    """Return the scorers in the correlation matrix: all, or those that scored anything."""
    names = view.split.scorers
    if len(names) == len(view.split.spearman):
        return names
    scored = {x.scorer for x in view.lines if any(r.n_scored for r in x.cells.values())}
    return [n for n in names if n in scored]


def fitted(label: str, series: Sequence[Series]) -> Axis:
    """Return an axis around the values, ending at round numbers."""
    values = [y for s in series for _, y in s.points]
    values += [v for s in series for _, low, high in s.bounds for v in (low, high)]
    if not values:
        return _unit(label)
    low, high = min(values), max(values)
    if low == high:
        low, high = low - 0.05, high + 0.05
    ticks = [v for v, _ in round_ticks(low, high)]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    if low < ticks[0] - 1e-9:
        low = ticks[0] - step
    if high > ticks[-1] + 1e-9:
        high = ticks[-1] + step
    return Axis(label, low, high)


def style_legend(names: Sequence[str], styles: Styles) -> Markup:
    """Return the legend of these scorers."""
    return legend([(n, styles[n]) for n in names])


def _curve(
    title: str,
    note: str,
    points: Mapping[str, Sequence[tuple[float, float]]],
    axes: tuple[Axis, Axis],
    styles: Styles,
    read: str,
    *,
    diagonal: bool = False,
    level: tuple[float, str] | None = None,
) -> Figure | None:
    series = [Series(n, p, styles[n], dots=len(p) <= _FEW) for n, p in points.items() if p]
    if not series:
        return None
    drawing = lines(title, *axes, series, diagonal=diagonal, level=level)
    rows = [[s.name, *(number(_at(s.points, x)) for x in _PLACES)] for s in series]
    return Figure(title, note, drawing, ["Scorer", *(f"{read} {x:g}" for x in _PLACES)], rows)


def _risk_coverage(curves: Sequence[Curves], styles: Styles) -> Figure | None:
    points = {c.scorer: c.risk_coverage for c in curves}
    most = max([y for p in points.values() for _, y in p] or [1.0])
    top = next(t for t in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, float("inf")) if most <= t or t == 1.0)
    axes = _unit("share kept, least risky first"), Axis("share positive among them", 0, top)
    return _curve(
        "Risk and coverage",
        "Keep the least risky share: how much of it is positive? Lower is better.",
        points,
        axes,
        styles,
        "positive when keeping",
    )


def _reliability(curves: Sequence[Curves], styles: Styles) -> Figure | None:
    series, rows = [], []
    for c in curves:
        bins = [(b.mean, b.rate, b) for b in c.reliability if b.n]
        points = [(m, r) for m, r, _ in bins if m is not None and r is not None]
        if points:
            series.append(Series(c.scorer, points, styles[c.scorer], dots=True))
        rows += [
            [c.scorer, f"{number(b.low)} – {number(b.high)}", f"{b.n:,}", number(m), number(r)]
            for m, r, b in bins
        ]
    if not series:
        return None
    axes = _unit("mean risk in the bin"), _unit("share positive")
    title, note = "Reliability", "On the diagonal, a risk can be read as a probability."
    drawing = lines(title, *axes, series, diagonal=True)
    return Figure(title, note, drawing, ["Scorer", "Risk", "n", "Mean risk", "Positive"], rows)


def _by_length(curves: Sequence[Curves], styles: Styles, note: str) -> Figure | None:
    bins = sorted({(b.low, b.high) for c in curves for b in c.lengths})
    if not bins:
        return None
    place = {b: i + 0.5 for i, b in enumerate(bins)}
    x = Axis(
        "length in words (in characters where text has no spaces)",
        0,
        len(bins),
        ticks=tuple((place[b], _between(*b)) for b in bins),
    )
    series, rows = [], []
    for c in curves:
        points = [(place[b.low, b.high], b.mean) for b in c.lengths if b.mean is not None]
        if points:
            series.append(Series(c.scorer, points, styles[c.scorer], dots=True))
        rows += [
            [c.scorer, _between(b.low, b.high), f"{b.n:,}", number(b.mean), number(b.rate)]
            for b in c.lengths
        ]
    if not series:
        return None
    title = "Accuracy by length"
    drawing = lines(title, x, _unit("accuracy"), series)
    return Figure(title, note, drawing, ["Scorer", "Length", "n", "Accuracy", "Positive"], rows)


def _fitted_on(view: SplitView) -> str:
    """Describe the data on which the thresholds were fitted."""
    thresholds = {
        r.threshold for x in view.lines for r in x.cells.values() if r.threshold is not None
    }
    flags = {f.name for x in view.lines for f in x.flags}
    if "threshold_fitted_on_test" in flags:
        return "Thresholds are fitted on these very labels."
    if thresholds == {"cross-fitted"}:
        return "Thresholds are fitted on other folds than they are used on."
    given = [t for t in thresholds if t != "cross-fitted"]
    return f"From a risk of {given[0]:g} on a target is called wrong." if len(given) == 1 else ""


def _between(low: float, high: float) -> str:
    return f"{low:.0f}–{high:.0f}"


def _unit(label: str) -> Axis:
    return Axis(label, 0, 1)


def _at(points: Sequence[tuple[float, float]], x: float) -> float | None:
    """Return the position at which the line crosses ``x``."""
    ordered = sorted(points)
    for (x0, y0), (x1, y1) in pairwise(ordered):
        if x0 <= x <= x1:
            return y1 if x1 == x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return None


def _in_order(view: SplitView) -> list[Curves]:
    """Return the curves in the order of the table, baselines last."""
    place = {x.scorer: i for i, x in enumerate(view.all_lines)}
    return sorted(view.split.curves, key=lambda c: place.get(c.scorer, len(place)))
