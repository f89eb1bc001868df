"""Paired comparisons, against their definitions and statsmodels, and by simulation."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics
from statsmodels.stats.multitest import multipletests

from veridical.stats.comparisons import bootstrap_p, cliques, compare, delong, holm
from veridical.stats.resampling import Resampler
from veridical.stats.tables import Comparison

# DeLong


def by_definition(
    truth: np.ndarray, a: np.ndarray, b: np.ndarray, groups: np.ndarray
) -> tuple[float, float, float]:
    """Obuchowski 1997 in loops: the covariance matrix of both areas, then its contrast."""
    positives, negatives = np.flatnonzero(truth == 1), np.flatnonzero(truth == 0)
    m, n = len(positives), len(negatives)
    areas, of_clusters = [], []
    clusters = sorted(set(groups.tolist()))
    for score in (a, b):
        wins = {
            (i, j): 1.0 if score[i] > score[j] else 0.5 if score[i] == score[j] else 0.0
            for i in positives
            for j in negatives
        }
        area = sum(wins.values()) / (m * n)
        v10 = {i: sum(wins[i, j] for j in negatives) / n for i in positives}
        v01 = {j: sum(wins[i, j] for i in positives) / m for j in negatives}
        areas.append(area)
        of_clusters.append(
            [
                (
                    sum(v10[i] - area for i in positives if groups[i] == c),
                    sum(v01[j] - area for j in negatives if groups[j] == c),
                )
                for c in clusters
            ]
        )
    k = len(clusters)
    k10, k01 = len(set(groups[positives].tolist())), len(set(groups[negatives].tolist()))

    def covariance(r: int, s: int) -> float:
        pairs = list(zip(of_clusters[r], of_clusters[s], strict=True))
        s10 = k10 / ((k10 - 1) * m) * sum(x[0] * y[0] for x, y in pairs)
        s01 = k01 / ((k01 - 1) * n) * sum(x[1] * y[1] for x, y in pairs)
        s11 = k / (k - 1) * sum(x[0] * y[1] for x, y in pairs)
        s11_turned = k / (k - 1) * sum(x[1] * y[0] for x, y in pairs)
        return s10 / m + s01 / n + (s11 + s11_turned) / (m * n)

    variance = covariance(0, 0) + covariance(1, 1) - 2 * covariance(0, 1)
    z = (areas[0] - areas[1]) / math.sqrt(variance)
    return areas[0], areas[1], 2 * float(stats.norm.sf(abs(z)))


def plain(truth: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """DeLong 1988 by numpy's covariance of the structural components."""
    positive = truth == 1

    def components(score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wins = np.sign(score[positive][:, None] - score[~positive][None, :]) / 2 + 0.5
        return wins.mean(axis=1), wins.mean(axis=0)

    (a10, a01), (b10, b01) = components(a), components(b)
    s = np.cov(a10, b10) / positive.sum() + np.cov(a01, b01) / (~positive).sum()
    contrast = np.array([1, -1])
    z = (a10.mean() - b10.mean()) / np.sqrt(contrast @ s @ contrast)
    return 2 * float(stats.norm.sf(abs(z)))


@pytest.mark.parametrize("seed", range(8))
def test_delong_is_its_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    truth = rng.integers(0, 2, n).astype(float)
    truth[:4] = 0, 0, 1, 1
    a, b = ((truth + rng.normal(size=n)).round(1) for _ in "ab")  # with ties
    groups = rng.permutation(np.arange(n)) // int(rng.integers(1, 5))
    expected = by_definition(truth, a, b, groups)
    assert delong(truth, a, b, groups) == pytest.approx(expected, abs=1e-12)
    assert expected[0] == pytest.approx(metrics.roc_auc_score(truth, a))
    assert expected[1] == pytest.approx(metrics.roc_auc_score(truth, b))
    single = delong(truth, a, b)
    assert single[2] == pytest.approx(plain(truth, a, b), abs=1e-12)
    assert delong(truth, a, b, rng.permutation(n) + 5) == pytest.approx(single, abs=1e-14)


def test_delong_by_hand() -> None:
    """Two positives, two negatives. a parts them but for one pair of four, b but for two.

    a: V10 = 1, 1/2; V01 = 1, 1/2. b: V10 = 1/2, 1/2; V01 = 1, 0. Differences 1/2, 0 and 0, 1/2,
    of mean 1/4 and variance 1/8 each; so variance 1/8 / 2 + 1/8 / 2 = 1/8, z = 1/4 / sqrt(1/8).
    """
    truth = np.array([1.0, 1, 0, 0])
    a = np.array([4.0, 2, 1, 3])
    b = np.array([2.0, 2, 1, 3])
    p = 2 * stats.norm.sf(0.25 / math.sqrt(0.125))
    assert delong(truth, a, b) == pytest.approx((0.75, 0.5, p))


def test_delong_with_every_target_doubled_is_no_surer() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80).astype(float)
    a, b = truth + rng.normal(size=80), truth + 2 * rng.normal(size=80)
    once = delong(truth, a, b)
    twice = (np.repeat(x, 2) for x in (truth, a, b, np.arange(80)))
    assert delong(*twice) == pytest.approx(once, abs=1e-12)


def test_delong_where_there_is_nothing_to_estimate() -> None:
    truth = np.array([0.0, 1, 0, 1])
    score = np.arange(4.0)
    assert delong(truth, score, 2 * score + 1) == (0.75, 0.75, 1)
    assert np.isnan(delong(np.zeros(4), score, -score)).all()
    constant, perfect = np.zeros(4), truth
    assert delong(truth, perfect, constant)[:2] == (1, 0.5)
    assert np.isnan(delong(truth, perfect, constant)[2])
    assert np.isnan(delong(np.array([0.0, 0, 0, 1]), score, -score)[2])  # one positive
    assert np.isnan(delong(truth, score, -score, np.array([0, 1, 2, 1]))[2])  # in one cluster


def clustered(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Two equally good scorers, each with an error of its own for every group."""
    groups = np.repeat(np.arange(80), rng.integers(1, 9, 80))
    n = len(groups)
    truth = (rng.normal(size=80)[groups] + 0.5 * rng.normal(size=n) > 0).astype(float)
    a, b = (truth + rng.normal(size=80)[groups] + rng.normal(size=n) for _ in "ab")
    return truth, a, b, groups


def test_null_p_values_are_uniform() -> None:
    rng = np.random.default_rng(4)
    single, right, wrong = [], [], []
    for _ in range(500):
        truth = (rng.random(150) < 0.4).astype(float)
        shared = truth + rng.normal(size=150)
        single.append(delong(truth, *(shared + rng.normal(size=150) for _ in "ab"))[2])
        truth, a, b, groups = clustered(rng)
        right.append(delong(truth, a, b, groups)[2])
        wrong.append(delong(truth, a, b)[2])
    assert stats.kstest(single, "uniform").pvalue > 0.001
    assert stats.kstest(right, "uniform").pvalue > 0.001
    # Taking the targets of a group for independent finds differences that are not there.
    assert stats.kstest(wrong, "uniform").pvalue < 1e-6
    assert np.mean(np.array(wrong) < 0.05) > 0.12


# The bootstrap's p-value


def test_bootstrap_p_counts_where_it_can() -> None:
    differences = np.concatenate([np.full(970, 0.1), np.full(20, -0.1), np.full(10, 0.0)])
    assert bootstrap_p(differences, 50) == pytest.approx(2 * 30 / 1000)
    assert bootstrap_p(-differences, 50) == pytest.approx(2 * 30 / 1000)
    assert bootstrap_p(np.zeros(100), 50) == 1


def test_bootstrap_p_beyond_the_replicates_is_by_t() -> None:
    z = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    far = 5 + z
    for groups in (6, 200):
        found = bootstrap_p(far, groups)
        assert found == pytest.approx(2 * stats.t.sf(5 / far.std(ddof=1), groups - 1))
    # Five groups can never be as sure as a count of the replicates would have it.
    assert bootstrap_p(3 + z, 3) == pytest.approx(0.02)
    assert bootstrap_p(np.full(999, 0.3), 50) == pytest.approx(1 / 1000)


def test_bootstrap_p_agrees_with_delong_and_with_the_interval() -> None:
    rng = np.random.default_rng(2)
    pairs = []
    for _ in range(30):
        truth = (rng.random(300) < 0.5).astype(float)
        a = truth + rng.normal(size=300)
        b = rng.uniform(0.5, 1) * truth + rng.normal(size=300)
        boot = boots(truth, {"a": a, "b": b}, np.arange(300), 1500)
        differences = boot["a"] - boot["b"]
        found = bootstrap_p(differences, 300)
        assert found is not None
        low, high = np.percentile(differences, [2.5, 97.5])
        assert (found < 0.05) == (low > 0 or high < 0)
        analytic = delong(truth, a, b)[2]
        assert found == pytest.approx(analytic, abs=0.08)
        if found < 0.01:  # the tail, which the replicates alone could not resolve
            assert abs(math.log10(found / analytic)) < 1
        pairs.append(found)
    assert min(pairs) < 1 / 1500 and max(pairs) > 0.5


def test_bootstrap_p_needs_replicates() -> None:
    assert bootstrap_p(np.empty(0), 50) is None
    assert bootstrap_p(np.full(100, np.nan), 50) is None


# Holm


@settings(max_examples=30)  # statsmodels takes its time
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-12)


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert holm([0.01, None, 0.04, math.nan, 0.03]) == pytest.approx([0.03, None, 0.06, None, 0.06])
    assert holm([None]) == [None]
    assert holm([]) == []


# Cliques


@given(st.integers(0, 7), st.randoms(use_true_random=False))
def test_cliques_are_all_maximal_runs(n: int, random) -> None:  # type: ignore[no-untyped-def]
    order = [f"s{i}" for i in range(n)]
    differ = {pair: random.random() < 0.3 for pair in itertools.combinations(order, 2)}
    p = {
        (pair if random.random() < 0.5 else pair[::-1]): 0.04 if d else random.choice([0.05, None])
        for pair, d in differ.items()
    }
    alike = [
        range(i, j)
        for i in range(n)
        for j in range(i + 2, n + 1)
        if not any(differ[pair] for pair in itertools.combinations(order[i:j], 2))
    ]
    maximal = [
        [order[i] for i in run]
        for run in alike
        if not any(set(run) < set(other) for other in alike)
    ]
    assert cliques(order, p) == maximal


def test_cliques_may_overlap() -> None:
    assert cliques(list("abcd"), {("a", "c"): 0.01, ("a", "d"): 0.001, ("b", "d"): 0.04}) == [
        ["a", "b"],
        ["b", "c"],
        ["c", "d"],
    ]


# All together


def weighted_auroc(truth: np.ndarray, score: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of (positive, negative) pairs in the right order, a pair counting as often as its
    two targets were drawn together."""
    positive = truth == 1
    wins = np.sign(score[positive][:, None] - score[~positive][None, :]) / 2 + 0.5
    w, v = weights[:, positive], weights[:, ~positive]
    return np.einsum("rp,pn,rn->r", w, wins, v, optimize=True) / (w.sum(axis=1) * v.sum(axis=1))


def boots(
    truth: np.ndarray, scores: dict[str, np.ndarray], groups: np.ndarray, replicates: int
) -> dict[str, np.ndarray]:
    """Replicates of the AUROC over each scorer's own targets."""
    drawn = [np.empty((0, len(truth))), *Resampler(groups, replicates, 0).chunks()]
    w = np.concatenate(drawn)
    return {
        name: weighted_auroc(truth[known], x[known], w[:, known])
        for name, x in scores.items()
        for known in [~np.isnan(x)]
    }


@pytest.fixture(scope="module")
def three() -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 2)
    truth = rng.integers(0, 2, 300).astype(float)
    good = truth + rng.normal(size=300)
    scores = {
        "poor": 0.1 * truth + rng.normal(size=300),
        "good": good,
        "twin": truth + rng.normal(size=300),
    }
    return truth, scores, groups


def by_pair(comparisons: list[Comparison]) -> dict[tuple[str, str], Comparison]:
    return {(c.a, c.b): c for c in comparisons}


def test_compare(three: tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]) -> None:
    truth, scores, groups = three
    boot = boots(truth, scores, groups, 400)
    comparisons, ranks, runs = compare(
        truth, scores, groups, "auroc", boot, permutations=199, seed=0
    )
    found = by_pair(comparisons)
    assert list(found) == [("poor", "good"), ("poor", "twin"), ("good", "twin")]
    area = {s: metrics.roc_auc_score(truth, x) for s, x in scores.items()}
    for (a, b), c in found.items():
        assert c.metric == "auroc"
        assert c.difference == pytest.approx(area[a] - area[b])
        low, high = np.percentile(boot[a] - boot[b], [2.5, 97.5])
        assert (c.ci_low, c.ci_high) == pytest.approx((low, high))
        assert c.p_delong == pytest.approx(delong(truth, scores[a], scores[b], groups)[2])
    p = [c.p_bootstrap for c in comparisons]
    assert all(x is not None for x in p)
    corrected = multipletests(p, method="holm")[1].tolist()
    assert [c.p_holm for c in comparisons] == pytest.approx(corrected)
    best = ranks[0].scorer
    for pair, c in found.items():
        assert (c.p_permutation is not None) == (best in pair)
    assert found["poor", best if best == "good" else "twin"].p_permutation == 1 / 200
    table = np.stack([boot[s] for s in scores])
    mean = stats.rankdata(-table, axis=0).mean(axis=1)
    assert {r.scorer: r.rank for r in ranks} == pytest.approx(dict(zip(scores, mean, strict=True)))
    assert {r.scorer: r.value for r in ranks} == pytest.approx(area)
    assert ranks[2].scorer == "poor"
    assert [sorted(run) for run in runs] == [["good", "twin"]]


def test_a_pair_is_compared_where_both_have_scores(
    three: tuple[np.ndarray, dict[str, np.ndarray], np.ndarray],
) -> None:
    truth, scores, groups = three
    holes = dict(scores, twin=np.where(np.arange(300) < 30, np.nan, scores["twin"]))
    boot = boots(truth, holes, groups, 200)
    comparisons, ranks, _ = compare(truth, holes, groups, "auroc", boot, permutations=99, seed=0)
    found = by_pair(comparisons)
    joint = slice(30, None)
    own = {s: x[joint] for s, x in scores.items()}
    area = {s: metrics.roc_auc_score(truth[joint], x) for s, x in own.items()}
    again = boots(truth[joint], own, groups[joint], 200)
    for pair in (("poor", "twin"), ("good", "twin")):
        a, b = pair
        assert found[pair].difference == pytest.approx(area[a] - area[b])
        low, high = np.percentile(again[a] - again[b], [2.5, 97.5])
        assert (found[pair].ci_low, found[pair].ci_high) == pytest.approx((low, high))
        p = delong(truth[joint], own[a], own[b], groups[joint])[2]
        assert found[pair].p_delong == pytest.approx(p)
    whole = {s: metrics.roc_auc_score(truth, scores[s]) for s in ("poor", "good")}
    assert found["poor", "good"].difference == pytest.approx(whole["poor"] - whole["good"])
    low, high = np.percentile(boot["poor"] - boot["good"], [2.5, 97.5])
    assert found["poor", "good"].ci_low == pytest.approx(low)
    assert {r.scorer: r.value for r in ranks}["twin"] == pytest.approx(area["twin"])


def test_many_scorers_can_still_differ() -> None:
    """A counted p-value, 2 / 1001 at least, could never survive a correction for 66 pairs."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400).astype(float)
    scores = {f"s{i}": (i > 5) * truth + rng.normal(size=400) for i in range(12)}
    boot = {
        s: metrics.roc_auc_score(truth, x) + 0.02 * rng.normal(size=1000) for s, x in scores.items()
    }
    comparisons, ranks, runs = compare(
        truth, scores, np.arange(400), "auroc", boot, permutations=0, seed=0
    )
    assert {r.scorer for r in ranks[:6]} == {f"s{i}" for i in range(6, 12)}
    across = [c for c in comparisons if (int(c.a[1:]) > 5) != (int(c.b[1:]) > 5)]
    assert len(across) == 36
    assert all(c.p_holm is not None and c.p_holm < 0.05 for c in across)
    assert all(c.p_permutation is None for c in comparisons)
    assert all(len({int(s[1:]) > 5 for s in run}) == 1 for run in runs)


def test_without_replicates_there_are_values_and_delong_only(
    three: tuple[np.ndarray, dict[str, np.ndarray], np.ndarray],
) -> None:
    truth, scores, groups = three
    boot = boots(truth, scores, groups, 0)
    comparisons, ranks, runs = compare(truth, scores, groups, "auroc", boot, permutations=0, seed=0)
    assert runs == []
    assert sorted(r.rank for r in ranks) == [1, 2, 3]
    assert [r.value for r in ranks] == sorted((r.value for r in ranks), reverse=True)
    for c in comparisons:
        assert c.difference is not None and c.p_delong is not None
        assert c.ci_low is c.ci_high is c.p_bootstrap is c.p_permutation is c.p_holm is None


def test_undefined_scorers_have_no_rank() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(60)
    scores = {"constant": np.zeros(60), "a": truth + rng.normal(size=60), "b": rng.random(60)}
    boot = {"constant": np.full(50, np.nan), "a": rng.random(50) + 1, "b": rng.random(50)}
    comparisons, ranks, runs = compare(
        truth, scores, np.arange(60), "spearman", boot, permutations=19, seed=0
    )
    assert [r.scorer for r in ranks] == ["a", "b"]
    assert runs == []
    for c in comparisons:
        if "constant" in (c.a, c.b):
            assert c.difference is c.ci_low is c.p_bootstrap is c.p_permutation is c.p_holm is None
        assert c.p_delong is None  # the truth is not binary


def test_a_replicate_without_a_value_ranks_last() -> None:
    truth = np.array([0.0, 1, 0, 1, 0, 1])
    scores = {s: np.arange(6.0) for s in "abc"}
    lost = np.nan
    boot = {
        "a": np.array([0.9, lost, lost, 0.9]),
        "b": np.array([0.8, 0.1, lost, 0.8]),
        "c": np.array([0.7, lost, lost, 0.8]),
    }
    _, ranks, _ = compare(
        truth,
        scores,
        np.arange(6),
        "auroc",
        boot,
        permutations=0,
        seed=0,
        values=dict.fromkeys("abc", 0.8),
    )
    # By replicate: 1 2 3, then 2.5 1 2.5; the third says nothing; 1 2.5 2.5.
    found = {r.scorer: r.rank for r in ranks}
    assert found == pytest.approx({"a": 4.5 / 3, "b": 5.5 / 3, "c": 8 / 3})


def test_metrics_of_labels_use_the_figures_given() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90).astype(float)
    scores = {"a": rng.random(90), "b": rng.random(90)}
    boot = {"a": 0.5 + 0.01 * rng.normal(size=200), "b": 0.4 + 0.01 * rng.normal(size=200)}
    arguments = (truth, scores, np.arange(90), "macro_f1", boot)
    (c,), ranks, _ = compare(*arguments, permutations=19, seed=0, values={"a": 0.51, "b": 0.39})
    assert c.difference == pytest.approx(0.12)
    assert c.p_permutation is c.p_delong is None
    assert [(r.scorer, r.rank, r.value) for r in ranks] == [("a", 1, 0.51), ("b", 2, 0.39)]
    (c,), _, _ = compare(*arguments, permutations=19, seed=0)
    assert c.difference == pytest.approx(boot["a"].mean() - boot["b"].mean())


@pytest.mark.parametrize("names", [[], ["only"]])
def test_fewer_than_two_scorers(names: list[str]) -> None:
    truth = np.array([0.0, 1, 0, 1])
    scores = {s: np.arange(4.0) for s in names}
    boot = {s: np.ones(50) for s in names}
    found = compare(truth, scores, np.arange(4), "auroc", boot, permutations=9, seed=0)
    assert found == ([], [], [])


def test_a_large_table_takes_seconds() -> None:
    rng = np.random.default_rng(0)
    n = 3600
    groups = np.minimum(np.arange(n), 3199)
    truth = (rng.random(n) < 0.6).astype(float)
    scores = {f"s{i}": 0.3 * truth + rng.normal(size=n) for i in range(12)}
    boot = {s: rng.normal(0.7, 0.01, 1000) for s in scores}
    values = dict.fromkeys(scores, 0.7)
    start = time.process_time()
    comparisons, _, _ = compare(
        truth,
        scores,
        groups,
        "average_precision",
        boot,
        permutations=1000,
        seed=0,
        values=values,
    )
    assert len(comparisons) == 66
    assert time.process_time() - start < 30  # about 3 s on one core
