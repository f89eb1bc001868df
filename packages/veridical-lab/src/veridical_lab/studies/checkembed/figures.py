"""Figures of the studies: violins, curves, heat maps, running times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from veridical.report.formats import interval, number
from veridical.report.plots import Axis, Figure, Series, legend, lines
from veridical_lab.bench.report.figures import fitted
from veridical_lab.bench.report.plots_matrix import correlation, filled, heat_map
from veridical_lab.bench.report.plots_violin import Violin, violins
from veridical_lab.studies.checkembed.result import (
    Group,
    Matrix,
    Studies,
    Summary,
    Timing,
    Value,
)

_MEASURES = {
    "checkembed": "CheckEmbed",
    "bert_score": "BERTScore",
    "bleu": "BLEU",
    "comet_style": "COMET-style",
}


def figures_of(result: Studies, study: str) -> list[Figure]:
    """Return the figures of one study, without those that lack data."""
    if study == "pairs":
        return list(_pairs(result))
    if study == "errors":
        return [*_curves(result), *_errors(result)]
    if study == "counting":
        return list(_counts(result))
    return list(_times(result)) if study == "runtime" else []


def heat_maps(result: Studies, study: str) -> list[Figure]:
    """Return the matrices of the groups with the highest and lowest CheckEmbed agreement.

    Groups with a ground truth are preferred (figures 3 and 10 to 13 of the paper).
    """
    groups = [g for g in result.groups if g.study == study]
    known = [g for g in groups if g.matrices[0].truth_mean is not None] or groups
    if not known:
        return []
    ordered = sorted(known, key=lambda g: -g.matrices[0].mean)
    chosen = [("most", ordered[0]), *([("least", ordered[-1])] if len(ordered) > 1 else [])]
    return [_heat(group, m, which) for which, group in chosen for m in group.matrices]


def _heat(group: Group, matrix: Matrix, which: str) -> Figure:
    errors = f", {group.level} errors" if group.study == "errors" else ""
    title = f"{_MEASURES.get(matrix.measure, matrix.measure)}: {group.topic}{errors}"
    note = f"The replies that agree {which} by CheckEmbed: mean {number(matrix.mean)}, std "
    note += f"{number(matrix.std)}"
    if matrix.truth_mean is not None:
        note += f"; with the ground truth {number(matrix.truth_mean)}"
    drawing = heat_map(title, group.order, filled(matrix.values, correlation))
    rows = [[name, *map(number, row)] for name, row in zip(group.order, matrix.values, strict=True)]
    return Figure(title, f"{note}.", drawing, ["Text", *group.order], rows)


def _pairs(result: Studies) -> Iterator[Figure]:
    """Yield a figure for each detail: scorers along the axis, similar next to different."""
    values = [v for v in result.values if v.study == "pairs"]
    for detail in dict.fromkeys(v.kind.partition(", ")[2] for v in values):
        chosen = [v for v in values if v.kind.partition(", ")[2] == detail]
        shown = [
            Violin(v.scorer, kind, i, [w.value for w in chosen if _is(w, v.scorer, kind)])
            for v in _first_of_scorers(chosen)
            for i, kind in enumerate((f"similar, {detail}", f"different, {detail}"))
        ]
        yield _violins(f"Similar and different passages, {detail}", "", shown)


def _is(value: Value, scorer: str, kind: str) -> bool:
    return value.scorer == scorer and value.kind == kind


def _first_of_scorers(values: Sequence[Value]) -> list[Value]:
    return list({v.scorer: v for v in reversed(values)}.values())[::-1]


def _errors(result: Studies) -> Iterator[Figure]:
    """Yield a figure for each subject and scorer, with the number of errors along the axis."""
    values = [v for v in result.values if v.study == "errors"]
    for kind, scorer in dict.fromkeys((v.kind, v.scorer) for v in values):
        chosen = [v for v in values if _is(v, scorer, kind)]
        shown = [
            Violin(str(level), scorer, 0, [v.value for v in chosen if v.level == level])
            for level in sorted({v.level for v in chosen})
        ]
        yield _violins(f"{scorer} by forced errors, {kind}", "forced errors", shown)


def _violins(title: str, x: str, shown: Sequence[Violin]) -> Figure:
    ends = [(0.0, v) for violin in shown for v in violin.values]
    y = fitted("similarity", [Series("", ends, 0)])
    rows = [
        [v.group, v.kind, f"{len(v.values):,}"]
        + [number(f(v.values)) if v.values else "-" for f in (min, _mean, max)]
        for v in shown
    ]
    kinds = {v.kind: v.style for v in shown}
    key = legend(list(kinds.items()))
    head = ["Group", "Kind", "n", "Low", "Mean", "High"]
    note = "A dot a value, a bar at the median."
    return Figure(title, note, violins(title, x, y, shown), head, rows, key)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _curves(result: Studies) -> Iterator[Figure]:
    """Yield the means by the number of errors, of all scorers."""
    summaries = [s for s in result.summaries if s.study == "errors"]
    for kind in dict.fromkeys(s.kind for s in summaries):
        chosen = [(s.scorer, s) for s in summaries if s.kind == kind]
        title = f"Similarity to passages without errors, {kind}"
        note = "Means over passages; bars: 95 % intervals over topics."
        yield _by_level(title, note, "forced errors", ["Scorer", "Errors"], chosen)


def _counts(result: Studies) -> Iterator[Figure]:
    """Yield the means by the number of wrong images, a line per requested number."""
    chosen = [(s.kind, s) for s in result.summaries if s.study == "counting"]
    if chosen:
        title = "Similarity of a prompt's images, by how many of them are wrong"
        note = "CheckEmbed on images; means over objects, bars: 95 % intervals over objects."
        yield _by_level(title, note, "wrong images", ["Requested", "Wrong"], chosen)


def _by_level(
    title: str, note: str, label: str, head: list[str], named: Sequence[tuple[str, Summary]]
) -> Figure:
    """Draw a line per name, of means by level.

    Args:
        head: headings of the first two columns of the table.
    """
    series = []
    for i, name in enumerate(dict.fromkeys(name for name, _ in named)):
        of = sorted((s for n, s in named if n == name), key=lambda s: s.level)
        bounds = [
            (float(s.level), s.ci_low, s.ci_high)
            for s in of
            if s.ci_low is not None and s.ci_high is not None
        ]
        points = [(float(s.level), s.mean) for s in of]
        series.append(Series(name, points, i, bounds, dots=True))
    most = max(s.level for _, s in named)
    x = Axis(label, -0.3, most + 0.3, ticks=tuple((i, str(i)) for i in range(most + 1)))
    drawing = lines(title, x, fitted("mean similarity", series), series)
    rows = [
        [name, str(s.level), f"{s.n:,}", number(s.mean), interval(s.ci_low, s.ci_high)]
        for name, s in named
    ]
    key = legend([(s.name, s.style) for s in series])
    return Figure(title, note, drawing, [*head, "n", "Mean", "95 % interval"], rows, key)


def _times(result: Studies) -> Iterator[Figure]:
    """Yield running times by the number of samples and by the length.

    Each line is a scorer and embedder. Times by length use the largest number of samples. The scale
    of seconds is logarithmic, as in the paper.
    """
    timings = result.timings
    most = max((t.k for t in timings), default=0)
    lengths = sorted({t.words for t in timings})
    for words in lengths:
        chosen = [t for t in timings if t.words == words]
        if len({t.k for t in chosen}) > 1:
            points = [(_line_of(t), float(t.k), t) for t in chosen]
            yield _time(f"Seconds, {words:,} words a sample", "samples", points)
    if len(lengths) > 1:
        points = [(_line_of(t), float(t.words), t) for t in timings if t.k == most]
        yield _time(f"Seconds, {most} samples", "words a sample", points)


def _line_of(timing: Timing) -> str:
    return f"{timing.scorer}, {timing.embedder}"


def _time(title: str, label: str, points: Sequence[tuple[str, float, Timing]]) -> Figure:
    """Draw a line per name, of positions along the axis with their seconds."""
    names = list(dict.fromkeys(name for name, _, _ in points))
    series = [
        Series(name, sorted((x, t.seconds) for n, x, t in points if n == name), i, dots=True)
        for i, name in enumerate(names)
    ]
    xs = sorted({x for _, x, _ in points})
    seconds = [t.seconds for _, _, t in points]
    x = Axis(label, xs[0] * 0.9, xs[-1] * 1.05, ticks=tuple((v, f"{v:g}") for v in xs))
    y = Axis("seconds", max(1e-4, min(seconds) * 0.8), max(seconds) * 1.25, log=True)
    rows = [
        [t.scorer, t.embedder, str(t.k), f"{t.words:,}", f"{t.seconds:.3f}"] for _, _, t in points
    ]
    head = ["Scorer", "Embedder", "k", "Words", "Seconds"]
    key = legend([(s.name, s.style) for s in series])
    return Figure(title, "Logarithmic scale.", lines(title, x, y, series), head, rows, key)
