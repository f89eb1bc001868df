"""Result of a ranking of models.

Every view is made from a :class:`Ranking`. Figures are fractions, null if undefined.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from veridical.stats.tables import Comparison

_STORED = ConfigDict(extra="forbid")


class Rate(BaseModel):
    """Rate with its 95 % interval over prompts.

    Rates that models are ranked by also have a ``rank`` and its interval: 1 is the lowest rate;
    equal ones share the mean.
    """

    model_config = _STORED
    value: float | None
    low: float | None = None
    high: float | None = None
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None


class ModelRates(BaseModel):
    """Rates of one model.

    ``rates`` are means over its responses with claims. ``abstain`` is the share of judged responses
    without claims (Hu et al. 2024, RefChecker, section 4.3, appendix A.4).

    ``n_responses`` are judged, ``n_failed`` and ``n_not_applicable`` are not. ``n_left_out`` are
    answers to prompts for which some model has no judged answer. ``human`` are the rates by human
    labels, over the judged responses that have any.
    """

    model_config = _STORED
    model: str
    n_responses: int
    n_prompts: int
    n_claims: int
    n_abstained: int
    n_failed: int
    n_not_applicable: int
    n_left_out: int
    coverage: float | None
    reasons: dict[str, int] = {}
    rates: dict[str, Rate]
    human: dict[str, float | None] = {}


class RankAgreement(BaseModel):
    """Rank correlation, over ``n_models``, with the human rates on the same responses.

    The interval is over prompts.
    """

    model_config = _STORED
    rate: str
    metric: str
    value: float | None
    low: float | None
    high: float | None
    n_models: int


class Part(BaseModel):
    """Models on one part of the answers, by increasing ``Ranking.order``.

    ``mean``: of the models' rates, each model counting once (Hu et al. 2024, RefChecker, figure
    11). ``comparisons`` are paired over prompts, with Holm's correction over the pairs of a rate.
    ``cliques`` are groups of models, consecutive by rate, without a significant difference.
    """

    model_config = _STORED
    name: str
    n_prompts: int
    models: list[ModelRates]
    mean: dict[str, float | None] = {}
    comparisons: list[Comparison] = []
    cliques: dict[str, list[list[str]]] = {}
    agreement: list[RankAgreement] = []
    notes: list[str] = []


class Ranking(BaseModel):
    """Models compared by the claims of their answers."""

    model_config = _STORED
    order: str
    scorer: str
    paired_by: str
    signature: str
    created: str
    version: str
    settings: dict[str, Any] = {}
    signatures: dict[str, str] = {}
    runs: list[str] = []
    parts: list[Part]
    notes: list[str] = []
    n_row_errors: int = 0
