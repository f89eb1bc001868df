"""Learning a cascade: on made-up scorers of which it is known what they know."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from veridical import UsageError
from veridical.core.registry import REGISTRY
from veridical.ensembles.apply import risk_of
from veridical.ensembles.cascade import TIERS, in_order, learn, lines, tier_of
from veridical.ensembles.cascade_file import Cascade, Cost
from veridical.ensembles.cascade_search import Goal
from veridical.ensembles.ensemble_file import FittedOn
from veridical.ensembles.fitting import Recipe
from veridical.ensembles.graded import Graded

Floats = NDArray[np.float64]
ORIGIN = FittedOn(file="f", fingerprint="0", n=0, positive=0, groups=0, labels="label")
LOGISTIC = Recipe(method="logistic")
COSTS = {
    "ngram": Cost(seconds=0.01, money=0.0),
    "cosine": Cost(seconds=1.0, money=0.0),
    "selfcheck_nli": Cost(seconds=9.0, money=0.0),
}


def answers(n: int, seed: int, easy: float = 0.75) -> Graded:
    """``ngram`` knows the easy ones, ``selfcheck_nli`` all, ``cosine`` nothing at all."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.5).astype(np.float64)
    known = np.clip(0.5 + 0.35 * (2 * labels - 1) + 0.08 * rng.normal(size=n), 0, 1)
    doubt = np.clip(0.5 + 0.08 * rng.normal(size=n), 0, 1)
    cheap = np.where(rng.random(n) < easy, known, doubt)
    dear = np.clip(0.5 + 0.3 * (2 * labels - 1) + 0.12 * rng.normal(size=n), 0, 1)
    risks = {"ngram": cheap, "cosine": rng.random(n), "selfcheck_nli": dear}
    return Graded.of(risks, labels)


@cache
def learned() -> Cascade:
    return learn(answers(300, 0), COSTS, ORIGIN, recipe=LOGISTIC, count=3)


def run(cascade: Cascade, graded: Graded) -> tuple[Floats, Floats]:
    """Risk and cost of each record, by the rule that the documentation states."""
    found = []
    for row in graded.risks:
        risks = dict(zip(graded.scorers, row.tolist(), strict=True))
        cost = 0.0
        for tier, ensemble in zip(cascade.tiers, cascade.ensembles, strict=True):
            cost += sum(c.seconds or 0 for c in tier.costs.values())
            risk = risk_of(ensemble, {c.name: risks[c.name] for c in ensemble.components}).risk
            assert risk is not None
            if (tier.low is not None and risk <= tier.low) or (
                tier.high is not None and risk >= tier.high
            ):
                break
        found.append((risk, cost))
    return np.array(found)[:, 0], np.array(found)[:, 1]


def auroc(labels: Floats, risk: Floats) -> float:
    bad, good = risk[labels == 1], risk[labels == 0]
    return float(np.mean(np.sign(bad[:, None] - good[None, :]) + 1) / 2)


def test_it_keeps_auroc_on_new_answers_at_a_part_of_the_cost() -> None:
    cascade = learned()
    new = answers(2000, 99)
    risk, cost = run(cascade, new)
    full, _ = run(
        learn(answers(300, 0), COSTS, ORIGIN, recipe=LOGISTIC, count=3, goal=Goal(keep=1.0)), new
    )
    assert auroc(new.labels, risk) >= 0.98 * auroc(new.labels, full)
    assert cost.mean() < 0.5 * 10.01
    honest = cascade.honest
    assert honest is not None
    assert honest.cascade.value == pytest.approx(auroc(new.labels, risk), abs=0.03)
    assert honest.cost == pytest.approx(cost.mean() / 10.01, abs=0.1)
    assert honest.kept.value == pytest.approx(honest.cascade.value / honest.full.value)


def test_a_tier_that_knows_nothing_is_left_out() -> None:
    cascade = learned()
    assert cascade.names == ("model-free", "NLI")
    assert cascade.left_out == ("cosine",)
    assert [t.stopped for t in cascade.tiers] == pytest.approx([0.7, 0.3], abs=0.25)
    assert sum(t.stopped for t in cascade.tiers) == pytest.approx(1)
    first, last = cascade.tiers
    assert first.low is not None and first.high is not None
    assert 0 < first.low < first.high < 1
    assert last.low is None and last.high is None
    assert cascade.full.seconds == pytest.approx(10.01)


def test_a_scorer_without_a_weight_is_not_asked() -> None:
    graded = answers(300, 3)
    both = Graded.of(
        {
            "ngram": graded.risks[:, 0],
            "support": 1 - graded.risks[:, 0],
            "selfcheck_nli": graded.risks[:, 2],
        },
        graded.labels,
    )
    costs: Mapping[str, Cost] = COSTS | {"support": Cost(seconds=0.01, money=0.0)}
    cascade = learn(both, costs, ORIGIN, recipe=Recipe(method="weighted"))
    asked = [c.name for tier in cascade.tiers for c in tier.components]
    assert "support" not in asked and "support" in cascade.left_out
    for tier, ensemble in zip(cascade.tiers, cascade.ensembles, strict=True):
        assert tier.fit.weights is not None and set(tier.fit.weights) == set(ensemble.names)


def test_where_the_first_tier_knows_all_it_is_enough() -> None:
    cascade = learn(answers(300, 1, easy=1.0), COSTS, ORIGIN, recipe=LOGISTIC, count=3)
    assert cascade.names == ("model-free",)
    assert cascade.honest is not None and cascade.honest.cost < 0.01
    assert "alone is enough" in lines(cascade)[0]


def test_where_nothing_may_be_lost_doubt_goes_on() -> None:
    careful = learn(answers(300, 0), COSTS, ORIGIN, recipe=LOGISTIC, count=3, goal=Goal(keep=0.999))
    bold = learn(answers(300, 0), COSTS, ORIGIN, recipe=LOGISTIC, count=3, goal=Goal(keep=0.9))
    assert careful.honest is not None and bold.honest is not None
    assert bold.honest.cost < careful.honest.cost
    assert bold.honest.cascade.value < careful.honest.cascade.value


def test_the_same_answers_give_the_same_cascade() -> None:
    again = learn(answers(300, 0), COSTS, ORIGIN, recipe=LOGISTIC, count=3)
    assert again == learned()


def test_its_lines_say_what_it_does() -> None:
    told = "\n".join(lines(learned()))
    for part in ("model-free: ngram", "NLI: selfcheck_nli", "does without cosine", "out of fold"):
        assert part in told


def test_money_counts_beside_hours() -> None:
    goal = Goal(hour=3.6)
    assert goal.of(Cost(seconds=10, money=0.5)) == pytest.approx(0.51)
    assert goal.of(Cost(seconds=None, money=0.5)) == 0.5
    assert goal.of(Cost(seconds=10, money=None)) == pytest.approx(0.01)


def test_scorers_have_their_tiers() -> None:
    calls = (
        "judge, claims, bart_score, avg_logprob(proxy=m), avg_logprob, selfcheck_nli, bert_score, "
        "cosine, support"
    )
    bound = REGISTRY.parse(calls)
    assert [tier_of(b) for b in bound] == [
        "judges",
        "claims",
        "checkpoints",
        "language models",
        "model-free",
        "NLI",
        "embeddings",
        "embeddings",
        "model-free",
    ]
    order = [tier_of(b) for b in in_order(bound)]
    assert order == sorted(order, key=list(TIERS).index)


def test_what_cannot_be_learned_from_says_why() -> None:
    graded = answers(200, 0)
    with pytest.raises(UsageError, match="at least 20 hallucinated answers and 20 others, not"):
        learn(graded.take(np.arange(30)), COSTS, ORIGIN)
    with pytest.raises(UsageError, match="at least two tiers"):
        learn(graded.select(["ngram"]), COSTS, ORIGIN)
    unknown = COSTS | {"selfcheck_nli": Cost(seconds=None, money=None)}
    with pytest.raises(UsageError, match="cost of selfcheck_nli is unknown; set price_in"):
        learn(graded, unknown, ORIGIN)
    sentences = Graded.of({"ngram": graded.risks[:, 0]}, graded.labels, level="sentence")
    with pytest.raises(UsageError, match="not on sentences"):
        learn(sentences, COSTS, ORIGIN)
    made = Graded.of({"ngram": graded.risks[:, 0], "ensemble": graded.risks[:, 2]}, graded.labels)
    with pytest.raises(UsageError, match="ensemble is an ensemble"):
        learn(made, COSTS | {"ensemble": COSTS["ngram"]}, ORIGIN)


@pytest.mark.parametrize(
    "goal", [Goal(keep=0), Goal(keep=1.1), Goal(confidence=0.4), Goal(hour=-1), Goal(hour=np.nan)]
)
def test_goals_are_checked(goal: Goal) -> None:
    with pytest.raises(UsageError):
        learn(answers(200, 0), COSTS, ORIGIN, goal=goal)


def test_missing_risks_lose_no_record() -> None:
    graded = answers(400, 5)
    holes = graded.risks.copy()
    rng = np.random.default_rng(0)
    holes[rng.random(holes.shape) < 0.15] = np.nan
    holes[:3] = np.nan
    table = dict(zip(graded.scorers, holes.T, strict=True))
    cascade = learn(Graded.of(table, graded.labels), COSTS, ORIGIN, recipe=LOGISTIC, count=3)
    assert cascade.fitted_on.n == int((~np.isnan(holes).all(axis=1)).sum()) < 400
    assert cascade.honest is not None and cascade.honest.cascade.value > 0.85
