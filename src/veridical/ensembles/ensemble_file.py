"""The file of a tuned ensemble: JSON, versioned, complete, and refused where anything is off.

``veridical tune`` writes it; the scorers ``ensemble`` and ``famd``, policies and the drift check
read it. It may come from anywhere, so nothing in it is trusted: types, ranges, sizes and how its
parts fit together are checked when it is read.
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
_ROUNDING = 1e-6  # of weights that add up to 1

Method = Literal["weighted", "logistic", "boosted", "famd"]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Text = Annotated[str, Field(max_length=4096)]
Name = Annotated[str, Field(min_length=1, max_length=4096)]


class UntrustedPart(BaseModel):
    """A part of a file that is not trusted."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        defer_build=True,  # every start imports this, few read a file
    )


class Component(UntrustedPart):
    """One scorer of the ensemble.

    Attributes:
        scorer: its call, as :attr:`~veridical.core.registry.BoundScorer.spec` writes it.
        part: which of its risks: the one of the ``response``, or, in ensembles of sentences, that
            of the sentence's own ``unit``.
        signature: that of its scores when the ensemble was tuned: models, prompts, parameters.
    """

    scorer: Name
    part: Literal["response", "unit"] = "response"
    signature: Name

    @property
    def name(self) -> str:
        """Distinct within the ensemble."""
        return self.scorer if self.part == "response" else f"{self.scorer}/unit"


class Logistic(UntrustedPart):
    """``log_odds = intercept + sum_i coefficients_i (x_i - mean_i) / scale_i``; a component that
    is not scored takes its mean. Lists are in the order of the components."""

    kind: Literal["logistic"] = "logistic"
    intercept: Number
    coefficients: tuple[Number, ...]
    mean: tuple[Share, ...]
    scale: tuple[Annotated[float, Field(gt=0, le=1e9)], ...]


class Tree(UntrustedPart):
    """A regression tree as arrays over its nodes, the root first.

    A node with ``feature`` -1 is a leaf and gives ``value``. Elsewhere ``x <= threshold`` goes
    ``left``, a larger one ``right``, one not scored ``left`` where ``missing_left`` says so.
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
    """First component of a factor analysis of mixed data, ``intercept + sum_i coefficients_i x_i``
    with ``x_i`` cut at 0.5 where ``binary``, and the ``quantiles`` at which its ``values`` stand
    in the fitted data (linear between them)."""

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


class Promise(UntrustedPart):
    """What a threshold guarantees: at most ``alpha`` of the accepted (risk <= ``threshold``) are
    hallucinated, with probability 1 - ``delta``; or why nothing can be promised."""

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
    """What was fitted, on all graded records or on those of one stratum.

    Attributes:
        weights: by component name, at least 0, adding up to 1; of the method ``weighted``.
        parameters: of the other methods.
        calibration: applied last (see :class:`veridical.stats.calibration.Calibration`).
        threshold: a risk at or above which the answer counts as hallucinated; like ``guarantee``,
            on the scale of the calibrated risk.
        n, positive: records (or sentences) fitted on, and hallucinated ones among them.
    """

    weights: dict[Name, Share] | None = None
    parameters: Parameters | None = None
    calibration: dict[str, Any] | None = None
    threshold: Share | None = None
    guarantee: Promise | None = None
    n: Count
    positive: Count


class Strata(UntrustedPart):
    """Fits by the values of a field of the records' ``meta``; others have the overall fit.

    ``simultaneous``: the guarantees of all of them hold at once with probability 1 minus this;
    None where each holds by itself."""

    by: Name
    of: Annotated[dict[Name, Fit], Field(max_length=MOST_STRATA)]
    simultaneous: Annotated[float, Field(gt=0, lt=1)] | None = None


class StoredObjective(UntrustedPart):
    """What the weights were chosen by, and the class whose precision and recall are meant."""

    name: Name
    joint: bool = False
    beta: Annotated[float, Field(gt=0, le=1e3)] = 1.0
    positive: Literal["hallucinated", "correct"] = "hallucinated"


class FittedOn(UntrustedPart):
    """The graded data: n units, ``positive`` of them hallucinated, and what graded them."""

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
    """Out-of-fold figures: the ensemble's, beside those of each component on the same rows."""

    metric: Name
    folds: Count
    seed: Count
    ensemble: StoredFigure
    components: dict[Name, StoredFigure]
    weights: dict[Name, StoredFigure] | None = None  # bootstrap intervals
    not_helping: tuple[Name, ...] = ()
    p_best: Share | None = None  # paired test against the best component


class Reference(UntrustedPart):
    """How risks were spread when it was tuned, for the drift check: for each component, and for
    ``ensemble``, quantiles at even steps from the least to the largest, the share that was not
    scored, and how many independent targets the scored ones count for (without: all)."""

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
        version: of veridical, that wrote it.
        level: what was fitted: risks of responses, or of their sentences.
        models, prompts: what its components asked, for the reader; their signatures bind.
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
        """The components' names, in order."""
        return tuple(c.name for c in self.components)

    @cached_property
    def scorers(self) -> dict[str, BoundScorer]:
        """The components' scorers by their text in the file.

        Raises:
            UsageError: one is unknown here, is another version of it, or is an ensemble itself.
        """
        from veridical.core.registry import REGISTRY

        scorers = {}
        for component in self.components:
            bound = REGISTRY.parse(component.scorer)
            if len(bound) != 1:
                raise UsageError(f"component {component.scorer!r} is not one scorer")
            if bound[0].scorer.parts is not None:  # perhaps of this very file
                raise UsageError(f"component {component.scorer!r} is made of other scorers")
            if not bound[0].may_sign(component.signature):
                raise UsageError(
                    f"component {component.scorer!r} was tuned as {component.signature!r}, "
                    f"and is {bound[0].signature()!r} now: tune again"
                )
            scorers[component.scorer] = bound[0]
        return scorers

    def fit_of(self, stratum: str | None) -> Fit:
        """The fit for a record of that stratum; the overall one where it has none of its own."""
        if self.strata is None or stratum is None:
            return self.fit
        return self.strata.of.get(stratum, self.fit)

    @model_validator(mode="after")
    def _consistent(self) -> Ensemble:
        if len(set(self.names)) != len(self.names):
            raise ValueError("a component is there twice")
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
    """The ensemble in the file of that path, and the version of its content (8 hexadecimal digits).

    The path may end in ``@`` and the version that it must have.

    Raises:
        UsageError: the file cannot be read, is no ensemble, or has changed.
    """
    return read_trained(
        name,
        json_parser(Ensemble),
        title="ensemble",
        command="veridical tune",
        most=MOST_BYTES,
    )


#: Annotation of a scorer's ``file`` parameter: read and checked when the scorer is bound, and
#: pinned to the file's content.
EnsembleFile = Annotated[str, AfterValidator(lambda name: pinned(name, read(name)[1]))]


def _fits(parameters: Logistic | Boosted | Famd, k: int) -> None:
    if isinstance(parameters, Boosted):
        if any(f >= k for tree in parameters.trees for f in tree.feature):
            raise ValueError("a tree asks for a component that is not there")
        return
    columns: Mapping[str, Any] = parameters.model_dump(
        include={"coefficients", "mean", "scale", "binary"}
    )
    for name, column in columns.items():
        if len(column) != k:
            raise ValueError(f"{name} has {len(column)} numbers for {k} components")


def _increasing(values: tuple[float, ...], strictly: bool = False) -> bool:
    return all(a < b or (a == b and not strictly) for a, b in itertools.pairwise(values))
