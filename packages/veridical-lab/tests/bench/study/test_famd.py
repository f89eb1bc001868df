"""The ensemble, against principal components by numpy."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from veridical.errors import UsageError
from veridical_lab.bench.study import famd

Floats = NDArray[np.float64]


def component(columns: Floats) -> Floats:
    """First principal component of the standardised columns, by an eigendecomposition."""
    z = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    _, vectors = np.linalg.eigh(z.T @ z)
    return z @ vectors[:, -1]


def as_ranks(values: Floats) -> Floats:
    return (stats.rankdata(np.round(values, 9)) - 1) / (len(values) - 1)


def data(n: int = 300) -> dict[str, Floats]:
    rng = np.random.default_rng(0)
    latent = rng.normal(size=n)
    return {
        "a": latent + rng.normal(size=n),
        "b": 5 * latent + rng.normal(size=n),
        "c": latent + 2 * rng.normal(size=n),
    }


def test_numbers_only_is_pca_of_standardised_columns() -> None:
    scores = data()
    found, wanted = famd(scores), component(np.stack(list(scores.values()), axis=1))
    assert found.min() == 0 and found.max() == 1
    assert abs(stats.spearmanr(found, wanted)[0]) == pytest.approx(1)
    flipped = wanted if np.corrcoef(wanted, scores["a"])[0, 1] > 0 else -wanted
    assert found == pytest.approx(as_ranks(flipped))


def test_a_verdict_weighs_as_a_standardised_column() -> None:
    # Two categories, coded (x - p) / sqrt(p), carry what the standardised 0/1 column carries.
    scores = data()
    scores["judge"] = (scores["a"] + np.random.default_rng(1).normal(size=300) > 1).astype(float)
    wanted = component(np.stack(list(scores.values()), axis=1))
    flipped = wanted if np.corrcoef(wanted, scores["a"])[0, 1] > 0 else -wanted
    assert famd(scores, ["judge"]) == pytest.approx(as_ranks(flipped))


def test_mixed_data_by_the_definition() -> None:
    # Pagès 2004: numbers standardised, the indicator of a category of share p divided by sqrt(p)
    # and centred, then principal components
    scores = data()
    rng = np.random.default_rng(2)
    for name, cut in (("judge", 1.0), ("critic", -0.5)):
        scores[name] = (scores["a"] + rng.normal(size=300) > cut).astype(float)
    columns = []
    for name, values in scores.items():
        if name in ("judge", "critic"):
            for category in (0.0, 1.0):
                indicator = (values == category).astype(float)
                share = indicator.mean()
                columns.append((indicator - share) / np.sqrt(share))
        else:
            columns.append((values - values.mean()) / values.std())
    left, _, _ = np.linalg.svd(np.stack(columns, axis=1), full_matrices=False)
    wanted = left[:, 0] * np.sign(np.corrcoef(left[:, 0], scores["a"])[0, 1])
    assert famd(scores, ["judge", "critic"]) == pytest.approx(as_ranks(wanted))


def test_verdicts_only() -> None:
    scores = {name: (s > 0).astype(float) for name, s in data().items()}
    wanted = component(np.stack(list(scores.values()), axis=1))
    flipped = wanted if np.corrcoef(wanted, scores["a"])[0, 1] > 0 else -wanted
    assert famd(scores, list(scores)) == pytest.approx(as_ranks(flipped))


def test_the_direction_follows_the_scorers_not_their_order() -> None:
    scores = data()
    again = {name: scores[name] for name in reversed(scores)}
    assert famd(again) == pytest.approx(famd(scores))
    down = famd({name: -s for name, s in scores.items()})
    assert down == pytest.approx(1 - famd(scores))


def test_gaps_and_constants() -> None:
    scores = data()
    whole = famd(scores)
    scores["a"][[3, 7]] = np.nan
    scores["flat"] = np.full(300, 0.5)
    found = famd(scores)
    assert np.flatnonzero(np.isnan(found)).tolist() == [3, 7]
    kept = ~np.isnan(found)
    assert found[kept] == pytest.approx(famd({n: s[kept] for n, s in data().items()}))
    assert np.corrcoef(found[kept], whole[kept])[0, 1] > 0.999
    flat = famd({"a": np.ones(4), "b": np.array([0.0, 0.0, 0.0, np.nan])})
    assert flat[:3].tolist() == [0.5] * 3 and np.isnan(flat[3])
    assert np.isnan(famd({"a": np.full(2, np.nan), "b": np.ones(2)})).all()
    assert famd({"a": np.array([1.0, 3.0]), "b": np.ones(2)}).tolist() == [0, 1]


def test_bad_requests() -> None:
    with pytest.raises(UsageError, match="at least two scorers, not a"):
        famd({"a": np.ones(3)})
    with pytest.raises(UsageError, match="unknown scorer of famd 'x'"):
        famd(data(), ["x"])
    with pytest.raises(UsageError, match="same items"):
        famd({"a": np.ones(3), "b": np.ones(2)})


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "prince", None)
    with pytest.raises(UsageError, match=r"pip install prince"):
        famd(data())
