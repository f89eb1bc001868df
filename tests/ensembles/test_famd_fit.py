"""FAMD as a function of one record, against the factor analysis of a whole set and against PCA."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.ensembles.famd_fit import fit, predict
from veridical.errors import UsageError

pytest.importorskip("prince")

RNG = np.random.default_rng(3)
TRUTH = RNG.random(300)
NOISY = np.column_stack([np.clip(TRUTH + RNG.normal(0, s, 300), 0, 1) for s in (0.1, 0.2, 0.4)])
MIXED = np.column_stack([NOISY, TRUTH + RNG.normal(0, 0.2, 300) > 0.6]).astype(float)
VERDICTS = (NOISY > 0.5).astype(float)


@pytest.mark.parametrize(
    ("risks", "binary"),
    [(NOISY, [False] * 3), (MIXED, [False] * 3 + [True]), (VERDICTS, [True] * 3)],
    ids=["numbers", "mixed", "verdicts"],
)
def test_fitted_rows_get_the_ranks_of_the_analysis_of_the_whole(risks, binary) -> None:
    from veridical.stats.famd import famd

    names = [f"s{i}" for i in range(risks.shape[1])]
    whole = famd(
        dict(zip(names, risks.T, strict=True)),
        binary=[n for n, b in zip(names, binary, strict=True) if b],
    )
    assert predict(fit(risks, binary), risks) == pytest.approx(whole, abs=1e-9)


def test_numbers_alone_are_a_principal_component_of_standardised_columns() -> None:
    standard = (NOISY - NOISY.mean(axis=0)) / NOISY.std(axis=0)
    _, _, axes = np.linalg.svd(standard, full_matrices=False)
    component = standard @ (axes[0] * np.sign(axes[0].sum()))
    parameters = fit(NOISY, [False] * 3)
    mine = parameters.intercept + NOISY @ np.array(parameters.coefficients)
    assert np.corrcoef(mine, component)[0, 1] == pytest.approx(1, abs=1e-9)
    assert all(c > 0 for c in parameters.coefficients)


def test_new_rows_stay_in_range_and_grow_with_each_scorer() -> None:
    parameters = fit(MIXED, [False] * 3 + [True])
    for j in range(4):
        rows = np.tile([0.5, 0.5, 0.5, 0.0], (11, 1))
        rows[:, j] = np.linspace(0, 1, 11)
        made = predict(parameters, rows)
        assert np.all(np.diff(made) >= 0) and made.min() >= 0 and made.max() <= 1


def test_what_is_missing_takes_the_mean() -> None:
    parameters = fit(MIXED, [False] * 3 + [True])
    means = MIXED.mean(axis=0)
    whole = np.array([[0.2, means[1], 0.7, 1.0]])
    cut = np.array([[0.2, np.nan, 0.7, 1.0]])
    assert predict(parameters, cut) == pytest.approx(predict(parameters, whole))


def test_rows_with_gaps_are_left_out_of_the_fit() -> None:
    gaps = np.vstack([MIXED, [[np.nan, 0.0, 1.0, 1.0]] * 50])
    binary = [False] * 3 + [True]
    assert fit(gaps, binary) == fit(MIXED, binary)


def test_scorers_that_tell_nothing_apart_give_the_middle() -> None:
    parameters = fit(np.full((5, 2), 0.3), [False, False])
    assert predict(parameters, np.array([[0.3, 0.3], [0.9, 0.1]])).tolist() == [0.5, 0.5]
    one = fit(np.column_stack([np.full(5, 0.3), np.linspace(0, 1, 5)]), [False, False])
    assert predict(one, np.array([[0.9, 0.0], [0.1, 1.0]])).tolist() == [0.0, 1.0]


def test_too_little_is_refused() -> None:
    with pytest.raises(UsageError, match="two scorers"):
        fit(NOISY[:, :1], [False])
    with pytest.raises(UsageError, match="2 such records"):
        fit(NOISY[:2], [False] * 3)
