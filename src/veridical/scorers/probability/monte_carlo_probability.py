"""Mean probability of several answers (Kuhn et al. 2023; UQLM)."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_answers
from veridical.scorers.probability.sequence_probability import log_probability


@scorer(
    "monte_carlo_probability",
    level="response",
    needs={"samples", "logprobs"},
    source="Kuhn 2023; UQLM, monte_carlo_probability",
    cost="probabilities",
    raw_is="confidence",
    presets={"all"},
)
async def monte_carlo_probability(
    record: Record,
    evidence: Evidence,
    *,
    length_normalize: bool = True,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Mean over the response and the samples of each one's sequence probability.

    Args:
        length_normalize: an answer's probability is the geometric mean of its tokens'
            probabilities; else their product.
        proxy: language model that reads the answers; None takes their own ``logprobs``.
        condition: what a proxy reads before each: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or an answer has no
            log-probabilities and no proxy is named.
        MisalignedTokens: tokens do not spell the answer that they belong to.
        ModelError: the proxy failed.
    """
    readings = await read_answers(record, evidence, proxy, condition)
    logs = [log_probability(reading, length_normalize) for reading in readings]
    raw = float(np.exp(logs).mean())
    return Score.of(1 - raw, raw=raw)
