"""The file of a cascade.

A cascade has tiers of scorers, each an ensemble of all scorers so far. ``veridical tune --cascade``
writes it, and the scorer ``cascade`` reads it. Like an ensemble's file, it is not trusted.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from veridical.ensembles.ensemble_file import (
    MOST_BYTES,
    Component,
    Ensemble,
    Fit,
    FittedOn,
    Method,
    Name,
    Share,
    StoredFigure,
    Text,
    UntrustedPart,
)
from veridical.files.trained_files import json_parser, pinned, read_trained

MOST_TIERS = 16
Amount = Annotated[float, Field(ge=0, le=1e12)]


class Cost(UntrustedPart):
    """Average cost of a record. None is unknown, which is never 0.

    ``seconds`` are those of models and processors. ``money`` is for LLM calls, in the currency of
    the endpoints' prices.
    """

    seconds: Amount | None
    money: Amount | None


class Tier(UntrustedPart):
    """A tier of a cascade.

    Attributes:
        components: its scorers, without those of earlier tiers.
        fit: calibrated fit of these and earlier scorers, as the tiers' risks are compared.
        low, high: a record with a risk of at most ``low`` or at least ``high`` stops here; None
            without such an exit. The last tier has no exits.
        costs: cost of each component, not counting requests made before it.
        stopped: share of the graded records that stop here, out of fold.
    """

    name: Name
    components: Annotated[tuple[Component, ...], Field(min_length=1)]
    fit: Fit
    low: Share | None = None
    high: Share | None = None
    costs: dict[Name, Cost]
    stopped: Share

    def stops(self, risk: float) -> bool:
        """Return True if a record with this risk stops here."""
        low, high = self.low, self.high
        return (low is not None and risk <= low) or (high is not None and risk >= high)

    @model_validator(mode="after")
    def _consistent(self) -> Tier:
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError("low must be under high")
        if set(self.costs) != {c.name for c in self.components}:
            raise ValueError("costs must name every component of the tier and no other")
        if self.fit.calibration is None and self.fit.parameters is None:
            raise ValueError("a tier's weights need a calibration")
        return self


class CascadeFigures(UntrustedPart):
    """Out-of-fold figures on the graded records: everything was learned without the respective
    fold.

    Attributes:
        full, cascade: AUROC of the full ensemble, of all graded scorers, and of the cascade.
        kept: the second as a share of the first.
        cost: cost of the cascade, as a share of the full ensemble's.
    """

    folds: Annotated[int, Field(ge=2)]
    seed: Annotated[int, Field(ge=0)]
    full: StoredFigure
    cascade: StoredFigure
    kept: StoredFigure
    cost: Amount


class Cascade(UntrustedPart):
    """A cascade.

    Attributes:
        version: version of veridical that wrote it.
        method: method of all tiers' fits.
        keep: share of the full ensemble's AUROC to keep.
        confidence: confidence of keeping it on the graded records.
        hour: price of an hour of models and processors, relative to money.
        full: cost of the full ensemble: every scorer with a weight in it.
        left_out: graded scorers that it does not use.
    """

    veridical_cascade: Literal[1] = 1
    version: Text
    method: Method
    tiers: Annotated[tuple[Tier, ...], Field(min_length=1, max_length=MOST_TIERS)]
    keep: Annotated[float, Field(gt=0, le=1)]
    confidence: Annotated[float, Field(ge=0.5, lt=1)]
    hour: Amount
    full: Cost
    left_out: tuple[Name, ...] = ()
    fitted_on: FittedOn
    honest: CascadeFigures | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the tiers, in order."""
        return tuple(tier.name for tier in self.tiers)

    @cached_property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Each tier with those before it, as an ensemble.

        Raises:
            ValueError: a tier is invalid.
        """
        components: tuple[Component, ...] = ()
        parts = []
        for tier in self.tiers:
            components += tier.components
            parts.append(
                Ensemble(
                    version=self.version,
                    level="response",
                    method=self.method,
                    components=components,
                    fit=tier.fit,
                    fitted_on=self.fitted_on,
                )
            )
        return tuple(parts)

    @model_validator(mode="after")
    def _consistent(self) -> Cascade:
        if len(set(self.names)) != len(self.names):
            raise ValueError("a tier occurs twice")
        last = self.tiers[-1]
        if last.low is not None or last.high is not None:
            raise ValueError("the last tier has no exits")
        if len(self.ensembles) != len(self.tiers):  # made here, so that errors are raised here
            raise AssertionError
        return self


def read(name: str | Path) -> tuple[Cascade, str]:
    """Read the cascade in a file, and the version of its content (8 hexadecimal digits).

    The path may end in ``@`` and the required version.

    Raises:
        UsageError: the file cannot be read, is not a cascade, or has changed.
    """
    return read_trained(
        name,
        json_parser(Cascade),
        title="cascade",
        command="veridical tune --cascade",
        most=MOST_BYTES,
    )


#: Annotation of a scorer's ``file`` parameter: read and validated when the scorer is bound, and
#: pinned to the file's content.
CascadeFile = Annotated[str, AfterValidator(lambda name: pinned(name, read(name)[1]))]
