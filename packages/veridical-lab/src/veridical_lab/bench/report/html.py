"""Self-contained HTML page of a benchmark: tables, plots and warnings.

Everything is drawn here, so the page is complete without a script. Its script sorts tables and
chooses splits and scorers. Text is escaped by the template; the policy allows exactly
one style and one script, by hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup, escape

from veridical.report import formats
from veridical.report.html import asset, content_security_policy, environment, write_whole
from veridical.report.plots import Axis, Figure, forest, swatch
from veridical_lab.bench.report import qa as bench_qa
from veridical_lab.bench.report import view as show
from veridical_lab.bench.report.bench_answer import answer, warned
from veridical_lab.bench.report.figures import (
    Styles,
    confusion_figure,
    curve_figures,
    histograms,
    matrix_figures,
)
from veridical_lab.bench.report.flags import explained, ordered
from veridical_lab.bench.report.study_figures import (
    agreement_figures,
    alignment_figures,
    box_figures,
    pairwise_figures,
    scaling_figures,
)
from veridical_lab.bench.report.view import SplitView
from veridical_lab.bench.result import StoredBench, Study


class Panel(NamedTuple):
    """One split as the page shows it."""

    anchor: str
    view: SplitView
    chance: float | None
    forests: dict[str, Markup]
    curves: list[Figure]
    legend: list[tuple[str, int, Markup]]
    histograms: Figure | None
    matrices: list[Figure]
    confusions: list[Figure]


def write_bench_report(bench: StoredBench, path: Path, title: str = "veridical benchmark") -> None:
    """Write the page to ``path``, replacing it in one step.

    Raises:
        OSError: the file cannot be written; an older page then stays as it was.
    """
    shown = show.views(bench)
    beware = warned(bench, shown)
    styles = _styles(bench, shown)
    style = asset("page.css") + asset("bench.css")
    script = asset("theme.js") + asset("bench.js", "veridical_lab")
    env = environment("veridical_lab")
    env.filters.update(
        figure=formats.number,
        metric=formats.metric_name,
        share=formats.share,
        p=formats.p_cell,
        plain=formats.plain,
        flags=ordered,
        breaks=_breaks,
    )
    env.globals.update(interval=formats.interval, failing=_failing)
    page = env.get_template("bench.html").generate(
        policy=content_security_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        title=title,
        bench=bench,
        panels=[_panel(v, i, styles) for i, v in enumerate(shown)],
        overview=show.overview(v for v in shown if v.lines),
        table_1=bench_qa.table_1(shown),
        of_qa=bench_qa.figures(shown, styles),
        answer=answer(shown),
        level="bad" if any(w.severity == "bad" for w in beware) or bench.n_row_errors else "warn",
        beware=[(f"{w.label}:", w.words) for w in beware] + _bad_rows(bench),
        study=None if bench.study is None else _study(bench.study, styles),
    )
    write_whole(Path(path), page)


def _styles(bench: StoredBench, shown: Sequence[SplitView]) -> Styles:
    """Return a style for each scorer, the same on the whole page."""
    names = [x.scorer for v in shown for x in v.lines]
    names += [name for v in shown for name in _plotted(v)]
    if bench.study is not None:
        names += [a.scorer for s in bench.study.alignment for a in s.scorers]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _plotted(view: SplitView) -> list[str]:
    return [c.scorer for c in view.split.curves] + [c.scorer for c in view.split.samples]


def _panel(view: SplitView, number: int, styles: Styles) -> Panel:
    curves = curve_figures(view, styles)
    plotted = _plotted(view)
    names = [x.scorer for x in view.all_lines if x.scorer in plotted]
    names = list(dict.fromkeys([*names, *plotted]))
    return Panel(
        anchor=f"split-{number + 1}",
        view=view,
        chance=_chance(view),
        forests=_forests(view),
        curves=curves,
        legend=[(n, styles[n], swatch(styles[n])) for n in names],
        histograms=histograms(view),
        matrices=matrix_figures(view),
        confusions=[confusion_figure(c) for c in view.split.confusions],
    )


def _chance(view: SplitView) -> float | None:
    """Return the headline metric of a random order, or None."""
    rows = {x.scorer: x.cells[m] for m in view.main[:1] for x in view.all_lines if m in x.cells}
    beside = (row.baselines.random for row in rows.values())
    of_random = rows["random"].value if "random" in rows else None
    return of_random if of_random is not None else next((v for v in beside if v is not None), None)


def _forests(view: SplitView) -> dict[str, Markup]:
    """Draw each scorer's headline interval on a shared axis.

    The line is the value of a random order.
    """
    if not view.main:
        return {}
    rows = {x.scorer: x.cells.get(view.main[0]) for x in view.all_lines}
    known = {n: r for n, r in rows.items() if r is not None and r.value is not None}
    if not known:
        return {}
    values = [v for r in known.values() for v in (r.value, r.ci_low, r.ci_high) if v is not None]
    chance = _chance(view)
    values += [] if chance is None else [chance]
    low, high = min(values), max(values)
    pad = 0.03 * (high - low) or 0.05
    axis = Axis("", low - pad, high + pad)
    return {
        n: forest(r.value, r.ci_low, r.ci_high, axis, chance)
        for n, r in known.items()
        if r.value is not None
    }


def _breaks(name: str) -> Markup:
    """Return an escaped name that may be broken after a comma or bracket."""
    text = escape(name)
    for mark in ("(", ","):
        text = text.replace(mark, Markup(mark + "<wbr>"))
    return text


def _bad_rows(bench: StoredBench) -> list[tuple[str, str]]:
    what = "of the data could not be read, and count as failed for every scorer."
    return [(f"{bench.n_row_errors:,} rows", what)] if bench.n_row_errors else []


def _failing(view: SplitView) -> bool:
    return any(r.n_failed for x in view.lines for r in x.cells.values())


def _study(study: Study, styles: Styles) -> dict[str, object]:
    return {
        "data": study,
        "alignment": [
            (s, alignment_figures(s, styles), explained(f for a in s.scorers for f in a.flags))
            for s in study.alignment
        ],
        "agreement": agreement_figures(study),
        "pairwise": pairwise_figures(study),
        "scaling": scaling_figures(study),
        "boxes": box_figures(study),
    }
