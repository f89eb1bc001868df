"""Kernel language entropy (Nikitin et al. 2024)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veridical.arrays import Matrix
from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.response_pairs import response_matrix

#: Within these limits no kernel runs out of the range of floating point.
Scale = Annotated[float, Field(ge=1e-6, le=1e6)]

#: Weight of one direction of an edge by its class, in the order of ``LABELS``, as published.
_WEIGHTS = np.array([1.0, 0.5, 0.0])


@scorer(
    "kle",
    level="response",
    needs={"samples"},
    source="Nikitin 2024, sections 3 and 4",
    cost="nli",
    version=3,
    raw_is="risk",
    added={"answer"},
    presets={"all"},
)
async def kle(
    record: Record,
    evidence: Evidence,
    *,
    kernel: Literal["heat", "matern"] = "heat",
    t: Scale = 0.3,
    kappa: Scale = 1.0,
    nu: Scale = 1.0,
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Von Neumann entropy of a graph kernel over the n answers: the response and its samples.

    The weight of an edge is the sum over both directions of 1 for entailment, 0.5 for neutral and
    0 for contradiction, by the most probable class. With the Laplacian ``L = D - W`` (no self
    loops), the kernel K is scaled to ``K_ij / (n sqrt(K_ii K_jj))``, which has trace 1, and
    ``VNE = -Tr(K log K)``.

    Args:
        kernel: ``heat`` is ``exp(-t L)``; ``matern`` is ``(2 nu / kappa^2 I + L)^(-nu)``.
        t: diffusion time of the heat kernel, from 1e-6 to 1e6.
        kappa: length scale of the Matern kernel, in the same range.
        nu: smoothness of the Matern kernel, in the same range.
        prompts: judge each answer with the prompt before it.
        answer: compare a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``raw`` is VNE in nats, in [0, log n]: log n where every two answers contradict each other. Even
    equal answers are above 0 by as much as the kernel is short of constant; their entropy falls
    with n and t. The risk is ``1 - exp(-VNE)``.
    """
    matrix = await response_matrix(record, evidence, prompts, answer)
    weights = _WEIGHTS[matrix.probabilities.argmax(axis=2)]
    eigenvalues, eigenvectors = np.linalg.eigh(laplacian(weights + weights.T))
    eigenvalues = np.maximum(eigenvalues, 0.0)  # below 0 by rounding alone
    if kernel == "heat":
        transformed = np.exp(-t * eigenvalues)
    else:
        # times (2 nu / kappa^2)^nu, which scaling takes out again: so it cannot overflow
        transformed = (1 + eigenvalues * kappa**2 / (2 * nu)) ** -nu
    raw = von_neumann_entropy((eigenvectors * transformed) @ eigenvectors.T)
    return Score.of(1 - float(np.exp(-raw)), raw=raw)


def laplacian(w: Matrix) -> Matrix:
    """``D - W`` of symmetric weights; the diagonal is left out of both."""
    off = w - np.diag(w.diagonal())
    difference: Matrix = np.diag(off.sum(axis=1)) - off
    return difference


def von_neumann_entropy(kernel: Matrix) -> float:
    """Entropy in nats of a kernel scaled to a diagonal of 1 / n: in [0, log n]."""
    scale = 1 / np.sqrt(kernel.diagonal())
    unit = scale[:, None] * kernel * scale / len(kernel)
    p = np.linalg.eigvalsh(unit)
    p = p[p > 0]
    return max(0.0, float(-(p * np.log(p)).sum()))
