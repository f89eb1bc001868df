"""The figures of the meta-evaluation (Mirage, figures 1 to 15)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from veridical.report.formats import number, p_cell
from veridical.report.plots import Axis, Figure, Series, legend, lines
from veridical.report.plots_bars import BoxGlyph, boxes, stacked
from veridical_lab.bench.report.figures import (
    CORRELATION,
    Styles,
    fitted,
    pairs_figure,
    style_legend,
)
from veridical_lab.bench.report.plots_matrix import (
    correlation,
    filled,
    heat_map,
    portion,
    significance,
)
from veridical_lab.bench.result import AlignmentSplit, Box, Pairwise, Scaling, Study

_T = TypeVar("_T")


def alignment_figures(split: AlignmentSplit, styles: Styles) -> list[Figure]:
    """Plot correlation and overlap of scorers, accuracy by length, labels (figures 1, 2, 5, 7)."""
    names = [a.scorer for a in split.scorers]
    figures = []
    if split.spearman:
        note = "Spearman's rank correlation."
        figures.append(pairs_figure(CORRELATION, note, names, split.spearman, correlation))
    if split.overlap:
        title = "Overlap of correct predictions"
        note = "Per cent of the items that both label correctly; its own accuracy on the diagonal."
        figures.append(pairs_figure(title, note, names, split.overlap, portion))
    if any(v is not None for row in split.lengths for v in row):
        figures.append(_lengths(split, styles))
    title = "Predicted labels"
    counts = [(a.scorer, a.predicted_positive, a.predicted_negative) for a in split.scorers]
    positive = round(split.prevalence * split.n)
    counts.insert(0, ("people", positive, split.n - positive))
    drawing = stacked(title, counts, ("hallucinated", "not hallucinated"))
    rows = [[n, f"{a:,}", f"{b:,}"] for n, a, b in counts]
    note = "Left: hallucinated. Right: not hallucinated."
    figures.append(Figure(title, note, drawing, ["Scorer", "Hallucinated", "Not"], rows))
    return figures


def agreement_figures(study: Study) -> list[Figure]:
    """Rank correlations between the scorers, a matrix for each data set (figure 6)."""
    return [
        pairs_figure(
            f"{CORRELATION} on {a.dataset}",
            f"Spearman's, of the values of {a.n:,} answers: of some scorers less is better.",
            a.scorers,
            a.spearman,
            correlation,
        )
        for a in study.agreement
    ]


def pairwise_figures(study: Study) -> list[Figure]:
    """Plot p-values between the levels of a factor, a matrix each (figures 4, 11, 12, 15)."""
    return [_pairwise(p) for p in study.pairwise]


def scaling_figures(study: Study) -> list[Figure]:
    """Plot scores by model size, a drawing per data set and scorer (figures 3, 13, 14)."""
    return [_scaling(points) for points in _grouped(study.scaling, lambda s: (s.dataset, s.scorer))]


def box_figures(study: Study) -> list[Figure]:
    """Plot scores by decoding, a drawing per data set and scorer (figures 8 to 10)."""
    return [_boxes(group) for group in _grouped(study.boxes, lambda b: (b.dataset, b.scorer))]


def _lengths(split: AlignmentSplit, styles: Styles) -> Figure:
    edges = split.length_edges
    names = [f"{a:.0f}–{b:.0f}" for a, b in pairwise(edges)]
    x = Axis(
        "length of the response, words",
        0,
        len(names),
        ticks=tuple((i + 0.5, n) for i, n in enumerate(names)),
    )
    series, rows = [], []
    for a, values in zip(split.scorers, split.lengths, strict=False):
        points = [(i + 0.5, v) for i, v in enumerate(values) if v is not None]
        series.append(Series(a.scorer, points, styles[a.scorer], dots=True))
        rows.append([a.scorer, *map(number, values)])
    rows.append(["number of items", *(f"{n:,}" for n in split.length_counts)])
    title = "Accuracy by length"
    drawing = lines(title, x, Axis("accuracy", 0, 1), series)
    shown = style_legend([a.scorer for a in split.scorers], styles)
    return Figure(title, "", drawing, ["Scorer", *names], rows, shown)


def _pairwise(p: Pairwise) -> Figure:
    title = f"{p.scorer}: {p.factor} on {p.dataset}"
    # A level is not compared with itself.
    pairs = [[None if i == j else v for j, v in enumerate(r)] for i, r in enumerate(p.p)]
    drawing = heat_map(f"p-values, {title}", p.levels, filled(pairs, significance), p.levels)
    rows = [[n, *map(p_cell, r)] for n, r in zip(p.levels, pairs, strict=False)]
    note = f"p-values by {p.test}. Red: above 0.05, no difference found."
    return Figure(title, note, drawing, ["Level", *p.levels], rows)


def _scaling(points: Sequence[Scaling]) -> Figure:
    first = points[0]
    sizes = sorted({p.size for p in points if p.size > 0}) or [1.0]
    x = Axis("model size, billions of parameters", sizes[0] * 0.8, sizes[-1] * 1.25, log=True)
    kinds = list(dict.fromkeys((p.model, p.tuning) for p in points))
    series = []
    for i, kind in enumerate(kinds):
        of_kind = sorted((p for p in points if (p.model, p.tuning) == kind), key=lambda p: p.size)
        bounds = [
            (p.size, p.ci_low, p.ci_high)
            for p in of_kind
            if p.ci_low is not None and p.ci_high is not None
        ]
        series.append(
            Series(", ".join(kind), [(p.size, p.mean) for p in of_kind], i, bounds, dots=True)
        )
    rows = [
        [p.model, p.tuning, f"{p.size:g}", f"{p.n:,}", *map(number, (p.mean, p.ci_low, p.ci_high))]
        for p in points
    ]
    title = f"{first.scorer} by model size on {first.dataset}"
    drawing = lines(title, x, fitted(first.scorer, series), series)
    head = ["Model", "Tuning", "Size", "n", "Mean", "Low", "High"]
    shown = legend([(s.name, s.style) for s in series])
    return Figure(title, "Bars: 95 % intervals.", drawing, head, rows, shown)


def _boxes(group: Sequence[Box]) -> Figure:
    first = group[0]
    sizes = list(dict.fromkeys(b.size for b in group))
    glyphs = [
        BoxGlyph(b.decoding, b.size, sizes.index(b.size), b.low, b.q1, b.median, b.q3, b.high, b.n)
        for b in group
    ]
    ends = [(0.0, v) for b in group for v in (b.low, b.high)]
    title = f"{first.scorer} by decoding on {first.dataset}"
    drawing = boxes(title, fitted(first.scorer, [Series("", ends, 0)]), glyphs)
    rows = [
        [b.decoding, b.size, f"{b.n:,}", *map(number, (b.low, b.q1, b.median, b.q3, b.high))]
        for b in group
    ]
    head = ["Decoding", "Size", "n", "Low", "Lower quartile", "Median", "Upper quartile", "High"]
    shown = legend([(s, i) for i, s in enumerate(sizes)])
    note = "Box: quartiles and median. Whiskers: low and high ends."
    return Figure(title, note, drawing, head, rows, shown)


def _grouped(rows: Iterable[_T], key: Callable[[_T], Hashable]) -> list[list[_T]]:
    """Group rows of equal key, in the order of first appearance."""
    groups: dict[Hashable, list[_T]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.values())
