"""Rows that statistics fill and a benchmark stores."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

#: Of what is stored: an unknown field is an error.
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
    """A scorer's place in the critical-difference view: its mean rank over the resamples."""

    model_config = STORED_MODEL
    scorer: str
    rank: float
    value: float


class Bin(BaseModel):
    """A bin of a reliability diagram or of response lengths: ``mean`` predicted (or accuracy),
    ``rate`` of positives observed."""

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
