"""Flags: raised where they belong, and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from veridical.arrays import Floats
from veridical.stats.resampling import Resampler, interval
from veridical_lab.bench.datasets.suite import Labelled, Suite, Task
from veridical_lab.bench.figures import Settings, measure
from veridical_lab.bench.guards import inverted
from veridical_lab.bench.judgements import FAILED, Column, Scores
from veridical_lab.bench.result import Row

_SUITE = Suite("made", "", "", "", lambda path, options: iter(()), lambda labelled: [])
_NOTHING = np.zeros(0, dtype=np.int64)


def figures(
    truth: Floats,
    scores: dict[str, Floats],
    *,
    words: Any = None,
    groups: Any = None,
    kind: Any = "binary",
    bootstrap: int = 200,
    **task: Any,
) -> list[Row]:
    """Rows of a made-up task; NaN scores have failed."""
    n = len(truth)
    length = np.arange(n) * 7919 % 50 + 3 if words is None else np.asarray(words)
    own = np.arange(n) if groups is None else groups
    text = (np.full(n, "all"), own, truth, length * 5, length, {})
    labelled = Labelled(*text, _NOTHING, _NOTHING, _NOTHING, _NOTHING, np.zeros(0))
    columns = {}
    for name, score in scores.items():
        said = Scores.empty(n)
        for i, x in enumerate(score.tolist()):
            if np.isnan(x):
                said.miss(i, FAILED, "away")
            else:
                said.set(i, x, 1 / (1 + float(np.exp(-x))))
        said.settle()
        columns[name] = Column(said, Scores.empty(0))
    asked = Task("all", "response", kind, "positive", "items", truth, **task)
    return measure(_SUITE, asked, labelled, columns, [], Settings(0, bootstrap), ())[0]


def flags(rows: list[Row], scorer: str) -> list[str]:
    """The flags of a scorer, which are the same on all its rows."""
    found = {tuple(r.flags) for r in rows if r.scorer == scorer}
    assert len(found) == 1
    return list(*found)


def _sample(n: int = 300, seed: int = 0) -> tuple[Floats, Floats]:
    draw = np.random.default_rng(seed)
    truth = (draw.random(n) < 0.4).astype(np.float64)
    return truth, 1.5 * truth + draw.standard_normal(n)


@pytest.mark.parametrize("kind", ["binary", "graded", "classes"])
@pytest.mark.parametrize("flip", [False, True])
def test_an_inverted_score_is_flagged_on_every_kind_of_task(kind: str, flip: bool) -> None:
    draw = np.random.default_rng(1)
    truth = {
        "binary": (draw.random(200) < 0.4).astype(np.float64),
        "graded": draw.random(200),
        "classes": draw.integers(0, 3, 200).astype(np.float64),
    }[kind]
    score = (1 - 2 * flip) * (2 * truth + draw.standard_normal(200))
    classes = ("right", "unclear", "wrong") if kind == "classes" else ()
    rows = figures(
        truth, {"up": score, "down": -score}, kind=kind, flip=flip, classes=classes, bootstrap=0
    )
    assert "inverted" in flags(rows, "down")
    assert "inverted" not in flags(rows, "up")


def test_chance_is_not_called_inverted_without_resamples() -> None:
    """With few targets, or none to resample, half of all useless scores are below a half."""
    draw = np.random.default_rng(2)
    for bootstrap in (0, 200):
        found = []
        for _ in range(40):
            truth = (np.arange(60) % 3 == 0).astype(np.float64)
            rows = figures(
                truth, {"noise": draw.random(60)}, bootstrap=bootstrap, metrics=("auroc",)
            )
            found.append("inverted" in flags(rows, "noise"))
        assert np.mean(found) < 0.15
    alone = figures(truth, {"down": -truth}, groups=np.zeros(60, dtype=np.int64))
    assert "inverted" not in flags(alone, "down")  # one group: nothing to resample


@pytest.mark.parametrize("seed", range(5))
def test_inverted_is_the_interval_of_the_auroc(seed: int) -> None:
    draw = np.random.default_rng(seed)
    truth = (draw.random(80) < 0.4).astype(np.float64)
    score = draw.standard_normal(80) - 0.4 * truth
    groups = np.arange(80) // 2
    areas = []
    for weights in Resampler(groups, 500, seed).chunks():
        for w in weights:
            areas.append(roc_auc_score(truth, score, sample_weight=w))
    _, high = interval(np.array(areas))
    assert high is not None
    assert inverted(truth, score, groups, seed) == (high < 0.5)


def test_shorter_is_riskier_is_said_of_the_length_baseline() -> None:
    truth, _ = _sample()
    draw = np.random.default_rng(3)
    words = draw.integers(20, 40, 300) - (8 * truth).astype(np.int64)
    rows = figures(truth, {}, words=words)
    assert "inverted" in flags(rows, "length")
    assert "inverted" not in flags(figures(truth, {}, words=60 - words), "length")


def test_longer_is_riskier_whichever_way_the_task_is_put() -> None:
    truth, _ = _sample()
    words = (20 + 10 * truth).astype(np.int64)
    for flip, asked in ((False, truth), (True, 1 - truth)):
        (row,) = [
            r
            for r in figures(asked, {}, words=words, flip=flip)
            if (r.scorer, r.metric) == ("length", "auroc")
        ]
        assert row.value == 1.0


def test_a_constant_score_is_rewarded_by_ties_and_flagged_so() -> None:
    truth, _ = _sample()
    rows = figures(truth, {"same": np.full(300, 0.7)})
    assert set(flags(rows, "same")) == {"constant", "ties_inflate_trapezoid", "one_class"}


def test_length_is_compared_on_the_targets_that_were_scored() -> None:
    """Where the scorer failed, the length is best: on what both have, the scorer is better."""
    truth, score = _sample(400)
    away = np.arange(400) >= 150
    draw = np.random.default_rng(4)
    words = np.where(away, 20 + 20 * truth, draw.integers(20, 40, 400)).astype(np.int64)
    score[away] = np.nan
    assert "not_better_than_length" not in flags(figures(truth, {"a": score}, words=words), "a")


def test_nothing_is_compared_with_length_where_all_labels_are_alike() -> None:
    _, score = _sample()
    assert "not_better_than_length" not in flags(figures(np.ones(300), {"a": score}), "a")


def test_a_score_far_better_than_length_is_never_said_not_to_be() -> None:
    for seed in range(20):
        truth, score = _sample(300, seed)
        assert flags(figures(truth, {"a": 2 * score}, metrics=("average_precision",)), "a") == []


def test_small_n_counts_every_class() -> None:
    truth = np.repeat([0.0, 1.0, 2.0], [100, 100, 10])
    classes = ("right", "unclear", "wrong")
    score = truth + np.random.default_rng(5).random(210)
    rows = figures(truth, {"a": score}, kind="classes", classes=classes)
    assert "small_n" in flags(rows, "a")
    rows = figures(truth, {"a": score}, kind="graded")
    assert "small_n" not in flags(rows, "a")
