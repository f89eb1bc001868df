"""Guarantees: worked by hand, against brute force with scipy, and simulated where the truth is
known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from veridical.ensembles.ensemble_file import StoredGuarantee
from veridical.errors import UsageError
from veridical.stats.conformal import (
    Guarantee,
    by_stratum,
    guarantee,
    least_n,
)

SPLITS = 1000


def ranked(wrong: list[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """n risks 1/n .. 1, hallucinated at these ranks (from 1, least risky first)."""
    labels = np.zeros(n)
    labels[np.array(wrong, dtype=int) - 1] = 1
    return np.arange(1, n + 1) / n, labels


def test_learn_then_test_worked_by_hand() -> None:
    # 0.9^22 = 0.098: 22 answers without an error are enough. With one error, 38 are, with two, 52:
    # the first error at 30 ends the sequence at 29, a first at 50 and a second at 51 end it at 50.
    risk, labels = ranked([30, *range(50, 61)], 60)
    found = guarantee(risk, labels, 0.1, 0.1)
    assert found.accepted == pytest.approx(29 / 60)
    assert 29 / 60 < found.threshold < 30 / 60
    assert (found.observed, found.n, found.reason) == (0.0, 60, None)
    assert found.bound == pytest.approx(1 - 0.1 ** (1 / 29))
    risk, labels = ranked(list(range(50, 61)), 60)
    assert guarantee(risk, labels, 0.1, 0.1).accepted == pytest.approx(50 / 60)
    risk, labels = ranked([], 60)
    found = guarantee(risk, labels, 0.1, 0.1)
    assert (found.threshold, found.accepted) == (1.0, 1.0)


def test_control_of_conformal_risk_worked_by_hand() -> None:
    # (w + 1) / (19 + 1) <= 0.1 allows one error: everything below the second hallucinated answer.
    risk, labels = ranked([4, 9, 15], 19)
    found = guarantee(risk, labels, 0.1, method="crc")
    assert (found.accepted, found.delta) == (8 / 19, None)
    assert 8 / 19 < found.threshold < 9 / 19
    assert (found.observed, found.bound) == (pytest.approx(1 / 19), pytest.approx(0.1))
    risk, labels = ranked([4], 19)
    assert guarantee(risk, labels, 0.1, method="crc").threshold == 1.0


@pytest.mark.parametrize("seed", range(30))
def test_every_tested_threshold_up_to_the_chosen_one_is_safe_and_the_next_is_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 500))
    alpha, delta = rng.choice([0.05, 0.1, 0.2]), rng.choice([0.05, 0.1])
    risk = rng.random(n).round(int(rng.integers(1, 4)))
    labels = (rng.random(n) < rng.uniform(0.1, 1) * risk**2).astype(float)
    found = guarantee(risk, labels, float(alpha), float(delta))
    if found.threshold is None:
        return
    at_once = risk <= found.threshold
    k, wrong = int(at_once.sum()), int(labels[at_once].sum())
    assert found.accepted == pytest.approx(k / n)
    assert found.observed == pytest.approx(wrong / k)
    assert binom.cdf(wrong, k, alpha) <= delta
    limit = binomtest(wrong, k).proportion_ci(1 - 2 * delta, method="exact").high
    assert found.bound == pytest.approx(limit) and found.bound <= alpha
    above = np.unique(risk[risk > found.threshold])
    if len(above):
        more = risk <= above[0]
        assert binom.cdf(int(labels[more].sum()), int(more.sum()), alpha) > delta


def test_least_number_is_the_least_that_can_ever_promise() -> None:
    for alpha, delta in itertools.product(
        (0.01, 0.05, 0.1, 0.25, 0.5, 0.9), (0.01, 0.05, 0.1, 0.5)
    ):
        n = least_n(alpha, delta)
        assert (1 - alpha) ** n <= delta < (1 - alpha) ** (n - 1)
        for size, promised in ((n, True), (n - 1, False)):
            risk, labels = np.linspace(0, 1, size), np.zeros(size)
            assert (guarantee(risk, labels, alpha, delta).threshold is not None) == promised
    assert [least_n(a, method="crc") for a in (0.5, 0.3, 0.1, 0.05, 0.01)] == [1, 3, 9, 19, 99]


def test_refusals_say_why() -> None:
    risk, labels = ranked([], 44)
    few = guarantee(risk, labels, 0.05, 0.1)
    assert few.threshold is None and few.accepted is None
    assert few.reason == (
        "44 independent graded answers are too few: alpha 0.05 and delta 0.1 require at least 45"
    )
    assert guarantee(risk, labels, 0.01, method="crc").reason == (
        "44 independent graded answers are too few: alpha 0.01 require at least 99"
    )
    risk, labels = ranked([2, 5, 7, 9], 60)
    assert guarantee(risk, labels, 0.1, 0.1).reason == (
        "no threshold is safe: 4 of the 22 least risky answers hallucinated, 0 allowed"
    )
    # Too many errors for one tie, even where none are among the 22 of it that are drawn first.
    every = {
        guarantee(np.full(60, 0.4), np.arange(60) % 20 == 0, 0.1, 0.1, seed=seed).reason
        for seed in range(30)
    }
    assert "no threshold is safe: 60 answers share the risk 0.4" in every
    assert None not in every
    assert guarantee(np.zeros(19), np.arange(19) < 2, 0.1, method="crc").reason == (
        "no threshold is safe: 2 of the answers with the least risk hallucinated"
    )
    assert "No guarantee: 44 independent" in few.statement


def test_the_statement_is_plain() -> None:
    risk, labels = ranked([], 100)
    assert guarantee(risk, labels, 0.05, 0.1).statement == (
        "Of answers with a risk up to 1.0000, at most 0.05 are hallucinated, with probability 0.9."
    )
    assert guarantee(risk, labels, 0.05, method="crc").statement.endswith(
        "those hallucinated are on average at most 0.05 of all."
    )


def test_it_fits_the_ensemble_file() -> None:
    risk, labels = ranked([30], 60)
    for method in ("ltt", "crc"):
        for alpha in (0.001, 0.1):
            made = guarantee(risk, labels, alpha, 0.1, method=method)
            stored = StoredGuarantee.model_validate_json(json.dumps(made.as_dict()))
            assert Guarantee(**stored.model_dump()) == made


def test_ties_are_accepted_whole_or_not_at_all() -> None:
    risk = np.repeat([0.1, 0.2, 0.3], 40)
    labels = np.zeros(120)
    labels[[85, 90, 95, 100, 105, 110, 111, 112, 113, 114]] = 1
    found = guarantee(risk, labels, 0.1, 0.1)
    assert found.accepted == pytest.approx(80 / 120) and 0.2 < found.threshold < 0.3
    assert found.threshold == 0.299999
    close = guarantee(np.where(risk > 0.2, 0.200001, risk), labels, 0.1, 0.1)
    assert (close.threshold, close.accepted) == (0.2, found.accepted)
    # The same whatever the last digits of a float, and the order of the rows.
    shaken = risk + np.random.default_rng(0).normal(size=120) * 1e-9
    mixed = np.random.default_rng(1).permutation(120)
    assert guarantee(shaken, labels, 0.1, 0.1) == found
    assert guarantee(risk[mixed], labels[mixed], 0.1, 0.1) == found
    assert guarantee(np.full(30, 0.4), np.zeros(30), 0.1, 0.1).threshold == 1.0
    one = guarantee(
        np.append(np.full(60, 0.4), 0.5), np.append(np.zeros(30), np.ones(31)), 0.1, 0.1
    )
    assert one.threshold is None


def test_what_is_not_scored_does_not_count() -> None:
    risk, labels = ranked([30], 60)
    found = guarantee(risk, labels, 0.1, 0.1)
    gaps = guarantee(np.append(risk, [math.nan] * 9), np.append(labels, np.ones(9)), 0.1, 0.1)
    assert gaps == found


def test_of_a_group_one_answer_counts() -> None:
    risk, labels = ranked([], 60)
    alone = guarantee(risk, labels, 0.1, 0.1)
    thrice = guarantee(
        np.repeat(risk, 3), np.repeat(labels, 3), 0.1, 0.1, groups=np.repeat(np.arange(60), 3)
    )
    assert thrice == alone
    few = guarantee(risk, labels, 0.1, 0.1, groups=np.arange(60) // 3)
    assert few.n == 20 and "20 independent" in str(few.reason)
    # An unscored answer of a group does not stand for it.
    gaps = np.stack([risk, np.full(60, math.nan)], axis=1).ravel()
    found = guarantee(gaps, np.repeat(labels, 2), 0.1, 0.1, groups=np.repeat(np.arange(60), 2))
    assert found == alone


def test_each_stratum_by_itself() -> None:
    risk, labels = ranked([30], 60)
    strata = ["long"] * 60 + ["short"] * 10
    found = by_stratum(np.append(risk, risk[:10]), np.append(labels, labels[:10]), strata, 0.1, 0.1)
    assert list(found) == ["long", "short"]
    assert found["long"] == guarantee(risk, labels, 0.1, 0.1)
    assert "10 independent graded answers are too few" in str(found["short"].reason)


def test_simultaneous_strata_share_delta() -> None:
    risk, labels = ranked([30], 60)
    names, cuts = ["a"] * 60 + ["b"] * 60 + ["tiny"] * 21, [60, 120, 141]
    table, truth = np.concatenate([risk, risk, risk[:21]]), np.concatenate([labels] * 3)[:141]
    table[5] = math.nan
    found = by_stratum(table, truth, names, 0.1, 0.1, simultaneous=True)
    # 21 answers are too few at 0.1 already, so the other two have half of it each
    alone = [
        guarantee(table[a:b], truth[a:b], 0.1, 0.05) for a, b in zip([0, *cuts], cuts, strict=False)
    ]
    assert list(found.values()) == alone
    assert found["b"].delta == 0.05 and "21 independent" in str(found["tiny"].reason)
    one = by_stratum(table[:60], truth[:60], names[:60], 0.1, 0.1, simultaneous=True)
    assert one == by_stratum(table[:60], truth[:60], names[:60], 0.1, 0.1)
    # answers of one unit count once: the second stratum is too small
    units = np.append(np.arange(60), np.full(60, 60))
    found = by_stratum(table[:120], truth[:120], names[:120], 0.1, 0.1, groups=units)
    both = by_stratum(
        table[:120], truth[:120], names[:120], 0.1, 0.1, groups=units, simultaneous=True
    )
    assert both == found and both["a"].threshold is not None
    with pytest.raises(UsageError, match="crc holds on average"):
        by_stratum(risk, labels, ["a"] * 60, 0.1, method="crc", simultaneous=True)


def test_hostile_arguments_are_refused() -> None:
    risk, labels = ranked([3], 60)
    for alpha, delta in ((0.0, 0.1), (1.0, 0.1), (math.nan, 0.1), (0.1, -1.0), (0.1, math.inf)):
        with pytest.raises(UsageError, match="must be between 0 and 1"):
            guarantee(risk, labels, alpha, delta)
    with pytest.raises(UsageError, match="unknown guarantee 'lt'"):
        guarantee(risk, labels, 0.1, 0.1, method="lt")
    with pytest.raises(UsageError, match=r"risk\[1\] = 2.0"):
        guarantee(np.array([0.1, 2.0]), np.zeros(2), 0.1, 0.1)
    with pytest.raises(UsageError, match=r"groups \(59,\) must be \(60,\)"):
        guarantee(risk, labels, 0.1, 0.1, groups=np.arange(59))
    with pytest.raises(UsageError, match="59 strata for 60 risks"):
        by_stratum(risk, labels, ["a"] * 59, 0.1, 0.1)


def rising(r: np.ndarray, alpha: float) -> np.ndarray:
    return np.asarray(4 * alpha * r**2)


def useless(r: np.ndarray, alpha: float) -> np.ndarray:
    """Every threshold is just too high: the most there is to get wrong."""
    return np.full(len(r), 1.01 * alpha)


def dips(r: np.ndarray, alpha: float) -> np.ndarray:
    """The share among the accepted crosses alpha several times."""
    return np.select([r < 0.1, r < 0.45, r < 0.5], [2 * alpha, 0.5 * alpha, 4 * alpha], 0.3 * alpha)


def tied(r: np.ndarray, alpha: float) -> np.ndarray:
    return np.asarray(3 * alpha * np.floor(r * 5) / 5)


def test_simultaneous_promises_are_all_kept_in_a_thousand_splits() -> None:
    """Five strata in which every threshold is just too high: any promise is a broken one."""
    alpha, delta, n, count = 0.2, 0.1, 80, 5
    strata = np.repeat([f"s{i}" for i in range(count)], n).tolist()
    broken = {True: 0, False: 0}
    for split in range(SPLITS):
        rng = np.random.default_rng(split)
        risk = rng.random(n * count)
        labels = (rng.random(n * count) < 1.01 * alpha).astype(float)
        for simultaneous in broken:
            found = by_stratum(risk, labels, strata, alpha, delta, simultaneous=simultaneous)
            broken[simultaneous] += any(g.threshold is not None for g in found.values())
    assert broken[True] <= binom.ppf(0.999, SPLITS, delta)
    assert broken[False] > binom.ppf(0.999, SPLITS, delta)  # by themselves they are not


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("world", [rising, useless, dips, tied])
def test_the_promise_is_kept_in_a_thousand_splits(
    world: Callable[[np.ndarray, float], np.ndarray], alpha: float
) -> None:
    delta, n, cells = 0.1, 150, 20_000
    at = (np.arange(cells) + 0.5) / cells
    rate = world(at, alpha)
    risk = np.floor(at * 5) / 5 if world is tied else at
    share = np.cumsum(rate) / np.arange(1, cells + 1)  # true share among those up to each risk
    broken = promised = 0
    spent = []  # of all answers, the share accepted and hallucinated
    for split in range(SPLITS):
        rng = np.random.default_rng(split)
        drawn = rng.integers(0, cells, n)
        labels = (rng.random(n) < rate[drawn]).astype(float)
        found = guarantee(risk[drawn], labels, alpha, delta, seed=split)
        if found.threshold is not None:
            promised += 1
            broken += share[np.searchsorted(risk, found.threshold) - 1] > alpha
        found = guarantee(risk[drawn], labels, alpha, method="crc")
        kept = 0 if found.threshold is None else np.searchsorted(risk, found.threshold)
        spent.append(rate[:kept].sum() / cells)
    assert broken <= binom.ppf(0.999, SPLITS, delta)
    assert np.mean(spent) <= alpha + 3 * np.std(spent) / math.sqrt(SPLITS)
    if world is rising:
        assert promised > SPLITS / 2
        assert np.mean(spent) > 0.9 * alpha - 1 / n
