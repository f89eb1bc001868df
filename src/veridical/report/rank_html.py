"""A ranking of models as one self-contained page. No network, no script."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from veridical.evaluate.rank.result import ModelRates, Part, Ranking
from veridical.report import bench_view as show
from veridical.report import claim_rates
from veridical.report.html import asset, content_security_policy, environment, write_whole
from veridical.report.rank_view import part_views


def write_ranking_report(
    ranking: Ranking, path: Path, title: str = "veridical ranking of models"
) -> None:
    """Write the page to ``path``, replacing it in one step.

    Raises:
        OSError: the file cannot be written; an older page then stays as it was.
    """
    style = asset("report.css") + asset("claims.css") + asset("bench.css")
    env = environment()
    env.filters.update(figure=show.number, p=show.p_cell, plain=show.plain)
    env.globals.update(interval=show.interval)
    views = part_views(ranking)
    page = env.get_template("rank.html").generate(
        policy=content_security_policy(style, ""),
        style=Markup(style),
        title=title,
        version=ranking.version,
        ranking=ranking,
        parts=[(v, p, _rates(p)) for v, p in zip(views, ranking.parts, strict=True)],
    )
    write_whole(Path(path), page)


def _rates(part: Part) -> Markup:
    name = "" if part.name == "all" else f", {part.name}"
    rows = [_row(m) for m in part.models]
    note = "The first column's rate is what the bar's whisker spans, over resampled prompts."
    return claim_rates.rates_table(f"Claims by model{name}", rows, note)


def _row(m: ModelRates) -> claim_rates.ModelRow:
    rates = {
        name: claim_rates.Rate(r.value, r.low, r.high)
        for name, r in m.rates.items()
        if r.value is not None
    }
    apart = m.n_failed + m.n_not_applicable
    return claim_rates.ModelRow(m.model, rates, m.n_responses, m.n_claims, apart)
