"""Tables of a ranking, shared by terminal and Markdown."""

from __future__ import annotations

from dataclasses import dataclass

from veridical.report.formats import interval, metric_name, number, p_value, share
from veridical_lab.bench.report.view import pairings
from veridical_lab.rank.rates import RANKED, RATES
from veridical_lab.rank.result import ModelRates, Part, Ranking, Rate

_LONGEST = 200


@dataclass(frozen=True)
class PartView:
    """One part: a table of the models, sentences on pairs and on agreement, and notes."""

    title: str
    facts: str
    heads: list[str]
    rows: list[list[str]]
    pairs: list[str]
    level: list[str]
    agreement: list[str]
    notes: list[str]


def part_views(ranking: Ranking) -> list[PartView]:
    """Return the parts in the order stored."""
    return [_part(ranking, part) for part in ranking.parts]


def _part(ranking: Ranking, part: Part) -> PartView:
    order = ranking.order
    others = [r for r in RANKED if r != order]
    by_people = any(m.human.get(order) is not None for m in part.models)
    heads = ["model", order, "95 % interval", "rank", *others, "answers", "claims"]
    if by_people:
        heads.append("human")
    rows = []
    for m in part.models:
        main = m.rates[order]
        row = [
            m.model[:_LONGEST],
            number(main.value),
            interval(main.low, main.high),
            _rank(main),
            *(number(m.rates[r].value) for r in others),
            f"{m.n_responses:,}",
            f"{m.n_claims:,}",
        ]
        rows.append([*row, number(m.human.get(order))] if by_people else row)
    few = []
    if part.n_prompts < 50:
        few = [f"{part.n_prompts} prompts are too few for reliable intervals and tests"]
    return PartView(
        title=f"models by {order} rate" + ("" if part.name == "all" else f", {part.name}"),
        facts=f"{part.n_prompts:,} prompts · {len(part.models)} models{_mean(part)}",
        heads=heads,
        rows=rows,
        pairs=_pairs(part, order),
        level=[", ".join(names) for names in part.cliques.get(order, [])],
        agreement=[
            f"{metric_name(a.metric)} of the {a.rate} rates of {a.n_models} models with people's: "
            f"{number(a.value)} {interval(a.low, a.high)}".rstrip()
            for a in part.agreement
            if a.value is not None
        ],
        notes=[*few, *filter(None, map(_unjudged, part.models)), *part.notes],
    )


def _mean(part: Part) -> str:
    """Return the mean of the models; empty in rankings stored without it."""
    rates = [f"{name} {number(part.mean[name])}" for name in RATES if name in part.mean]
    return f" · their mean: {', '.join(rates)}" if rates else ""


def _rank(rate: Rate) -> str:
    if rate.rank is None:
        return "-"
    spread = ""
    if rate.rank_low is not None and rate.rank_high is not None:
        spread = f" [{rate.rank_low:g}, {rate.rank_high:g}]"
    return f"{rate.rank:g}{spread}"


def _pairs(part: Part, order: str) -> list[str]:
    """Describe the first model in comparison with each other one."""
    best = part.models[0].model
    sentences = []
    for d in pairings(part.comparisons, order, best):
        verdict = "lower than" if d.distinguishable else d.verdict
        figures = f"{number(d.difference)} {interval(d.low, d.high)}".rstrip()
        sentences.append(f"{verdict} {d.other[:_LONGEST]}: {figures}, p {p_value(d.p)}")
    return sentences


def _unjudged(m: ModelRates) -> str:
    """Describe the answers of a model that are left out; empty if all are used."""
    counts = [
        f"{n:,} {what}"
        for n, what in (
            (m.n_failed, "failed"),
            (m.n_not_applicable, "not applicable"),
            (m.n_left_out, "to prompts that not every model has a judged answer to"),
        )
        if n
    ]
    if not counts:
        return ""
    why = "; ".join(f"{n:,} times: {reason}" for reason, n in list(m.reasons.items())[:3])
    text = f"{m.model[:_LONGEST]}: answers left out: {', '.join(counts)}"
    text += f" (coverage {share(m.coverage)})" if m.n_failed else ""
    return f"{text}; {why}" if why else text
