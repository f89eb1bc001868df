"""Rates, ranks and agreement, against hand-worked examples and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from veridical_lab.rank.rates import (
    Resampled,
    Sums,
    agreement,
    compare,
    kendall,
    ranks,
    spearman,
    spread,
)


def sums(model, prompt, shares, size):
    """Of (entailment, neutral, contradiction) shares; None abstains."""
    table = np.array([s or (0, 0, 0) for s in shares], float)
    named = dict(zip(("entailment", "neutral", "contradiction"), table.T, strict=True))
    gone = np.array([s is None for s in shares])
    return Sums.of(np.array(model), np.array(prompt), named, gone, size)


def test_rates_are_macro_means_over_responses_that_claim():
    shares = [(1, 0, 0), (0, 0.5, 0.5), None, (0.5, 0.25, 0.25)]
    found = Resampled.of(sums([0, 0, 0, 1], [0, 1, 2, 0], shares, (2, 3)), 0, 0)
    # by hand (RefChecker, appendix A.4): over the two responses of the first model that claim
    assert found.values["hallucination"][0] == 0.5
    assert found.values["contradiction"][0] == 0.25
    assert found.values["abstain"][0] == pytest.approx(1 / 3)
    assert found.values["entailment"].tolist() == [0.5, 0.5]
    assert found.boot["abstain"].shape == (0, 2)


def test_a_model_that_always_abstains_has_no_other_rate():
    found = Resampled.of(sums([0, 0, 1], [0, 1, 0], [None, None, (1, 0, 0)], (2, 2)), 30, 0)
    assert np.isnan(found.values["hallucination"][0]) and found.values["abstain"][0] == 1
    (pair,), cliques = compare(["a", "b"], "hallucination", found, 2)
    assert pair.difference is None and pair.p_holm is None and cliques == []


def test_resamples_are_those_of_repeated_data():
    """A prompt drawn twice counts twice, for every model."""
    rng = np.random.default_rng(3)
    shares = rng.dirichlet([1, 1, 1], 12)
    model, prompt = np.repeat([0, 1], 6), np.tile(np.arange(6), 2)
    table = sums(model, prompt, [tuple(s) for s in shares], (2, 6))
    weights = np.array([[2, 0, 1, 0, 3, 0]], float)
    drawn = np.repeat(np.arange(6), weights[0].astype(int))
    found = table.rates(weights)["hallucination"][0]
    assert found[0] == pytest.approx(1 - shares[drawn, 0].mean())
    assert found[1] == pytest.approx(1 - shares[6 + drawn, 0].mean())


def test_ranks_share_ties():
    table = np.array([[0.2, 0.1, 0.2, np.nan]])
    assert ranks(table)[0, :3].tolist() == [2.5, 1, 2.5]
    assert np.isnan(ranks(table)[0, 3])


def test_correlations_are_scipys():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (50, 7)) / 4.0, rng.integers(0, 4, (50, 7)) / 3.0
    rho, tau = spearman(x, y), kendall(x, y)
    for i in range(50):
        assert rho[i] == pytest.approx(spearmanr(x[i], y[i]).statistic)
        assert tau[i] == pytest.approx(kendalltau(x[i], y[i]).statistic)
    flat = np.ones((1, 4))
    assert np.isnan(spearman(flat, x[:1, :4])) and np.isnan(kendall(flat, x[:1, :4]))


def planted(rates, prompts=80, seed=0):
    """Models that hallucinate one claim of one, with these probabilities."""
    rng = np.random.default_rng(seed)
    model = np.repeat(np.arange(len(rates)), prompts)
    wrong = rng.random(len(model)) < np.repeat(rates, prompts)
    shares = [(0, 0, 1) if w else (1, 0, 0) for w in wrong]
    table = sums(model, np.tile(np.arange(prompts), len(rates)), shares, (len(rates), prompts))
    return Resampled.of(table, 500, seed), wrong.reshape(len(rates), prompts)


def test_planted_differences_are_found_and_only_those():
    found, _ = planted([0.1, 0.12, 0.6])
    pairs, cliques = compare(["a", "b", "c"], "hallucination", found, 80)
    verdicts = {(p.a, p.b): p.p_holm <= 0.05 for p in pairs}
    assert verdicts == {("a", "b"): False, ("a", "c"): True, ("b", "c"): True}
    assert cliques == [["a", "b"]]
    by_pair = {(p.a, p.b): p for p in pairs}
    three = sorted((p.p_bootstrap, p.p_holm) for p in pairs)
    assert three[0][1] == pytest.approx(min(1, 3 * three[0][0]))  # Holm's first step
    c = by_pair["a", "c"]
    assert c.ci_low < c.difference < c.ci_high < 0


def test_false_differences_are_rare():
    """Among six equal models, any difference shown in at most about 5 % of experiments."""
    wrong = 0
    for seed in range(60):
        found, _ = planted([0.3] * 6, prompts=60, seed=seed)
        pairs, _ = compare(list("abcdef"), "hallucination", found, 60)
        wrong += any(p.p_holm < 0.05 for p in pairs)
    assert wrong <= 8


def test_intervals_cover():
    inside = 0
    for seed in range(120):
        found, _ = planted([0.3], prompts=80, seed=seed)
        low, high = spread(found, "hallucination", 0, 80)
        inside += low <= 0.3 <= high
    assert inside >= 105  # 87.5 %, of 95 in the long run


def test_none_of_many_is_no_certainty():
    found, _ = planted([0.0, 1.0], prompts=24)
    assert spread(found, "hallucination", 0, 24) == (0.0, pytest.approx(0.138, abs=5e-4))
    assert spread(found, "hallucination", 1, 24) == (pytest.approx(0.862, abs=5e-4), 1.0)


def test_agreement_with_people():
    ours, wrong = planted([0.05, 0.2, 0.5, 0.9])
    people = Resampled({"hallucination": wrong.mean(axis=1)}, ours.boot)
    found = agreement(ours, people, "hallucination")
    assert [(a.metric, a.value, a.n_models) for a in found] == [
        ("spearman", 1, 4),
        ("kendall", 1, 4),
    ]
    worse = Resampled(
        {"hallucination": -wrong.mean(axis=1)}, {"hallucination": -ours.boot["hallucination"]}
    )
    _, turned = agreement(ours, worse, "hallucination")
    assert turned.value == -1 and turned.high < 0
    few = Resampled({"hallucination": np.array([0.1, 0.2, np.nan, np.nan])}, ours.boot)
    spearman = agreement(ours, few, "hallucination")[0]
    assert (spearman.value, spearman.low, spearman.high, spearman.n_models) == (None, None, None, 2)
