"""SAR: shifting attention to what is relevant, in tokens and in answers (Duan et al. 2024)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from veridical.arrays import Matrix
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.probability.readings import Condition, read_answers
from veridical.scorers.probability.relevance import token_shares


@scorer(
    "sar",
    level="response",
    needs={"samples", "logprobs"},
    source="Duan 2024 (SAR)",
    cost="probabilities",
    uses={"embed"},
    raw_is="risk",
)
async def sar(
    record: Record,
    evidence: Evidence,
    *,
    lam: Annotated[float, Field(gt=0, le=1000)] = 0.001,
    response: bool = True,
    proxy: str | None = None,
    condition: Condition = "all",
) -> Score:
    """Surprise at the answers, of which each is believed as far as similar ones are probable.

    With ``p_i = exp(-T_i)``, T being the ``token_sar`` of an answer,
    ``raw = -mean_i log(p_i + (1 / lam) sum_(j != i) p_j s_ij)``, where ``s = 0.5 + cos / 2`` is the
    similarity of the answers' embeddings.

    Args:
        lam: the smaller, the more the other answers count; 0.001 as published.
        response: the response is one of the answers, as in ``semantic_entropy``; false takes the
            samples alone, as published.
        proxy: language model that reads the answers; None takes their own ``logprobs``.
        condition: what a proxy reads before each: the contexts and the prompt, the prompt alone,
            or nothing.

    ``raw`` is in nats, and may be negative: ``log(lam / m)`` at the least, for m other answers.
    ``risk = 1 / (1 + lam exp(-raw))``.

    Raises:
        NotApplicable: the response is blank, no sample has a text, an answer has no
            log-probabilities and no proxy is named, or the embedder does not read their script.
        MisalignedTokens: tokens do not spell the answer that they belong to.
        ModelError: a model failed.
    """
    readings = await read_answers(record, evidence, proxy, condition)
    if not response:
        del readings[0]
    shares = await token_shares(evidence, readings)
    surprisal = np.array(
        [-(r * x.tokens.logprobs).sum() for r, x in zip(shares, readings, strict=True)]
    )
    vectors = (await evidence.embed([x.text for x in readings])).astype(np.float64)
    similarity = 0.5 + np.clip(vectors @ vectors.T, -1, 1) / 2
    raw = relevant_surprise(surprisal, similarity, lam)
    return Score.of(float(1 / (1 + lam * np.exp(min(-raw, 700.0)))), raw=raw)


def relevant_surprise(surprisal: Matrix, similarity: Matrix, lam: float) -> float:
    """``-mean_i log(p_i + (1 / lam) sum_(j != i) p_j s_ij)`` of (n,) ``-log p`` and (n, n) s."""
    logs = np.broadcast_to(-surprisal, similarity.shape).copy()
    with np.errstate(divide="ignore"):
        logs += np.log(similarity / lam)
    np.fill_diagonal(logs, -surprisal)
    return float(-np.logaddexp.reduce(logs, axis=1).mean())
