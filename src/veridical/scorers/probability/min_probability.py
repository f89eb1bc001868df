"""Probability of the least likely token (UQLM, white box)."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "min_probability",
    level="response",
    needs={"logprobs"},
    source="Manakul 2023; UQLM, min_probability",
    cost="probabilities",
    raw_is="confidence",
    presets={"all", "auto"},
)
async def min_probability(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Probability of the least likely token of the response.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is min p, in (0, 1]; ``risk = 1 - raw``. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    p = np.exp(reading.tokens.logprobs)
    raw = float(p.min())
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, p, 1 - p))
