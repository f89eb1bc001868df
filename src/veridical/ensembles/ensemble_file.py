"""The file of a tuned ensemble: versioned, complete JSON, fully validated.

``veridical tune`` writes it; the scorers ``ensemble`` and ``famd``, policies and the drift check
read it. It may come from anywhere, so it is not trusted: types, ranges, sizes and consistency are
checked when it is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    model_validator,
)

from veridical.errors import UsageError
from veridical.files.trained_files import json_parser, pinned, read_trained

if TYPE_CHECKING:
    from veridical.core.registry import BoundScorer

MOST_BYTES = 16 << 20
MOST_COMPONENTS = 64
MOST_STRATA = 1000
_ROUNDING = 1e-6  # tolerance for weights that add up to 1

Method = Literal["weighted", "logistic", "boosted", "famd"]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Text = Annotated[str, Field(max_length=4096)]
Name = Annotated[str, Field(min_length=1, max_length=4096)]


class UntrustedPart(BaseModel):
    """A part of an untrusted file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # every start imports this, but few read a file
    )


class Component(UntrustedPart):
    """One scorer of the ensemble.

    Attributes:
        scorer: its call, as in :attr:`~veridical.core.registry.BoundScorer.spec`.
        part: the risk used: that of the ``response`` or, in ensembles of sentences, that of the
            sentence's own ``unit``.
        signature: signature of its scores in tuning: models, prompts, parameters.
    """

    scorer: Name
    part: Literal["response", "unit"] = "response"
    signature: Name

    @property
    def name(self) -> str:
        """Name that is unique within the ensemble."""
        return self.scorer if self.part == "response" else f"{self.scorer}/unit"


class Logistic(UntrustedPart):
    """``log_odds = intercept + sum_i coefficients_i (x_i - mean_i) / scale_i``. A component that is
    not scored takes its mean. Lists are in the order of the components."""

    kind: Literal["logistic"] = "logistic"
    intercept: Number
    coefficients: tuple[Number, ...]
    mean: tuple[Share, ...]
    scale: tuple[Annotated[float, Field(gt=0, le=1e9)], ...]


class Tree(UntrustedPart):
    """A regression tree as arrays over its nodes, the root first.

    A node with ``feature`` -1 is a leaf with ``value``. At other nodes ``x <= threshold`` goes
    ``left``, a larger value ``right``, and a missing one ``left`` if ``missing_left`` is true.
    """

    feature: Annotated[tuple[Annotated[int, Field(ge=-1)], ...], Field(min_length=1)]
    threshold: tuple[Number, ...]
    left: tuple[Count, ...]
    right: tuple[Count, ...]
    missing_left: tuple[bool, ...]
    value: tuple[Number, ...]

    @model_validator(mode="after")
    def _whole(self) -> Tree:
        n = len(self.feature)
        columns = (self.threshold, self.left, self.right, self.missing_left, self.value)
        if n > 4096 or any(len(c) != n for c in columns):
            raise ValueError("a tree's arrays differ in length or have over 4096 nodes")
        for i, (feature, left, right) in enumerate(
            zip(self.feature, self.left, self.right, strict=True)
        ):
            if feature >= 0 and not (i < left < n and i < right < n):
                raise ValueError("a tree's children must come after their parent")
        return self


class Boosted(UntrustedPart):
    """``log_odds = baseline + sum of the leaves' values``."""

    kind: Literal["boosted"] = "boosted"
    baseline: Number
    trees: Annotated[tuple[Tree, ...], Field(max_length=2000)]


class Famd(UntrustedPart):
    """First component of a factor analysis of mixed data.\n\nIt is ``intercept + sum_i
    coefficients_i x_i`` with ``x_i`` cut at 0.5 if ``binary``. ``quantiles`` are those of its
    ``values`` in the fitted data, interpolated linearly."""

    kind: Literal["famd"] = "famd"
    intercept: Number
    coefficients: tuple[Number, ...]
    binary: tuple[bool, ...]
    mean: tuple[Share, ...]
    values: Annotated[tuple[Number, ...], Field(min_length=1, max_length=1001)]
    quantiles: tuple[Share, ...]

    @model_validator(mode="after")
    def _monotone(self) -> Famd:
        if len(self.values) != len(self.quantiles):
            raise ValueError("values and quantiles differ in length")
        if not (_increasing(self.values, strictly=True) and _increasing(self.quantiles)):
            raise ValueError("values and quantiles must increase")
        return self


Parameters = Annotated[Logistic | Boosted | Famd, Field(discriminator="kind")]


class StoredGuarantee(UntrustedPart):
    """Guarantee of a threshold, or the reason why there is no guarantee.

    At most ``alpha`` of the accepted (risk <= ``threshold``) are hallucinated, with probability
    1 - ``delta``.
    """

    method: Literal["ltt", "crc"]
    alpha: Annotated[float, Field(gt=0, lt=1)]
    delta: Annotated[float, Field(gt=0, lt=1)] | None = None
    threshold: Share | None
    reason: Text | None = None
    n: Count
    accepted: Share | None = None
    observed: Share | None = None
    bound: Share | None = None


class Fit(UntrustedPart):
    """A fit to all graded records or to those of one stratum.

    Attributes:
        weights: weights by component name, at least 0, adding up to 1; for the method
            ``weighted``.
        parameters: parameters of the other methods.
        calibration: applied last (see :class:`veridical.stats.calibration.Calibration`).
        threshold: risk at or above which the answer counts as hallucinated; like ``guarantee``,
            on the scale of the calibrated risk.
        n, positive: fitted records (or sentences), and hallucinated ones among them.
    """

    weights: dict[Name, Share] | None = None
    parameters: Parameters | None = None
    calibration: dict[str, Any] | None = None
    threshold: Share | None = None
    guarantee: StoredGuarantee | None = None
    n: Count
    positive: Count


class Strata(UntrustedPart):
    """Fits by the values of a field of the records' ``meta``; other records use the overall fit.

    ``simultaneous``: all guarantees hold together with probability 1 minus this; None if each holds
    separately.
    """

    by: Name
    of: Annotated[dict[Name, Fit], Field(max_length=MOST_STRATA)]
    simultaneous: Annotated[float, Field(gt=0, lt=1)] | None = None


class StoredObjective(UntrustedPart):
    """Objective of the weights, and the positive class of precision and recall."""

    name: Name
    joint: bool = False
    beta: Annotated[float, Field(gt=0, le=1e3)] = 1.0
    positive: Literal["hallucinated", "correct"] = "hallucinated"


class FittedOn(UntrustedPart):
    """The graded data: n units, ``positive`` of them hallucinated, and the source of the labels."""

    file: Text
    fingerprint: Text
    n: Count
    positive: Count
    groups: Count
    labels: Text


class StoredFigure(UntrustedPart):
    """A figure with its 95 % interval."""

    value: Number
    low: Number | None = None
    high: Number | None = None


class Honest(UntrustedPart):
    """Out-of-fold figures of the ensemble and of each component, on the same rows."""

    metric: Name
    folds: Count
    seed: Count
    ensemble: StoredFigure
    components: dict[Name, StoredFigure]
    weights: dict[Name, StoredFigure] | None = None  # bootstrap intervals
    not_helping: tuple[Name, ...] = ()
    p_best: Share | None = None  # paired test against the best component


class Reference(UntrustedPart):
    """Distribution of risks in tuning, for the drift check.

    For each component, and for ``ensemble``, it has quantiles at even steps from the least to the
    largest. It also has the share that was not scored, and the number of independent targets for
    which the scored ones count (default: all).
    """

    n: Count
    quantiles: dict[Name, Annotated[tuple[Share, ...], Field(max_length=1001)]]
    not_scored: dict[Name, Share]
    effective: dict[Name, Annotated[float, Field(gt=0, le=1e12)]] = {}

    @model_validator(mode="after")
    def _sorted(self) -> Reference:
        if not all(_increasing(q) for q in self.quantiles.values()):
            raise ValueError("quantiles must not fall")
        return self


class Ensemble(UntrustedPart):
    """A tuned ensemble.

    Attributes:
        version: version of veridical that wrote it.
        level: unit of the fit: responses, or their sentences.
        models, prompts: models and prompts of its components, for information; their signatures
            are binding.
    """

    veridical_ensemble: Literal[1] = 1
    version: Text
    level: Literal["response", "sentence"]
    method: Method
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=MOST_COMPONENTS)]
    fit: Fit
    strata: Strata | None = None
    objective: StoredObjective | None = None
    fitted_on: FittedOn
    honest: Honest | None = None
    reference: Reference | None = None
    models: tuple[Text, ...] = ()
    prompts: tuple[Text, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the components, in order."""
        return tuple(c.name for c in self.components)

    @cached_property
    def scorers(self) -> dict[str, BoundScorer]:
        """Scorers of the components by their text in the file.

        Raises:
            UsageError: a scorer is unknown, has another version, or is an ensemble itself.
        """
        from veridical.core.registry import REGISTRY

        scorers = {}
        for component in self.components:
            bound = REGISTRY.parse(component.scorer)
            if len(bound) != 1:
                raise UsageError(f"component {component.scorer!r} is not a single scorer")
            if bound[0].scorer.parts is not None:  # possibly of this file
                raise UsageError(f"component {component.scorer!r} is an ensemble itself")
            if not bound[0].may_sign(component.signature):
                raise UsageError(
                    f"component {component.scorer!r} was tuned as {component.signature!r}, "
                    f"but is {bound[0].signature()!r} now; tune again"
                )
            scorers[component.scorer] = bound[0]
        return scorers

    def fit_of(self, stratum: str | None) -> Fit:
        """Return the fit for a record of a stratum; the overall one unless the stratum has its
        own."""
        if self.strata is None or stratum is None:
            return self.fit
        return self.strata.of.get(stratum, self.fit)

    @model_validator(mode="after")
    def _consistent(self) -> Ensemble:
        if len(set(self.names)) != len(self.names):
            raise ValueError("a component occurs twice")
        if self.level == "response" and any(c.part == "unit" for c in self.components):
            raise ValueError("an ensemble of responses has no unit components")
        for fit in (self.fit, *(self.strata.of.values() if self.strata else ())):
            self._check(fit)
        return self

    def _check(self, fit: Fit) -> None:
        if self.method == "weighted":
            if fit.weights is None or set(fit.weights) != set(self.names):
                raise ValueError("weights must name every component and no other")
            if abs(sum(fit.weights.values()) - 1) > _ROUNDING:
                raise ValueError("weights must add up to 1")
            if fit.parameters is not None:
                raise ValueError("a weighted ensemble has no parameters")
        else:
            if fit.parameters is None or fit.parameters.kind != self.method:
                raise ValueError(f"parameters must be of kind {self.method!r}")
            if fit.weights is not None:
                raise ValueError(f"a {self.method} ensemble has no weights")
            _fits(fit.parameters, len(self.components))
        if fit.calibration is not None:
            from veridical.stats.calibration import Calibration

            Calibration.from_dict(fit.calibration)


def read(name: str | Path) -> tuple[Ensemble, str]:
    """Read the ensemble in a file, and the version of its content (8 hexadecimal digits).

    The path may end in ``@`` and the required version.

    Raises:
        UsageError: the file cannot be read, is not an ensemble, or has changed.
    """
    return read_trained(
        name,
        json_parser(Ensemble),
        title="ensemble",
        command="veridical tune",
        most=MOST_BYTES,
    )


#: Annotation of a scorer's ``file`` parameter: read and validated when the scorer is bound, and
#: pinned to the file's content.
EnsembleFile = Annotated[str, AfterValidator(lambda name: pinned(name, read(name)[1]))]


def _fits(parameters: Logistic | Boosted | Famd, k: int) -> None:
    if isinstance(parameters, Boosted):
        if any(f >= k for tree in parameters.trees for f in tree.feature):
            raise ValueError("a tree refers to a component that does not exist")
        return
    columns: Mapping[str, Any] = parameters.model_dump(
        include={"coefficients", "mean", "scale", "binary"}
    )
    for name, column in columns.items():
        if len(column) != k:
            raise ValueError(f"{name} has {len(column)} numbers for {k} components")


def _increasing(values: tuple[float, ...], strictly: bool = False) -> bool:
    return all(a < b or (a == b and not strictly) for a, b in itertools.pairwise(values))
