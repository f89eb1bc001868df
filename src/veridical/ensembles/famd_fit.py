"""FAMD without labels: fitted once, then applied to single records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats
from veridical.ensembles.ensemble_file import Famd
from veridical.errors import UsageError

_POINTS = 1001  # entries of the quantile table
_DIGITS = 10  # decimals of a component; rounding differences are ties


def fit(risks: Floats, binary: Sequence[bool]) -> Famd:
    """Fit the first component of a factor analysis of mixed data (Pagès 2004).

    This is the ensemble of Mirage (section 2), oriented to grow with the mean of the scorers'
    ranks. No labels are used. For numbers and two-valued verdicts the component is a linear
    function of them, and is stored as one. On the fitted rows it equals
    :func:`veridical.stats.famd.famd`, up to the steps of the table if they have more than 1001
    distinct values.

    Args:
        risks: (n, k); NaN is not scored. Rows with NaN are left out of the fit.
        binary: (k,) True for verdicts, which enter as categories, cut at 0.5.

    Raises:
        UsageError: there are fewer than two columns or three complete rows, or the ``meta`` extra
            is not installed.
    """
    from veridical.stats.famd import first_component, ranks

    k = risks.shape[1]
    whole = risks[~np.isnan(risks).any(axis=1)]
    if k < 2 or len(whole) < 3:
        raise UsageError(
            f"famd requires at least two scorers and three records that all of them score, not "
            f"{k} scorers and {len(whole)} such records"
        )
    x = _cut(whole, binary)
    varies = [j for j in range(k) if np.ptp(x[:, j]) > 0]
    coefficients = np.zeros(k)
    intercept = 0.0
    if varies:
        names = [str(j) for j in varies]
        component = first_component(x[:, varies], names, [binary[j] for j in varies])
        design = np.column_stack([np.ones(len(x)), x[:, varies]])
        solved = np.linalg.lstsq(design, component, rcond=None)[0]
        intercept, coefficients[varies] = float(solved[0]), solved[1:]
    component = np.round(intercept + x @ coefficients, _DIGITS)
    values, first = np.unique(component, return_index=True)
    quantiles = ranks(component)[first] if varies else np.array([0.5])
    if len(values) > _POINTS:
        steps = np.round(np.linspace(0, len(values) - 1, _POINTS)).astype(np.int64)
        values, quantiles = values[steps], quantiles[steps]
    return Famd(
        intercept=intercept,
        coefficients=tuple(coefficients.tolist()),
        binary=tuple(map(bool, binary)),
        mean=tuple(np.clip(x.mean(axis=0), 0.0, 1.0).tolist()),
        values=tuple(values.tolist()),
        quantiles=tuple(quantiles.tolist()),
    )


def predict(parameters: Famd, risks: Floats) -> Floats:
    """Return (n,) quantiles, in [0, 1], of the component of (n, k) risks. A missing risk (NaN)
    takes its mean in the fitted data."""
    binary = parameters.binary
    mean = np.array(parameters.mean)
    x = np.where(np.isnan(risks), mean, _cut(risks, binary))
    component = parameters.intercept + x @ np.array(parameters.coefficients)
    quantiles = np.interp(np.round(component, _DIGITS), parameters.values, parameters.quantiles)
    return np.asarray(quantiles, dtype=np.float64)


def _cut(risks: Floats, binary: Sequence[bool]) -> Floats:
    return np.where(np.asarray(binary), np.where(risks >= 0.5, 1.0, 0.0), risks)
