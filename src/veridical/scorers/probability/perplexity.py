"""Perplexity of the response."""

from __future__ import annotations

import math

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.sequence_probability import log_probability
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "perplexity",
    level="response",
    needs={"logprobs"},
    source="Jelinek 1977; Kulkarni 2025, figures 3-4",
    cost="probabilities",
    raw_is="risk",
    presets={"all"},
)
async def perplexity(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Perplexity of the response: exp of the mean of -log p over its tokens.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is at least 1. ``risk = 1 - 1 / raw``, one less the geometric mean of the tokens'
    probabilities. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    mean = log_probability(reading, length_normalize=True)
    p = np.exp(reading.tokens.logprobs)
    units = riskiest_tokens(reading, 1 / p, 1 - p)
    return Score.of(0.0 - math.expm1(mean), raw=math.exp(-mean), units=units)
