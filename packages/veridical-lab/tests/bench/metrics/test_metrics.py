"""What holds for every metric: weights are repetitions, undefined is NaN, nobody is warned."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.arrays import Floats
from veridical.stats.metrics import Targets, compute
from veridical.stats.metrics.ranking import AREAS, areas
from veridical_lab.bench.datasets.suite import METRICS
from veridical_lab.bench.metrics.spans import span_metrics, span_statistics

pytestmark = pytest.mark.filterwarnings("error")

RANKING = list(AREAS)
CORRELATION = ["pearson", "spearman", "kendall"]
RISK = ["brier", "log_loss", "ece", "mce"]
LABELS = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "f1", "f_beta"),
    *("macro_f1", "weighted_precision", "weighted_recall", "weighted_f1", "mcc"),
]
LABELS3 = [name for name in LABELS if name not in ("precision", "recall", "f1", "f_beta")]
SPANS = [f"span_{o}{m}" for o in ("", "overlap_") for m in ("precision", "recall", "f1")]

Value = Callable[[Floats, Floats, "Floats | None"], "float | Floats"]


def by_targets(name: str, classes: int = 2) -> Value:
    """A metric as a function of truth 0 .. 1 and score 0 .. 1, whatever it needs of them."""

    def value(truth: Floats, score: Floats, weights: Floats | None) -> float | Floats:
        if name in CORRELATION:
            targets = Targets(truth, score)
        elif classes == 2:
            binary = (truth >= 0.5).astype(np.float64)
            targets = Targets(binary, score, score, (score >= 0.5).astype(np.int64))
        else:
            cut = [1 / 3, 2 / 3]
            truth = np.searchsorted(cut, truth).astype(np.float64)
            targets = Targets(truth, score, score, np.searchsorted(cut, score), classes)
        return compute([name], targets, weights, beta=0.5)[name]

    return value


def by_spans(name: str) -> Value:
    """A span metric of items that have a gold span where truth is high, and so for the score."""

    def value(truth: Floats, score: Floats, weights: Floats | None) -> float | Floats:
        gold = [[(0, int(9 * t)), (int(5 * t), 8)] if t >= 0.5 else [] for t in truth]
        predicted = [[(int(4 * s), 7)] if s > 0.3 else [] for s in score]
        return span_metrics(span_statistics(gold, predicted), weights)[name]

    return value


ALL: dict[str, Value] = {
    **{name: by_targets(name) for name in RANKING + CORRELATION + RISK + LABELS},
    **{f"{name}/3": by_targets(name, 3) for name in LABELS3},
    **{name: by_spans(name) for name in SPANS},
}
every_metric = pytest.mark.parametrize("name", ALL)

LEVELS = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0])
ITEM = st.tuples(LEVELS, LEVELS, st.integers(0, 3), st.integers(0, 3))


@every_metric
@settings(max_examples=30, deadline=None)
@given(items=st.lists(ITEM, min_size=1, max_size=12))
def test_weights_are_repetitions(name: str, items: list[tuple[float, float, int, int]]) -> None:
    truth, score, first, second = (np.array(column) for column in zip(*items, strict=True))
    weights = np.stack([first, second]).astype(np.float64)
    weighted = ALL[name](truth, score, weights)
    assert isinstance(weighted, np.ndarray) and weighted.shape == (2,)
    for times, value in zip((first, second), weighted, strict=True):
        repeated = ALL[name](np.repeat(truth, times), np.repeat(score, times), None)
        assert value == pytest.approx(repeated, abs=1e-9, nan_ok=True)


@every_metric
def test_a_plain_value_is_that_of_equal_weights(name: str) -> None:
    rng = np.random.default_rng(1)
    truth, score = rng.random(60), rng.random(60)
    plain = ALL[name](truth, score, None)
    assert type(plain) is float and np.isfinite(plain)
    assert ALL[name](truth, score, np.ones((1, 60)))[0] == pytest.approx(plain, abs=1e-12)
    order = rng.permutation(60)
    assert ALL[name](truth[order], score[order], None) == pytest.approx(plain, abs=1e-12)


@every_metric
def test_rows_of_weights_do_not_touch_each_other(name: str) -> None:
    """Also over the edges of the blocks in which they are computed."""
    rng = np.random.default_rng(2)
    n = 3000
    truth, score = rng.random(n), rng.integers(0, 9, n) / 8
    weights = rng.poisson(1.0, (400, n)).astype(np.float64)
    together = ALL[name](truth, score, weights)
    assert together.shape == (400,)
    for row in (0, 86, 87, 88, 348, 349, 350, 399):
        alone = ALL[name](truth, score, weights[[row]])
        assert alone[0] == pytest.approx(together[row], abs=1e-12)


@every_metric
def test_nothing_to_judge_is_nan(name: str) -> None:
    empty = np.empty(0)
    assert np.isnan(ALL[name](empty, empty, None))
    assert np.isnan(ALL[name](empty, empty, np.empty((3, 0)))).tolist() == [True] * 3
    some = np.array([0.0, 1.0, 0.6, 0.2])
    assert ALL[name](some, some, np.empty((0, 4))).shape == (0,)
    values = ALL[name](some, some, np.array([[0.0] * 4, [1.0] * 4]))
    assert np.isnan(values[0]) and not np.isnan(values[1])


@pytest.mark.parametrize("name", RANKING + CORRELATION)
def test_what_one_class_leaves_undefined(name: str) -> None:
    score = np.array([0.1, 0.4, 0.4, 0.8])
    for truth in (np.zeros(4), np.ones(4)):
        value = ALL[name](truth, score, None)
        if name in ("average_precision", "trapezoid_pr") and truth.all():
            assert value == 1.0
        else:
            assert np.isnan(value)


@pytest.mark.parametrize("name", CORRELATION)
@pytest.mark.parametrize("constant", [0.1, 1 / 3, 1e9])
def test_a_constant_has_no_correlation(name: str, constant: float) -> None:
    """Neither of all targets nor of a resample that happens to hold but one value."""
    varied = np.array([0.3, 0.1, 0.4, 0.9, 0.2])
    score = np.array([constant, constant, constant, constant, constant + 1])
    weights = np.array(
        [[1.0, 3, 1, 7, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 5], [0.1, 0.7, 0.3, 1 / 3, 0]]
    )
    for a, b in ((varied, score), (score, varied)):
        values = ALL[name](a, b, weights)
        assert np.isnan(values).tolist() == [True, False, True, True]
    same = np.full(5, constant)
    assert np.isnan(ALL[name](varied, same, None)) and np.isnan(ALL[name](same, same, None))


@pytest.mark.parametrize("name", RANKING + CORRELATION + RISK)
def test_nan_inputs_give_nan(name: str) -> None:
    fine, broken = np.array([0.0, 1.0, 0.7]), np.array([0.1, np.nan, 0.3])
    targets = Targets(fine, broken, broken)
    assert np.isnan(compute([name], targets)[name])
    assert np.isnan(compute([name], targets, np.ones((4, 3)))[name]).tolist() == [True] * 4


@pytest.mark.parametrize("name", [*RANKING, "spearman", "kendall"])
def test_only_the_order_of_scores_counts(name: str) -> None:
    rng = np.random.default_rng(3)
    truth = rng.random(50)
    score = np.round(rng.normal(size=50), 1)
    far = np.where(score == score.max(), np.inf, np.exp(5 * score))
    far[score == score.min()] = -1e300
    value = ALL[name](truth, score, None)
    assert ALL[name](truth, far, None) == pytest.approx(value, abs=1e-12)


def test_all_areas_are_those_of_the_single_metrics() -> None:
    rng = np.random.default_rng(4)
    truth, score = (rng.random(80) < 0.3).astype(np.float64), rng.integers(0, 20, 80) / 20
    weights = rng.poisson(1.0, (7, 80)).astype(np.float64)
    found, boot = areas(truth, score), areas(truth, score, weights)
    assert list(found) == list(boot) == list(AREAS)
    for name in AREAS:
        assert found[name] == ALL[name](truth, score, None)
        np.testing.assert_array_equal(boot[name], ALL[name](truth, score, weights))


def test_compute_keeps_the_order_and_takes_every_name_of_a_suite() -> None:
    truth, score = np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.9, 0.4])
    targets = Targets(truth, score, score, np.array([0, 1, 0]))
    for kind in ("binary", "graded"):
        names = METRICS[kind][::-1]
        assert list(compute(names, targets)) == list(names)
    three = Targets(np.array([0.0, 1.0, 2.0]), score, None, np.array([0, 1, 1]), classes=3)
    # one figure a class, not one of a positive class
    assert set(compute(METRICS["classes"], three)) == set(METRICS["classes"]) - {"f1"}
    assert compute([], targets) == {}


def test_compute_without_what_a_metric_needs() -> None:
    bare = Targets(np.array([0.0, 1.0]), np.array([0.2, 0.9]))
    found = compute([*RISK, *LABELS, "auroc"], bare)
    assert found.pop("auroc") == 1.0
    assert all(np.isnan(value) for value in found.values()) and len(found) == 15
    boot = compute([*RISK, *LABELS], bare, np.ones((3, 2)))
    assert all(np.isnan(value).tolist() == [True] * 3 for value in boot.values())


def test_wrong_arguments_are_told() -> None:
    two, three = np.array([0.0, 1.0]), np.array([0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="no metric 'aurocc'"):
        compute(["aurocc"], Targets(two, two))
    for name in ("auroc", "kendall", "brier"):
        with pytest.raises(ValueError, match=r"\(2,\) and score \(3,\)"):
            compute([name], Targets(two, three, three))
        with pytest.raises(ValueError, match=r"\(4, 2\), not \(replicates, 3\)"):
            compute([name], Targets(three, three, three), np.ones((4, 2)))
    with pytest.raises(ValueError, match=r"risk\[1\] = 1.5 is not in \[0, 1\]"):
        compute(["ece"], Targets(two, two, np.array([0.5, 1.5])))
    with pytest.raises(ValueError, match=r"predicted\[1\] = -1 is not a class index 0 .. 1"):
        compute(["f1"], Targets(two, two, None, np.array([0, -1])))


@pytest.fixture(scope="module")
def thousand() -> Floats:
    n = 3600
    return np.random.default_rng(5).multinomial(n, np.full(n, 1 / n), 1000).astype(np.float64)


@pytest.mark.parametrize("name", [*RANKING, *CORRELATION, *RISK, "macro_f1"])
def test_a_thousand_replicates_are_quick(name: str, thousand: Floats) -> None:
    rng = np.random.default_rng(6)
    score = rng.random(3600)
    truth = np.clip(score + rng.normal(size=3600) / 3, 0, 1)
    started = time.process_time()
    ALL[name](truth, score, thousand)
    assert time.process_time() - started < 30  # a loop over replicates takes longer
