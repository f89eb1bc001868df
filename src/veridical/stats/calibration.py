"""From a risk that ranks to one that is a probability: four maps, each fitted on graded answers.

All of them rise with the risk or stay level, so no two answers change their order. Each is fitted
by maximum likelihood (isotonic: least squares, which has the same solution) of Platt's targets
instead of 0 and 1: ``(P + 1) / (P + 2)`` for each of the P hallucinated answers and ``1 / (N + 2)``
for each of the N others (Platt 1999, section 2.2). So a few answers that happen to be parted
without error do not make a certainty, and every parameter is finite.
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
#: Logarithms take risks to be in [EDGE, 1 - EDGE]: the resolution of a probability here.
EDGE = 1e-6
_ROUNDING = 1e-9  # by which a mean of risks may leave [0, 1], and equal risks may differ

Slope = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
_Shares = Annotated[tuple[Share, ...], Field(min_length=1, max_length=100_000, strict=False)]


class Calibration(BaseModel, abc.ABC):
    """A fitted map of risks to probabilities of being hallucinated."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    def apply(self, risk: Floats) -> Floats:
        """(n,) probabilities in [0, 1], of (n,) risks in [0, 1]; NaN, not scored, stays NaN.

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
        """``method`` and the fitted numbers, as JSON takes them."""
        return self.model_dump(mode="json")

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Calibration:
        """What :meth:`as_dict` gave.

        Raises:
            ValueError: it is none, or one that falls; names the field.
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
    """The rising step function of least squares (Zadrozny and Elkan 2002), linear between the ends
    of its steps, level outside them: ``values`` at ``risks``."""

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
    """The calibration of one kind that suits graded answers best.

    Where hallucinated answers do not have the higher risks, the best rising map is level: every
    answer then gets the same probability (with ``temperature``, 0.5).

    Args:
        method: platt, isotonic, beta or temperature.
        risk: (n,) in [0, 1]; NaN, not scored, is left out.
        labels: (n,) at least 0.5 for hallucinated.

    Raises:
        UsageError: there is no such method, a risk is outside [0, 1], a label is no number, or
            the answers are not of both kinds.
    """
    if method not in METHODS:
        raise unknown_name("calibration", method, METHODS)
    risk, truth = scored(risk, labels)
    positives = int(truth.sum())
    negatives = len(truth) - positives
    if not positives or not negatives:
        raise UsageError(
            f"calibration needs hallucinated and other answers, got {positives} and {negatives}"
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
    """How far risks are probabilities, for answers that no calibration has seen.

    Args:
        risk, labels: as of :func:`fit`.

    Returns:
        ``n`` and ``positive`` answers; ``ece``, ``mce``, ``brier`` and ``log_loss`` as of
        :mod:`veridical.stats.metrics.calibration`, None where nothing is scored; ``bins`` of
        the reliability diagram (``low``, ``high``, ``n``, ``mean`` risk, ``rate`` of
        hallucinated).

    Raises:
        UsageError: a risk is outside [0, 1], or a label is no number.
    """
    from veridical.stats.metrics import calibration as metrics

    risk, truth = scored(risk, labels)
    figures: dict[str, Any] = {"n": len(truth), "positive": int(truth.sum())}
    for metric in (metrics.ece, metrics.mce, metrics.brier, metrics.log_loss):
        figures[metric.__name__] = metric(truth, risk) if len(truth) else None  # type: ignore[attr-defined]
    figures["bins"] = [b.model_dump() for b in metrics.reliability(truth, risk)]
    return figures


def scored(risk: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Risks that are not NaN, and the labels of these as 0 and 1.

    Raises:
        UsageError: they differ in length, a risk is outside [0, 1], or a label is no number.
    """
    risk = _risks(risk)
    truth = np.asarray(labels, dtype=np.float64)
    if truth.shape != risk.shape:
        raise UsageError(f"risk {risk.shape} and labels {truth.shape} must be of one length")
    bad = np.flatnonzero(~np.isfinite(truth))
    if len(bad):
        raise UsageError(f"labels[{bad[0]}] = {truth[bad[0]]} is no label")
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
    # Of each step only its two ends are kept.
    inner = np.zeros(len(at), dtype=np.bool_)
    inner[1:-1] = (level[1:-1] == level[:-2]) & (level[1:-1] == level[2:])
    return Isotonic(risks=tuple(at[~inner].tolist()), values=tuple(level[~inner].tolist()))


def _log_odds(risk: Floats) -> Floats:
    """(n, 2): ``ln r`` and ``-ln(1 - r)``, which add up to the log-odds."""
    p = np.clip(risk, EDGE, 1 - EDGE)
    return np.stack([np.log(p), -np.log1p(-p)], axis=1)


def _rising(
    features: Floats, targets: Floats, *, intercept: bool = True
) -> tuple[list[float], float]:
    """Coefficients (d,), none below 0, and intercept of the logistic regression of highest
    likelihood.

    The loss is convex: where the free optimum has a negative coefficient, the bounded one lies
    where some coefficients are 0, so of all such optima with no negative one it is the best.

    Args:
        features: (n, d), d small; one that does not vary has coefficient 0.
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
    assert best is not None  # without any coefficient none is negative
    return best.coefficients.tolist(), float(best.intercept - best.coefficients @ centre)
