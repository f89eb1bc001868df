"""Probability of the whole response (UQLM, white box; lm-polygraph's MSP)."""

from __future__ import annotations

import math

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, Reading, read_response
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "sequence_probability",
    level="response",
    needs={"logprobs"},
    source="Malinin & Gales 2021; UQLM, sequence_probability",
    cost="probabilities",
    raw_is="confidence",
    presets={"all"},
)
async def sequence_probability(
    record: Record,
    evidence: Evidence,
    *,
    length_normalize: bool = True,
    log: bool = False,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Probability of the response: the product of its tokens' probabilities.

    Args:
        length_normalize: the geometric mean of the tokens' probabilities instead, exp(mean log p).
        log: give its natural logarithm, which does not run out of range: products of long texts
            are 0 in floating point. With ``length_normalize=false`` its negative is the maximum
            sequence probability (MSP) of lm-polygraph.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is the probability, in [0, 1], and ``risk = 1 - raw``; with ``log`` it is the
    logarithm, at most 0, and ``risk = -raw / (1 - raw)``. The units are the 16 least likely tokens.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    p = np.exp(reading.tokens.logprobs)
    raw = log_probability(reading, length_normalize)
    risk = abs(raw) / (1 - raw) if log else 0.0 - math.expm1(raw)
    units = riskiest_tokens(reading, p, 1 - p)
    return Score.of(risk, raw=raw if log else math.exp(raw), units=units)


def log_probability(reading: Reading, length_normalize: bool) -> float:
    """Sum of the tokens' log-probabilities, or their mean."""
    logs = reading.tokens.logprobs
    return float(logs.mean() if length_normalize else logs.sum())
