"""Consistency times confidence (CoCoA; Vashurin et al. 2025)."""

from __future__ import annotations

import math

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import ModelError, NotApplicable
from veridical.scorers.probability._readings import Condition, read_response
from veridical.scorers.probability.token_probabilities import log_probability


@scorer(
    "cocoa",
    level="response",
    needs={"samples", "logprobs"},
    source="Vashurin 2025; UQLM, consistency_and_confidence",
    cost="probabilities",
    uses={"embed"},
    raw_is="confidence",
    presets={"all"},
)
async def cocoa(
    record: Record,
    evidence: Evidence,
    *,
    length_normalize: bool = True,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Multiply the mean similarity to the samples by the response's sequence probability.

    The similarity is ``0.5 + cos / 2`` of their embeddings, as in the UQLM package.

    Args:
        length_normalize: use the geometric mean of the tokens' probabilities; if false, their
            product.
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: the proxy's text before it: contexts and prompt, prompt alone, or nothing.

    ``raw`` is in [0, 1] (confidence); ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named. Or
            no sample has a text, or the embedder does not support the response's script.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: a model failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    cosine = await evidence.score("cosine", rescale=True)
    if cosine.status == "not_applicable":
        raise NotApplicable(cosine.reason or "the cosine is not applicable")
    if not isinstance(cosine.raw, float):
        raise ModelError(f"cosine: {cosine.reason}")
    raw = cosine.raw * math.exp(log_probability(reading, length_normalize))
    return Score.of(1 - raw, raw=raw)
