"""Drift, against scipy and examples worked by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.stats import ks_2samp
from statsmodels.stats.multitest import multipletests

from veridical.decide.drift import QUANTILES, compare, effective_size, reference
from veridical.ensembles.ensemble_file import Reference
from veridical.errors import UsageError


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("n", "m", "decimals"), [(40, 25, 6), (400, 3000, 6), (300, 200, 1)])
def test_as_scipy_has_it(n: int, m: int, decimals: int) -> None:
    before = {f"s{i}": rng(i).beta(2, 3 + 0.2 * i, n).round(decimals) for i in range(4)}
    now = {f"s{i}": rng(9 + i).beta(2, 3, m).round(decimals) for i in range(4)}
    found = compare(reference(before), now)
    expected = [ks_2samp(before[s], now[s], method="asymp") for s in before]
    assert [found[s].ks for s in before] == pytest.approx([e.statistic for e in expected])
    assert [found[s].p for s in before] == pytest.approx([e.pvalue for e in expected])
    adjusted = multipletests([e.pvalue for e in expected], method="holm")[1]
    assert [found[s].p_holm for s in before] == pytest.approx(adjusted.tolist())
    assert found["s0"].mean_before == pytest.approx(before["s0"].mean())
    assert found["s0"].mean == pytest.approx(now["s0"].mean())


def test_what_is_kept_of_much_data_is_nearly_all_there_is_to_know() -> None:
    before = np.concatenate([np.zeros(2000), rng(1).beta(2, 5, 20_000)])
    kept = reference({"s": before})
    assert len(kept.quantiles["s"]) == QUANTILES
    now = np.concatenate([np.zeros(1500), rng(2).beta(2, 4.5, 6000)])
    expected = ks_2samp(before.round(6), now.round(6), method="asymp")
    found = compare(kept, {"s": now})["s"]
    assert found.ks == pytest.approx(expected.statistic, abs=0.0011)
    assert found.drifted == (expected.pvalue < 0.05)


def test_chance_alone_is_rarely_called_drift() -> None:
    flagged = 0
    for seed in range(200):
        draw = rng(seed)
        before = reference({f"s{i}": draw.beta(2, 3, 700) for i in range(5)})
        now = compare(before, {f"s{i}": draw.beta(2, 3, 300) for i in range(5)})
        flagged += any(d.drifted for d in now.values())
    assert flagged <= 18  # of 200, at a family-wise 5 %: 99 % of chance


def ragged(draw: np.random.Generator, records: int, alike: float) -> tuple[np.ndarray, np.ndarray]:
    """Risks of the sentences of records of 1 to some 40, and the record of each; ``alike`` is the
    correlation within one."""
    groups = np.repeat(np.arange(records), 1 + draw.negative_binomial(1.5, 0.15, records))
    shared, own = draw.normal(size=records)[groups], draw.normal(size=len(groups))
    return 1 / (1 + np.exp(-math.sqrt(alike) * shared - math.sqrt(1 - alike) * own)), groups


@pytest.mark.parametrize("alike", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("records", [8, 60])
def test_sentences_of_one_record_are_no_drift_of_their_own(alike: float, records: int) -> None:
    flagged = naive = 0
    for seed in range(200):
        draw = rng(seed)
        before, of_record = ragged(draw, 100, alike)
        now, of_new = ragged(draw, records, alike)
        kept = reference({"s": before}, of_record)
        flagged += compare(kept, {"s": now}, of_new)["s"].drifted
        naive += compare(reference({"s": before}), {"s": now})["s"].drifted
    assert flagged <= 18  # of 200, at 5 %: 99 % of chance
    assert naive > 40 or alike == 0


def test_a_shift_of_sentences_is_found() -> None:
    draw = rng(3)
    before, of_record = ragged(draw, 150, 0.3)
    now, of_new = ragged(draw, 150, 0.3)
    found = compare(reference({"s": before}, of_record), {"s": now**2}, of_new)["s"]
    assert found.drifted and found.n == len(now) and 150 < found.effective < len(now)


def test_effective_sizes_worked_by_hand() -> None:
    each = rng(1).random(30)
    alone = np.arange(30)
    assert effective_size(each, alone) == 30
    # Thirty units of four alike count for thirty, a little less for the estimated variance.
    alike = effective_size(np.repeat(each, 4), np.repeat(alone, 4))
    assert alike == 30
    # Too few units to estimate by: as though all of one were alike, (2 + 8)^2 / (4 + 64).
    few = effective_size(rng(2).random(10), np.repeat([0, 1], [2, 8]))
    assert few == pytest.approx(100 / 68)
    # Each unit has one low and one high: pairs tell no less than as many independent ones.
    pairs = np.column_stack([each / 2, 0.5 + each / 2]).ravel()
    assert effective_size(pairs, np.repeat(alone, 2)) == 60
    missing = np.where(np.arange(120) % 4, np.nan, np.repeat(each, 4))
    assert effective_size(missing, np.repeat(alone, 4)) == 30
    assert effective_size(np.full(3, np.nan), np.arange(3)) == 0


def test_the_design_effect_is_that_of_repeated_draws() -> None:
    shares, sizes, counts = [], [], []
    for seed in range(400):
        risks, groups = ragged(rng(seed), 60, 0.3)
        shares.append(float((risks <= 0.5).mean()))
        sizes.append(effective_size(risks, groups))
        counts.append(len(risks))
    told = 0.25 / float(np.var(shares))  # a share of n independent ones has variance 0.25 / n
    assert np.mean(sizes) == pytest.approx(told, rel=0.2) and told < 0.5 * np.mean(counts)


def test_psi_worked_by_hand() -> None:
    # Tenths of 0.05, 0.15 .. 0.95 (ten each) begin at these values; all of the new are in the last.
    before = np.repeat(np.arange(10) / 10 + 0.05, 10)
    found = compare(reference({"s": before}), {"s": np.full(5, 0.97)})["s"]
    p, low, high = 10.5 / 105, 0.5 / 10, 5.5 / 10
    expected = 9 * (low - p) * math.log(low / p) + (high - p) * math.log(high / p)
    assert found.psi == pytest.approx(expected)
    assert found.ks == pytest.approx(1.0)
    same = compare(reference({"s": before}), {"s": before})["s"]
    assert (same.psi, same.ks, same.drifted) == (pytest.approx(0), 0.0, False)


def test_a_verdict_with_two_values() -> None:
    before = reference({"s": np.array([0.0] * 90 + [1.0] * 10)})
    found = compare(before, {"s": np.array([0.0] * 50 + [1.0] * 50)})["s"]
    assert found.ks == pytest.approx(0.4)
    # Of 100, 0.5 added in each of three bins: the values, and what lies between them.
    assert found.psi == pytest.approx(
        (50.5 - 90.5) / 101.5 * math.log(50.5 / 90.5) + 40 / 101.5 * math.log(50.5 / 10.5)
    )
    assert found.drifted


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_one_value_alone_that_moves_either_way(value: float) -> None:
    before = reference({"s": np.full(50, value)})
    for other in {0.0, 0.3, 0.7, 1.0} - {value}:
        found = compare(before, {"s": np.full(50, other)})["s"]
        assert found.ks == 1.0 and found.drifted and found.psi is not None and found.psi > 1
    assert compare(before, {"s": np.full(20, value)})["s"].psi == pytest.approx(0, abs=0.05)


def test_what_is_not_scored_is_counted_apart() -> None:
    before = reference({"a": np.array([0.1, 0.2, math.nan, 0.4]), "b": np.full(4, math.nan)})
    assert before.not_scored == {"a": 0.25, "b": 1.0}
    found = compare(before, {"a": np.full(3, math.nan), "b": np.array([0.1, 0.2, math.nan])})
    assert (found["a"].n, found["a"].not_scored, found["a"].not_scored_before) == (0, 1.0, 0.25)
    assert found["a"].ks is None and found["a"].p_holm is None and not found["a"].drifted
    assert found["b"].n == 2 and found["b"].psi is None
    assert json.loads(json.dumps(found["a"].as_dict()))["drifted"] is False


def test_a_reference_survives_its_file() -> None:
    risks = {"a": rng(1).random(900), "b": rng(2).random(900)}
    before = reference(risks, np.arange(900) // 3)
    assert set(before.effective) == {"a", "b"} and max(before.effective.values()) <= 900
    assert Reference.model_validate_json(before.model_dump_json()) == before


def test_what_cannot_be_compared_is_said() -> None:
    before = reference({"a": np.array([0.1, 0.2])})
    with pytest.raises(UsageError, match="no incoming risks of 'a'"):
        compare(before, {"b": np.array([0.1])})
    with pytest.raises(UsageError, match="no incoming records of 'a'"):
        compare(before, {"a": np.array([])})
    with pytest.raises(UsageError, match=r"risk 1 of 'a' is 1\.2"):
        compare(before, {"a": np.array([0.1, 1.2])})
    with pytest.raises(UsageError, match="risk 0 of 'a' is inf"):
        compare(before, {"a": np.array([math.inf])})
    with pytest.raises(UsageError, match="1 groups for 2 risks of 'a'"):
        compare(before, {"a": np.array([0.1, 0.2])}, np.array([0]))
    with pytest.raises(UsageError, match="a 2, b 1"):
        reference({"a": np.array([0.1, 0.2]), "b": np.array([0.1])})
    with pytest.raises(UsageError, match="got none"):
        reference({})
