"""Calibration: four maps from risks to probabilities, fitted on graded answers.

All are non-decreasing in the risk, so no two answers change their order. Each is fitted by maximum
likelihood (isotonic: least squares, which has the same solution) to Platt's targets instead of 0
and 1. These are ``(P + 1) / (P + 2)`` for each of the P hallucinated answers and ``1 / (N + 2)``
for each of the N others (Platt 1999, section 2.2). A few answers that are separated without error
thus do not yield certainty, and every parameter is finite.
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from veridical.arrays import Floats
from veridical.errors import UsageError, unknown_name
from veridical.stats.logistic import fit_logistic, sigmoid

METHODS = ("platt", "isotonic", "beta", "temperature")
#: Logarithms clip risks to [EDGE, 1 - EDGE]: the resolution of a probability here.
EDGE = 1e-6
_ROUNDING = 1e-9  # tolerance of a mean of risks outside [0, 1], and of equal risks

Slope = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
_Shares = Annotated[tuple[Share, ...], Field(min_length=1, max_length=100_000, strict=False)]


class Calibration(BaseModel, abc.ABC):
    """A fitted map from risks to probabilities of being hallucinated."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def apply(self, risk: Floats) -> Floats:
        """Return (n,) probabilities in [0, 1], from (n,) risks in [0, 1]; NaN (not scored) stays
        NaN.

        Raises:
            UsageError: a risk is outside [0, 1].
        """
        values = _risks(risk)
        calibrated = np.full(len(values), np.nan)
        scored = ~np.isnan(values)
        calibrated[scored] = self._map(values[scored])
        return calibrated

    @abc.abstractmethod
    def _map(self, risk: Floats) -> Floats: ...

    def as_dict(self) -> dict[str, Any]:
        """Return ``method`` and the fitted numbers in JSON form."""
        return self.model_dump(mode="json")

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Calibration:
        """Restore the output of :meth:`as_dict`.

        Raises:
            ValueError: it is not a calibration, or a decreasing one; the message names the field.
        """
        try:
            return _ANY.validate_python(dict(data))
        except ValidationError as e:
            fault = e.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, ("calibration", *fault["loc"])))
            raise ValueError(f"{where}: {fault['msg']}") from None


class Platt(Calibration):
    """``p = sigmoid(slope r + intercept)`` (Platt 1999, equation 1, with the sign of a risk)."""

    method: Literal["platt"] = "platt"
    slope: Slope
    intercept: float

    def _map(self, risk: Floats) -> Floats:
        return sigmoid(self.slope * risk + self.intercept)


class Temperature(Calibration):
    """``p = sigmoid(logit(r) / T)``, ``inverse`` being ``1 / T`` (Guo 2017, section 4.2)."""

    method: Literal["temperature"] = "temperature"
    inverse: Slope

    def _map(self, risk: Floats) -> Floats:
        return sigmoid(self.inverse * _log_odds(risk).sum(axis=1))


class Beta(Calibration):
    """``p = sigmoid(a ln r - b ln(1 - r) + c)`` (Kull 2017, equation 2)."""

    method: Literal["beta"] = "beta"
    a: Slope
    b: Slope
    c: float

    def _map(self, risk: Floats) -> Floats:
        return sigmoid(_log_odds(risk) @ np.array([self.a, self.b]) + self.c)


class Isotonic(Calibration):
    """The non-decreasing step function of least squares (Zadrozny and Elkan 2002).

    It has the ``values`` at ``risks``, is linear between the ends of its steps and constant outside
    them.
    """

    method: Literal["isotonic"] = "isotonic"
    risks: _Shares
    values: _Shares

    @model_validator(mode="after")
    def _rises(self) -> Isotonic:
        if len(self.risks) != len(self.values):
            raise ValueError(f"{len(self.risks)} risks, but {len(self.values)} values")
        if not all(a < b for a, b in itertools.pairwise(self.risks)):
            raise ValueError("risks must rise")
        if not all(a <= b for a, b in itertools.pairwise(self.values)):
            raise ValueError("values must not fall")
        return self

    def _map(self, risk: Floats) -> Floats:
        return np.interp(risk, self.risks, self.values)


_ANY: TypeAdapter[Calibration] = TypeAdapter(
    Annotated[Platt | Isotonic | Beta | Temperature, Field(discriminator="method")]
)


def fit(method: str, risk: Floats, labels: Floats) -> Calibration:
    """Fit a calibration to graded answers.

    If hallucinated answers do not have higher risks, the best non-decreasing map is constant: every
    answer then gets the same probability (with ``temperature``, 0.5).

    Args:
        method: platt, isotonic, beta or temperature.
        risk: (n,) in [0, 1]; NaN (not scored) is left out.
        labels: (n,) at least 0.5 for hallucinated.

    Raises:
        UsageError: there is no such method, a risk is outside [0, 1], a label is not a number, or
            all answers have one class.
    """
    if method not in METHODS:
        raise unknown_name("calibration", method, METHODS)
    risk, truth = scored(risk, labels)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        raise UsageError(
            f"calibration requires hallucinated and other answers, not {positives} and {negatives}"
        )
    targets = np.where(truth > 0, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    if method == "isotonic":
        return _isotonic(risk, targets)
    if method == "platt":
        (slope,), intercept = _rising(risk[:, None], targets)
        return Platt(slope=slope, intercept=intercept)
    odds = _log_odds(risk)
    if method == "beta":
        (a, b), c = _rising(odds, targets)
        return Beta(a=a, b=b, c=c)
    (inverse,), _ = _rising(odds.sum(axis=1, keepdims=True), targets, intercept=False)
    return Temperature(inverse=inverse)


def assess(risk: Floats, labels: Floats) -> dict[str, Any]:
    """Compute calibration figures on answers that no calibration has seen.

    Args:
        risk, labels: as for :func:`fit`.

    Returns:
        ``n`` and ``positive`` answers. ``ece``, ``mce``, ``brier`` and ``log_loss`` as in
        :mod:`veridical.stats.metrics.calibration`; None if nothing is scored. ``bins`` of the
        reliability diagram (``low``, ``high``, ``n``, ``mean`` risk, ``rate`` of hallucinated).

    Raises:
        UsageError: a risk is outside [0, 1], or a label is not a number.
    """
    from veridical.stats.metrics import calibration as metrics

    risk, truth = scored(risk, labels)
    figures: dict[str, Any] = {"n": len(truth), "positive": int(truth.sum())}
    for metric in (metrics.ece, metrics.mce, metrics.brier, metrics.log_loss):
        figures[metric.__name__] = metric(truth, risk) if len(truth) else None  # type: ignore[attr-defined]
    figures["bins"] = [b.model_dump() for b in metrics.reliability(truth, risk)]
    return figures


def scored(risk: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Return the risks that are not NaN, and their labels as 0 and 1.

    Raises:
        UsageError: the lengths differ, a risk is outside [0, 1], or a label is not a number.
    """
    risk = _risks(risk)
    truth = np.asarray(labels, dtype=np.float64)
    if truth.shape != risk.shape:
        raise UsageError(f"risk {risk.shape} and labels {truth.shape} must have equal lengths")
    bad = np.flatnonzero(~np.isfinite(truth))
    if len(bad):
        raise UsageError(f"labels[{bad[0]}] = {truth[bad[0]]} is not a label")
    known = ~np.isnan(risk)
    return risk[known], (truth[known] >= 0.5).astype(np.float64)


def _risks(risk: Floats) -> Floats:
    values = np.asarray(risk, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"risk {values.shape} must be a vector")
    bad = np.flatnonzero((values < -_ROUNDING) | (values > 1 + _ROUNDING))
    if len(bad):
        raise UsageError(f"risk[{bad[0]}] = {values[bad[0]]} is not in [0, 1]")
    return np.clip(values, 0.0, 1.0)


def _isotonic(risk: Floats, targets: Floats) -> Isotonic:
    from scipy.optimize import isotonic_regression

    at, member, count = np.unique(risk, return_inverse=True, return_counts=True)
    mean = np.bincount(member, weights=targets) / count
    level = np.asarray(isotonic_regression(mean, weights=count).x)
    # only the two ends of each step are kept
    inner = np.zeros(len(at), dtype=np.bool_)
    inner[1:-1] = (level[1:-1] == level[:-2]) & (level[1:-1] == level[2:])
    return Isotonic(risks=tuple(at[~inner].tolist()), values=tuple(level[~inner].tolist()))


def _log_odds(risk: Floats) -> Floats:
    """Return (n, 2): ``ln r`` and ``-ln(1 - r)``, whose sum is the log-odds."""
    p = np.clip(risk, EDGE, 1 - EDGE)
    return np.stack([np.log(p), -np.log1p(-p)], axis=1)


def _rising(
    features: Floats, targets: Floats, *, intercept: bool = True
) -> tuple[list[float], float]:
    """Return non-negative coefficients (d,) and the intercept of the logistic regression of highest
    likelihood.

    The loss is convex: if the free optimum has a negative coefficient, the bounded one has some
    coefficients 0. It is the best of all such optima without a negative coefficient.

    Args:
        features: (n, d), d small; a constant one has coefficient 0.
        targets: (n,), between 0 and 1.
    """
    d = features.shape[1]
    centre = features.mean(axis=0) if intercept else np.zeros(d)
    spread = np.sqrt(np.mean((features - centre) ** 2, axis=0))
    varies = spread > _ROUNDING
    scale = np.where(varies, spread, 1.0)
    design = np.where(varies, (features - centre) / scale, 0.0)
    best = None
    for size in range(d, -1, -1):
        for used in map(list, itertools.combinations(range(d), size)):
            fitted = fit_logistic(design[:, used], targets, intercept=intercept)
            if (best is None or fitted.loss < best.loss) and (fitted.coefficients >= 0).all():
                coefficients = np.zeros(d)
                coefficients[used] = fitted.coefficients
                best = fitted._replace(coefficients=coefficients / scale)
        if size == d and best is not None:
            break  # the free optimum
    assert best is not None  # with no coefficients, no coefficient is negative
    return best.coefficients.tolist(), float(best.intercept - best.coefficients @ centre)
