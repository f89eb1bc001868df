"""Sum of eigenvalues of the graph Laplacian (Lin et al. 2023, U_EigV)."""

from __future__ import annotations

import numpy as np

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.response_graph import (
    Affinity,
    normalised_laplacian,
    similarity_graph,
)


@scorer(
    "eigv",
    level="response",
    needs={"samples"},
    source="Lin 2023, section 4.2 (U_EigV)",
    cost="nli",
    version=3,
    raw_is="risk",
    added={"answer"},
    presets={"all"},
)
async def eigv(
    record: Record,
    evidence: Evidence,
    *,
    affinity: Affinity = "entailment",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """How many meanings the answers have: a continuous count, from the spectrum of their graph.

    ``U = sum_k max(0, 1 - lambda_k)`` over the eigenvalues of the symmetric normalised Laplacian
    of the similarities among the response and the samples, n answers in all.

    Args:
        affinity: similarity by the probability of entailment, or by 1 - that of contradiction.
        prompts: judge each answer with the prompt before it, as the paper does.
        answer: compare a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``raw`` is U in [1, n]: 1 where all answers say the same, n where none has to do with another.
    The risk is ``1 - 1 / U``. It is of the prompt: the response is one of the n answers.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    eigenvalues = np.linalg.eigvalsh(normalised_laplacian(w))
    raw = max(1.0, float(np.maximum(0.0, 1 - eigenvalues).sum()))  # below 1 by rounding alone
    return Score.of(1 - 1 / raw, raw=raw)
