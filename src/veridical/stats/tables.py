"""Stored rows of statistics in benchmark results."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

#: Configuration of stored models: an unknown field is an error.
STORED_MODEL = ConfigDict(extra="forbid")


class Comparison(BaseModel):
    """A paired comparison of two scorers on one metric: ``difference`` is a minus b."""

    model_config = STORED_MODEL
    a: str
    b: str
    metric: str
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    p_bootstrap: float | None
    p_permutation: float | None = None
    p_delong: float | None = None
    p_holm: float | None = None


class Rank(BaseModel):
    """A scorer's mean rank over the resamples, in the critical-difference view."""

    model_config = STORED_MODEL
    scorer: str
    rank: float
    value: float


class Bin(BaseModel):
    """A bin of a reliability diagram or of response lengths: ``mean`` predicted (or accuracy), and
    observed ``rate`` of positives."""

    model_config = STORED_MODEL
    low: float
    high: float
    n: int
    mean: float | None
    rate: float | None


class Histogram(BaseModel):
    """Counts of risks by bin, for positive and negative targets."""

    model_config = STORED_MODEL
    edges: list[float]
    positive: list[int]
    negative: list[int]
