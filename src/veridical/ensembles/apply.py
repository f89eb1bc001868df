"""Application of a tuned ensemble to risks.

It is shared by the scorer, tuning and the drift check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from veridical.arrays import Floats
from veridical.ensembles import famd_fit, stacking
from veridical.ensembles.ensemble_file import Boosted, Ensemble, Famd, Fit, Logistic
from veridical.ensembles.graded import DIGITS
from veridical.stats.calibration import Calibration
from veridical.stats.weights import combine


class Applied(NamedTuple):
    """The risk of one record.

    Attributes:
        risk: None if no component is scored.
        missing: components that are not scored.
        weights: weights of the other components, adding up to 1; None unless the ensemble is
            weighted.
    """

    risk: float | None
    missing: tuple[str, ...]
    weights: dict[str, float] | None


def combined(
    weights: Floats | None, parameters: Logistic | Boosted | Famd | None, risks: Floats
) -> Floats:
    """Return (n,) risks before calibration, from (n, k) risks of the components; NaN is not scored.

    Weights are renormalised over the scored components of a row. Learned methods handle missing
    components in their own ways. A row without scored components (of weight) is NaN.
    """
    if weights is not None:
        return combine(risks, weights)
    assert parameters is not None  # checked by the file's model
    model = famd_fit if isinstance(parameters, Famd) else stacking
    predicted: Floats = model.predict(parameters, risks)
    return np.where(np.isnan(risks).all(axis=1), np.nan, predicted)


def risks_of(
    ensemble: Ensemble, risks: Floats, strata: Sequence[str | None] | None = None
) -> Floats:
    """Return (n,) calibrated risks in [0, 1], from (n, k) risks of the components in their order;
    NaN is not scored. ``strata`` has each row's stratum, or None."""
    # rounded as in tuning: otherwise a calibration step or a threshold could fall between
    risks = np.asarray(risks, dtype=np.float64).round(DIGITS)
    if risks.ndim != 2 or risks.shape[1] != len(ensemble.components):
        raise ValueError(f"risks are {risks.shape}, not (n, {len(ensemble.components)})")
    if ensemble.strata is None or strata is None:
        return _calibrated(ensemble, ensemble.fit, risks)
    calibrated = np.full(len(risks), np.nan)
    for stratum in dict.fromkeys(strata):
        here = np.array([s == stratum for s in strata])
        calibrated[here] = _calibrated(ensemble, ensemble.fit_of(stratum), risks[here])
    return calibrated


def risk_of(
    ensemble: Ensemble, risks: Mapping[str, float | None], stratum: str | None = None
) -> Applied:
    """Return the risk of one record (or sentence) from the risks of its components by name."""
    row = [risks.get(name) for name in ensemble.names]
    values = np.array([[np.nan if r is None else r for r in row]])
    risk = float(risks_of(ensemble, values, [stratum])[0])
    missing = tuple(n for n, r in zip(ensemble.names, row, strict=True) if r is None)
    weights = ensemble.fit_of(stratum).weights
    if weights is not None:
        used = {n: weights[n] for n in ensemble.names if n not in missing}
        total = sum(used.values())
        weights = {n: w / total for n, w in used.items()} if total > 0 else {}
    return Applied(None if np.isnan(risk) else risk, missing, weights)


def _calibrated(ensemble: Ensemble, fit: Fit, risks: Floats) -> Floats:
    weights = None
    if fit.weights is not None:
        weights = np.array([fit.weights[name] for name in ensemble.names])
    risk = combined(weights, fit.parameters, risks)
    if fit.calibration is not None:
        risk = Calibration.from_dict(fit.calibration).apply(risk)
    return np.clip(risk, 0.0, 1.0)
