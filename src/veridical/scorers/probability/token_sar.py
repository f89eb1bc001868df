"""TokenSAR: the surprise of an answer's tokens, by how much they matter (Duan et al. 2024)."""

from __future__ import annotations

import math

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_response
from veridical.scorers.probability.relevance import token_shares
from veridical.scorers.probability.units import riskiest_tokens


@scorer(
    "token_sar",
    level="response",
    needs={"logprobs"},
    source="Duan 2024 (TokenSAR)",
    cost="probabilities",
    uses={"embed"},
    raw_is="risk",
)
async def token_sar(
    record: Record, evidence: Evidence, *, proxy: str | None = None, condition: Condition = "all"
) -> Score:
    """Surprisal of the response's tokens, weighed by what is lost of its meaning without them.

    ``raw = -sum_t r_t log p_t``, with shares ``r_t`` that add up to 1. A word's relevance is
    ``1 - s`` for the similarity ``s = 0.5 + cos / 2`` of the response's embedding with that of the
    response without it; the tokens of a word have equal parts of it. Only words with a letter or a
    figure that are no function words are left out in turn, as one embedding is made for each; the
    others have no share. Where none matters, all tokens count alike. The published method leaves
    out single tokens, and judges both texts after the prompt.

    Args:
        proxy: language model that reads the response; None takes the record's own ``logprobs``.
        condition: what a proxy reads before it: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in nats, at least 0; ``risk = 1 - exp(-raw)``. The units are the 16 tokens that add
    most to it, each with ``r_t`` times its surprisal.

    Raises:
        NotApplicable: the response is blank, or has no log-probabilities and no proxy is named, or
            the embedder does not read its script.
        MisalignedTokens: the record's tokens do not spell its response.
        ModelError: a model failed.
    """
    reading = await read_response(record, evidence, proxy, condition)
    (shares,) = await token_shares(evidence, [reading])
    raws = np.maximum(-shares * reading.tokens.logprobs, 0.0)
    raw = float(raws.sum())
    units = riskiest_tokens(reading, raws, -np.expm1(-raws))
    return Score.of(-math.expm1(-raw), raw=raw, units=units)
