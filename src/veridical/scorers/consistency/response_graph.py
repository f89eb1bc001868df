"""Similarity graphs over the response and the samples, and their Laplacians.

Nodes are the answers to one prompt, the response first. Kernels are plain functions of arrays.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.arrays import Matrix
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.scorers.consistency.response_pairs import response_matrix

Affinity = Literal["entailment", "contradiction"]


async def similarity_graph(
    record: Record,
    evidence: Evidence,
    affinity: Affinity,
    prompts: bool,
    answer: str | None = None,
) -> Matrix:
    """Similarities of all answers (Lin et al. 2023, section 4.1): (n, n) in [0, 1], symmetric.

    ``w_ij = (a_ij + a_ji) / 2`` with ``a`` the probability of entailment, or 1 - that of
    contradiction; 1 on the diagonal.

    Raises:
        NotApplicable: no response or sample, or the model has no class for contradiction where
            the affinity needs it.
    """
    matrix = await response_matrix(record, evidence, prompts, answer)
    a = matrix.entailment if affinity == "entailment" else 1 - matrix.contradiction
    w: Matrix = (a + a.T) / 2
    np.fill_diagonal(w, 1.0)
    return w


def normalised_laplacian(w: Matrix) -> Matrix:
    """``I - D^(-1/2) W D^(-1/2)`` with the degrees D of rows, self-similarity included.

    Its eigenvalues are in [0, 2]; as many are 0 as the graph has connected parts.

    Args:
        w: (n, n) similarities with 1 on the diagonal, so that no degree is 0.
    """
    scale = 1 / np.sqrt(w.sum(axis=1))
    laplacian: Matrix = np.eye(len(w)) - scale[:, None] * w * scale
    return laplacian
