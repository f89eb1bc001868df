"""Certainty of the model's choice at each token (UQLM, white box)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.alternatives import TopK, likeliest, top_entropy
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "token_negentropy",
    level="response",
    needs={"logprobs"},
    source="UQLM, mean_token_negentropy and min_token_negentropy",
    cost="probabilities",
    raw_is="confidence",
    presets={"all"},
)
async def token_negentropy(
    record: Record,
    evidence: Evidence,
    *,
    stat: Literal["mean", "min"] = "mean",
    k: TopK | None = None,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """One less the entropy of the k likeliest tokens at each place, as a share of log k.

    The k probabilities are made to sum to 1. Where fewer than k are known, k is their number;
    places with fewer than two do not count. (UQLM, with k = 15, leaves out those with fewer.)

    Args:
        stat: the mean over the response's tokens, or the minimum.
        k: how many alternatives count; None takes all there are.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``. The units are the 16 tokens chosen with
    the least certainty.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            they have no alternatives.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: the proxy failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    entropy, count = top_entropy(likeliest(reading.tokens, k))
    share = np.clip(entropy / np.log(np.maximum(count, 2)), 0.0, 1.0)
    risk = float(np.nanmean(share) if stat == "mean" else np.nanmax(share))
    return Score.of(risk, raw=1 - risk, units=riskiest_tokens(reading, 1 - share, share))
