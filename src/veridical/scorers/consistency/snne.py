"""Semantic nearest neighbour entropy (Nguyen, Payani & Mirzasoleiman 2025)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veridical.arrays import Matrix
from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.spectral import similarity_graph

Similarity = Literal["entailment", "cosine"]


def _costs(similarity: Similarity, **_: object) -> set[Cost]:
    return {"nli" if similarity == "entailment" else "embed"}


@scorer(
    "snne",
    level="response",
    needs={"samples"},
    source="Nguyen 2025 (SNNE), eq. 6",
    cost="nli",
    uses={"embed"},
    costs_by=_costs,
    raw_is="risk",
    added={"answer"},
)
async def snne(
    record: Record,
    evidence: Evidence,
    *,
    tau: Annotated[float, Field(ge=0.01, le=1000)] = 1.0,
    similarity: Similarity = "entailment",
    response: bool = True,
    answer: AnswerPart | None = None,
) -> Score:
    """Compute an entropy by the density of near neighbours among the answers.

    The formula is ``raw = -mean_i log sum_j exp(s_ij / tau)`` over all answers, where j includes i.

    Args:
        tau: temperature; the smaller, the more the nearest neighbour dominates. The authors' script
            reports the best of several values and similarities; here both are fixed in advance.
        similarity: ``entailment`` is the mean of both directions' probabilities, which ``eigv``,
            ``degree`` and ``eccentricity`` use too; ``cosine`` is ``0.5 + cos / 2`` of embeddings.
            Both are in [0, 1], and 1 for an answer with itself.
        response: include the response among the answers, as in ``semantic_entropy``; false uses the
            samples alone, as published.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it has
            a similarity of 0 to all others.

    ``raw`` is in nats, from ``-log n - 1 / tau`` (n equal answers) to ``-log(n - 1 + e^(1/tau))``.
    ``risk = exp(raw) (1 + e^(1/tau))``, at most 1 for two answers or more.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
    """
    if similarity == "entailment":
        s = await similarity_graph(record, evidence, "entailment", False, answer)
    else:
        first, others, _ = answer_parts(record, "samples", answer)
        texts = [first, *others]
        there = [i for i, text in enumerate(texts) if text is not None]
        vectors = (await evidence.embed([t for t in texts if t is not None])).astype(np.float64)
        s = np.zeros((len(texts), len(texts)))
        s[np.ix_(there, there)] = 0.5 + np.clip(vectors @ vectors.T, -1, 1) / 2
        np.fill_diagonal(s, 1.0)
    raw = neighbour_entropy(s if response else s[1:, 1:], tau)
    # e^raw (1 + e^(1/tau)), as logarithms: 1/tau may be large
    return Score.of(math.exp(min(raw + float(np.logaddexp(0, 1 / tau)), 0.0)), raw=raw)


def neighbour_entropy(similarity: Matrix, tau: float) -> float:
    """Return ``-mean_i log sum_j exp(s_ij / tau)`` of (n, n) similarities."""
    return float(-np.logaddexp.reduce(similarity / tau, axis=1).mean())
