"""Self-certainty: how far the model's choices are from a blind guess (Kang et al. 2025)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.tokens import FLOOR
from veridical.errors import NotApplicable
from veridical.scorers.probability.alternatives import TopK, likeliest
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import riskiest_tokens

#: How many tokens a model has to choose from.
Vocabulary = Annotated[int, Field(ge=2, le=10_000_000)]
#: The least probability of all that is not listed: log-probabilities are known to some 1e-6.
_LEAST_REST = 1e-6


@scorer(
    "self_certainty",
    level="response",
    needs={"logprobs"},
    source="Kang 2025 (self-certainty), eq. 8",
    cost="probabilities",
    raw_is="confidence",
)
async def self_certainty(
    record: Record,
    evidence: Evidence,
    *,
    vocabulary: Vocabulary = 100_000,
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Mean over tokens of KL(uniform || p), p being the model's distribution at their places.

    ``KL = -(1/V) sum_v log(V p_v)`` over the V tokens of the vocabulary. Log-probabilities come
    for the likeliest tokens only: what is left of the probability (at least 1e-6, as they are
    rounded) is spread evenly over the rest of the vocabulary. Where the list is short, the value
    therefore tells little but how much probability it leaves. Places without any listed token do
    not count.

    Args:
        vocabulary: V; records do not tell it. Values of different V are not comparable.
        k: how many alternatives count; None takes all there are.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is that mean in nats, at least 0 (confidence); ``risk = 1 / (1 + raw)``. The units are
    the 16 tokens chosen with the least certainty.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives, or more of them than ``vocabulary`` says there are.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    certainty = certainties(likeliest(reading.tokens, k), vocabulary)
    raw = float(np.nanmean(certainty))
    units = riskiest_tokens(reading, certainty, 1 / (1 + certainty))
    return Score.of(1 / (1 + raw), raw=raw, units=units)


def certainties(top: Floats, vocabulary: int) -> Floats:
    """(n,) KL(uniform || p) in nats, of (n, k) log-probabilities, -inf where unknown; NaN where
    none is known.

    Raises:
        NotApplicable: there are more tokens than the vocabulary has.
    """
    known = np.isfinite(top)
    count = known.sum(axis=1)
    if count.max(initial=0) > vocabulary:
        raise NotApplicable(f"there are more alternatives than vocabulary={vocabulary} tokens")
    listed = np.where(known, np.maximum(top, FLOOR), 0.0)
    rest = np.maximum(1 - np.where(known, np.exp(listed), 0.0).sum(axis=1), _LEAST_REST)
    others = vocabulary - count
    logs = listed.sum(axis=1) + others * np.log(rest / np.maximum(others, 1))
    certainty: Floats = np.maximum(-logs / vocabulary - np.log(vocabulary), 0.0)
    return np.where(count > 0, certainty, np.nan)
