"""Plots of a tuned ensemble: weights, risks and reliability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veridical.arrays import Floats
from veridical.report.formats import interval, number
from veridical.report.plots import Axis, Figure, Series, legend, lines
from veridical.report.plots_bars import Bar, histogram, ranked

if TYPE_CHECKING:
    from veridical.tuning.tune_view import ShownTuned

_PRECISIONS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_MANY = 200  # targets for which ten bins are used; fewer get five


def figures(tuned: ShownTuned) -> list[Figure]:
    """Return the plots for which there is data."""
    judged, labels = tuned.nested.judged, tuned.nested.labels
    drawn = [_weights(tuned)]
    if judged.scored.any():
        if tuned.nested.after is None:
            shown = {"risk": judged.risk}
        else:
            shown = {"before calibration": judged.order, "after": judged.risk}
        drawn += [
            _precision_recall(tuned),
            _risks(judged.risk, labels),
            _reliability(shown, labels),
        ]
    return [figure for figure in drawn if figure is not None]


def _weights(tuned: ShownTuned) -> Figure | None:
    bars = [
        Bar(row.name, row.weight.value, row.weight.low, row.weight.high)
        for row in tuned.nested.rows
        if row.weight is not None and row.weight.value
    ]
    if not bars:
        return None
    bars.sort(key=lambda bar: -bar.value)
    title = "Weights"
    note = "Of the components that have any. Whiskers: 95 % interval over resamples."
    rows = [[bar.name, number(bar.value), interval(bar.low, bar.high)] for bar in bars]
    head = ["Component", "weight", "95 % interval"]
    return Figure(title, note, ranked("Weights of the components", bars), head, rows)


def _precision_recall(tuned: ShownTuned) -> Figure | None:
    """Plot precision at each recall, by out-of-fold ranks."""
    correct = tuned.recipe.positive == "correct"
    rank, labels = tuned.nested.judged.rank, tuned.nested.labels >= 0.5
    scored = ~np.isnan(rank)
    risk = -rank[scored] if correct else rank[scored]
    wanted = labels[scored] != correct
    if not wanted.any() or wanted.all():
        return None
    order = np.argsort(-risk, kind="stable")
    found = np.cumsum(wanted[order])
    last = np.append(np.diff(risk[order]) != 0, True)  # equal risks are classified together
    called = np.arange(1, len(order) + 1)
    recall, precision = (found / wanted.sum())[last], (found / called)[last]
    points = [(float(r), float(p)) for r, p in zip(recall, precision, strict=True)]
    rows = [[number(least), *_best_at(points, least)] for least in _PRECISIONS]
    what = "right" if correct else "wrong"
    title = "Precision and recall"
    least = tuned.recipe.min_precision
    level = None if least is None else (least, f"precision {least:g}")
    axes = Axis(f"recall of {what} answers", 0.0, 1.0), Axis("precision", 0.0, 1.0)
    drawing = lines(title, *axes, [Series("tuned ensemble", points, 0)], level=level)
    note = f"Of {what} answers, at every threshold, on answers not fitted to."
    return Figure(title, note, drawing, ["Precision at least", "highest recall"], rows)


def _best_at(points: list[tuple[float, float]], least: float) -> list[str]:
    recalls = [recall for recall, precision in points if precision >= least]
    return [number(max(recalls)) if recalls else "none"]


def _edges(n: int) -> Floats:
    return np.linspace(0.0, 1.0, (10 if n >= _MANY else 5) + 1)


def _risks(risk: Floats, labels: Floats) -> Figure:
    scored, positive = ~np.isnan(risk), labels >= 0.5
    edges = _edges(int(scored.sum()))
    wrong, right = (
        np.histogram(risk[scored & (positive == kind)], edges)[0].tolist() for kind in (True, False)
    )
    drawing = histogram("Risks of wrong and right answers", "wrong up, right down", wrong, right)
    rows = [
        [f"{low:.1f} to {high:.1f}", f"{w:,}", f"{r:,}"]
        for low, high, w, r in zip(edges[:-1], edges[1:], wrong, right, strict=True)
    ]
    note = "Each in shares of its own total, by risk from 0 to 1, on answers not fitted to."
    return Figure(
        "Risks of wrong and right answers", note, drawing, ["Risk", "wrong", "right"], rows
    )


def _reliability(shown: dict[str, Floats], labels: Floats) -> Figure:
    series, rows = [], []
    for style, (name, risk) in enumerate(shown.items()):
        scored = ~np.isnan(risk)
        edges = _edges(int(scored.sum()))
        place = np.clip(np.digitize(risk[scored], edges) - 1, 0, len(edges) - 2)
        points = []
        for i in np.unique(place):
            mean = float(risk[scored][place == i].mean())
            rate = float(labels[scored][place == i].mean())
            points.append((mean, rate))
            rows.append([name, f"{int(np.sum(place == i)):,}", number(mean), number(rate)])
        series.append(Series(name, points, style, dots=True))
    title = "Reliability"
    note = "On the diagonal a risk is the share of wrong answers. On answers not fitted to."
    axes = Axis("mean risk", 0.0, 1.0), Axis("share wrong", 0.0, 1.0)
    drawing = lines("Reliability of the risk", *axes, series, diagonal=True)
    key = legend([(one.name, one.style) for one in series])
    return Figure(title, note, drawing, ["Risk", "answers", "mean risk", "share wrong"], rows, key)
