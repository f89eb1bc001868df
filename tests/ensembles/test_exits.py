"""Exits of a cascade: the margin by the definition of AUROC, the search by trying everything."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from veridical.ensembles.exits import ExitProblem, Exits, find, newest

Floats = NDArray[np.float64]


def pairs(labels: Floats, risk: Floats) -> float:
    """AUROC by its definition: every pair."""
    bad, good = risk[labels == 1], risk[labels == 0]
    return float(np.mean(np.sign(bad[:, None] - good[None, :]) + 1) / 2)


def problem(n: int, tiers: int, seed: int, keep: float = 0.97, z: float = 0.0) -> ExitProblem:
    """Tiers that each know more than the one before; a few risks are not there."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(n)
    labels[rng.permutation(n)[: n // 2]] = 1
    noise = np.linspace(1.5, 0.4, tiers)
    shown = 2 * labels[:, None] - 1 + noise * rng.normal(size=(n, tiers))
    risks = np.round(1 / (1 + np.exp(-2 * shown)), 3)
    full = risks[:, -1].copy()
    risks[rng.random((n, tiers)) < 0.05] = np.nan
    costs = np.array([1.0, 9.0, 90.0])[-tiers:]
    return ExitProblem(risks, full, costs / costs.sum(), labels, np.arange(n), keep, z)


def stopping(risks: Floats, low: Floats, high: Floats) -> list[int]:
    """The tier of each record, read off the rule."""
    found = []
    for row in risks:
        for t, risk in enumerate(row):
            last = t == len(row) - 1
            if last or (not np.isnan(risk) and (risk <= low[t] or risk >= high[t])):
                found.append(t)
                break
    return found


def test_records_stop_at_the_first_tier_that_is_sure() -> None:
    risks = np.array([[0.1, 0.5, 0.5], [0.9, 0.1, 0.5], [0.5, 0.9, 0.5], [np.nan, 0.3, 0.5]])
    exits = Exits((0.1, 0.2), (np.inf, 0.9))
    assert exits.stops(risks).tolist() == [0, 1, 1, 2]
    assert exits.stops(risks).tolist() == stopping(risks, np.array(exits.low), np.array(exits.high))


def test_a_record_ends_with_the_newest_risk_there_is() -> None:
    risks = np.array([[0.2, np.nan, np.nan], [np.nan, np.nan, 0.7], [np.nan, np.nan, np.nan]])
    assert newest(risks).tolist() == [[0.2, 0.2, 0.2], [0.5, 0.5, 0.7], [0.5, 0.5, 0.5]]


@pytest.mark.parametrize("seed", range(5))
def test_the_margin_is_what_is_kept_of_auroc(seed: int) -> None:
    p = problem(60, 3, seed)
    tier = np.random.default_rng(seed).integers(0, 3, 60)
    ends = newest(p.risks)[np.arange(60), tier]
    assert p.auroc(tier) == pytest.approx(pairs(p.labels, ends), abs=1e-12)
    kept = pairs(p.labels, ends) - p.keep * pairs(p.labels, p.full)
    assert p.margin(tier) == pytest.approx(kept, abs=1e-12)
    assert p.cost(tier) == pytest.approx(np.mean([p.costs[: t + 1].sum() for t in tier]))


def test_its_standard_error_is_delongs() -> None:
    p = problem(200, 2, 7, keep=1.0)
    tier = np.zeros(200, dtype=np.int64)
    plain = p.margin(tier)
    wary = ExitProblem(p.risks, p.full, p.costs, p.labels, p.groups, 1.0, 1.0).margin(tier)
    ends = newest(p.risks)[:, 0]
    table = np.stack([ends, p.full])
    spread = (
        np.cov(_placements(table, p.labels, 1)) / 100
        + np.cov(_placements(table, p.labels, 0)) / 100
    )
    error = np.sqrt(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1])
    assert plain - wary == pytest.approx(error, rel=0.01)


def _placements(scores: Floats, labels: Floats, of: int) -> Floats:
    """(2, m) of each record of a label its share of pairs in the right order (DeLong 1988)."""
    bad, good = scores[:, labels == 1], scores[:, labels == 0]
    right = (np.sign(bad[:, :, None] - good[:, None, :]) + 1) / 2
    return right.mean(axis=2 if of else 1)


def test_records_of_one_unit_count_once() -> None:
    """Every record four times over: the estimate is the same, and so is its error."""
    p = problem(80, 2, 3, z=1.0)
    tier = np.zeros(80, dtype=np.int64)
    four = ExitProblem(
        *(np.repeat(x, 4, axis=0) for x in (p.risks, p.full)),
        p.costs,
        *(np.repeat(x, 4) for x in (p.labels, p.groups)),
        p.keep,
        p.z,
    )
    assert four.margin(np.repeat(tier, 4)) == pytest.approx(p.margin(tier), abs=1e-12)
    apart = ExitProblem(four.risks, four.full, p.costs, four.labels, np.arange(320), p.keep, p.z)
    assert apart.margin(np.repeat(tier, 4)) > p.margin(tier)


def cuts(risks: Floats) -> list[tuple[float, float]]:
    """Every pair of thresholds that parts the records in another way."""
    values = np.unique(risks[~np.isnan(risks)])
    middle = ((values[1:] + values[:-1]) / 2).tolist()
    places = itertools.product([-np.inf, *middle], [*middle, np.inf])
    return [(low, high) for low, high in places if low < high]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("z", [0.0, 0.5])
def test_two_tiers_are_as_cheap_as_they_can_be(seed: int, z: float) -> None:
    p = problem(60, 2, seed, z=z)
    best = np.inf
    for low, high in cuts(p.risks[:, 0]):
        tier = Exits((low,), (high,)).stops(p.risks)
        if p.margin(tier) >= 0:
            best = min(best, p.cost(tier))
    found = find(p)
    assert found is not None and found.margin >= 0
    assert found.cost <= best + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_three_tiers_are_nearly_as_cheap_as_they_can_be(seed: int) -> None:
    p = problem(24, 3, seed)
    best = np.inf
    for (a, b), (c, d) in itertools.product(cuts(p.risks[:, 0]), cuts(p.risks[:, 1])):
        tier = Exits((a, c), (b, d)).stops(p.risks)
        cost = p.cost(tier)
        if cost < best and p.margin(tier) >= 0:
            best = cost
    found = find(p)
    assert found is not None and found.margin >= 0
    assert found.cost == p.cost(found.exits.stops(p.risks))
    assert found.cost <= best + 0.05


def test_nothing_may_be_lost_and_nothing_is() -> None:
    """The first tier only knows some: the others go on."""
    rng = np.random.default_rng(1)
    labels = (np.arange(400) % 2).astype(np.float64)
    full = np.where(labels == 1, 0.95, 0.05)
    first = np.where(rng.random(400) < 0.6, full, 0.5)
    p = ExitProblem(
        np.stack([first, full], axis=1),
        full,
        np.array([0.01, 0.99]),
        labels,
        np.arange(400),
        1.0,
        0.0,
    )
    found = find(p)
    assert found is not None
    tier = found.exits.stops(p.risks)
    assert p.auroc(tier) == 1.0
    assert found.cost == pytest.approx(0.01 + 0.99 * np.mean(first == 0.5), abs=0.01)


def test_a_tier_that_knows_nothing_stops_nobody() -> None:
    p = problem(300, 2, 5, keep=0.999)
    noise = np.random.default_rng(0).permutation(p.risks[:, 0])
    blind = ExitProblem(
        np.stack([noise, p.full], axis=1), p.full, p.costs, p.labels, p.groups, 0.999, 0.0
    )
    found = find(blind)
    assert found is not None
    assert np.mean(found.exits.stops(blind.risks) == 0) < 0.05


def test_one_tier_has_no_exits() -> None:
    p = problem(50, 1, 0)
    found = find(ExitProblem(p.full[:, None], p.full, p.costs, p.labels, p.groups, 0.99, 0.0))
    assert found is not None and found.exits == Exits((), ()) and found.cost == 1.0


def test_no_thresholds_where_none_will_do() -> None:
    """The cascade ends with less than the full ensemble knows."""
    p = problem(100, 2, 2, keep=1.0)
    poor = ExitProblem(np.full((100, 2), 0.5), p.full, p.costs, p.labels, p.groups, 1.0, 0.0)
    assert find(poor) is None
