"""How far the likeliest token is ahead (UQLM, white box)."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.alternatives import likeliest
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "probability_margin",
    level="response",
    needs={"logprobs"},
    source="Farr 2024; UQLM, probability_margin",
    cost="probabilities",
    raw_is="confidence",
    presets={"all"},
)
async def probability_margin(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Mean difference of the probabilities of the two likeliest tokens at each place.

    Places where fewer than two are known do not count.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens with the
    closest runners-up.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    top = likeliest(reading.tokens, 2)
    margin = np.where(np.isfinite(top[:, 1]), np.exp(top[:, 0]) - np.exp(top[:, 1]), np.nan)
    raw = float(np.nanmean(margin))
    return Score.of(1 - raw, raw=raw, units=riskiest_tokens(reading, margin, 1 - margin))
