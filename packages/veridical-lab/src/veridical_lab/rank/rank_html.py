"""A ranking of models as one self-contained page. No network; a script for the colours only."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from veridical.report import claim_rates, formats
from veridical.report.html import asset, content_security_policy, environment, write_whole
from veridical_lab.rank.rank_view import part_views
from veridical_lab.rank.result import ModelRates, Part, Ranking

#: Heads of the table of all pairs.
PAIRS = ["Rate", "model", "less", "difference", "95 % interval", "p", "p (Holm)"]


def write_ranking_report(
    ranking: Ranking, path: Path, title: str = "veridical ranking of models"
) -> None:
    """Write the page to ``path``, replacing it in one step.

    Raises:
        OSError: the file cannot be written; an older page then stays as it was.
    """
    style = asset("page.css") + asset("claims.css") + asset("bench.css")
    script = asset("theme.js")
    env = environment("veridical_lab")
    env.filters.update(plain=formats.plain)
    views = part_views(ranking)
    page = env.get_template("rank.html").generate(
        policy=content_security_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        title=title,
        version=ranking.version,
        ranking=ranking,
        PAIRS=PAIRS,
        pairs=_pairs,
        ranked=[(v, p, _rates(p)) for v, p in zip(views, ranking.parts, strict=True)],
    )
    write_whole(Path(path), page)


def _pairs(part: Part) -> list[list[str]]:
    return [
        [
            c.metric,
            c.a,
            c.b,
            formats.number(c.difference),
            formats.interval(c.ci_low, c.ci_high),
            formats.p_cell(c.p_bootstrap),
            formats.p_cell(c.p_holm),
        ]
        for c in part.comparisons
    ]


def _rates(part: Part) -> Markup:
    name = "" if part.name == "all" else f", {part.name}"
    rows = [_row(m) for m in part.models]
    note = "The first column's rate is what the bar's whisker spans, over resampled prompts."
    return claim_rates.rates_table(f"Claims by model{name}", rows, note)


def _row(m: ModelRates) -> claim_rates.ModelRates:
    rates = {
        name: claim_rates.Rate(r.value, r.low, r.high)
        for name, r in m.rates.items()
        if r.value is not None
    }
    apart = m.n_failed + m.n_not_applicable
    return claim_rates.ModelRates(m.model, rates, m.n_responses, m.n_claims, apart)
