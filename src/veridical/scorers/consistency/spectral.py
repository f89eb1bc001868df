"""Scorers by the similarity graph of the answers and its spectrum.

Degree, eccentricity and sum of eigenvalues follow Lin et al. 2023; kernel language entropy follows
Nikitin et al. 2024.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from veridical.arrays import Matrix
from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency._response_pairs import response_matrix

#: Similarity: P(entailment), or 1 - P(contradiction).
Affinity = Literal["entailment", "contradiction"]
#: Range in which no kernel overflows or underflows.
Scale = Annotated[float, Field(ge=1e-6, le=1e6)]

#: Weight of one direction of an edge by its class, in the order of ``LABELS``, as published.
_WEIGHTS = np.array([1.0, 0.5, 0.0])

#: Declaration that these scorers share.
_SHARED: dict[str, Any] = {
    "level": "response",
    "needs": {"samples"},
    "cost": "nli",
    "version": 3,
    "raw_is": "risk",
    "added": {"answer"},
    "presets": {"all"},
}


@scorer("degree", source="Lin 2023, section 4.2 (C_Deg, U_Deg)", **_SHARED)
async def degree(
    record: Record,
    evidence: Evidence,
    *,
    of: Literal["response", "all"] = "response",
    affinity: Affinity = "entailment",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Compute the mean dissimilarity of an answer to all n answers, samples and response.

    Args:
        of: ``response`` is ``1 - C_Deg = 1 - D_jj / n`` for the judged answer, the paper's measure
            for one answer among several. ``all`` is ``U_Deg = trace(n I - D) / n^2``, its mean
            over the answers, which hardly depends on the judged one.
        affinity: similarity, by P(entailment) or by 1 - P(contradiction).
        prompts: prepend the prompt to each answer, as the paper does.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``D_jj`` is the sum of the answer's similarities, that to itself (1) included. ``raw`` is in
    [0, 1 - 1 / n]; the risk is the raw value.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    raw = 1 - float(w[0].mean() if of == "response" else w.mean())
    return Score.of(min(1.0, max(0.0, raw)), raw=raw)


@scorer("eccentricity", source="Lin 2023, section 4.2 (C_Ecc, U_Ecc)", **_SHARED)
async def eccentricity(
    record: Record,
    evidence: Evidence,
    *,
    of: Literal["response", "all"] = "response",
    threshold: Annotated[float, Field(gt=0, le=2)] = 0.9,
    affinity: Affinity = "entailment",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Measure an answer's distance from the centre of all n answers in the spectral embedding.

    Args:
        of: ``response`` is ``-C_Ecc = ||v'_j||`` for the judged answer; ``all`` is
            ``U_Ecc = ||[v'_1; ...; v'_n]||``, which hardly depends on the judged one.
        threshold: the embedding uses the eigenvectors of the symmetric normalised Laplacian with
            smaller eigenvalues (range [0, 2]; 0.9 in the paper).
        affinity: similarity, by P(entailment) or by 1 - P(contradiction).
        prompts: prepend the prompt to each answer, as the paper does.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``v_j`` holds the j-th entries of the kept eigenvectors and ``v'_j`` is its offset from the mean
    over the answers. Lengths do not depend on the choice of eigenvectors for equal eigenvalues;
    eigenvalues are rounded to 1e-9 before the comparison.

    With ``of=response`` ``raw`` is in [0, 1) and is the risk. With ``of=all`` it is in [0, sqrt(n -
    1)] and the risk is ``U^2 / (1 + U^2)``; k separate groups of equal size have U^2 = k - 1.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    lengths = offsets(w, threshold)
    if of == "response":
        raw = float(lengths[0])
        return Score.of(min(1.0, raw), raw=raw)
    raw = float(np.linalg.norm(lengths))
    return Score.of(raw**2 / (1 + raw**2), raw=raw)


@scorer("eigv", source="Lin 2023, section 4.2 (U_EigV)", **_SHARED)
async def eigv(
    record: Record,
    evidence: Evidence,
    *,
    affinity: Affinity = "entailment",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Count the meanings of the answers continuously, from their graph's spectrum.

    ``U = sum_k max(0, 1 - lambda_k)`` over the eigenvalues of the symmetric normalised Laplacian
    of the similarities among the response and the samples, n answers in all.

    Args:
        affinity: similarity, by P(entailment) or by 1 - P(contradiction).
        prompts: prepend the prompt to each answer, as the paper does.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``raw`` is U in [1, n]: 1 if all answers mean the same, n if all are unrelated. The risk is ``1
    - 1 / U``. It belongs to the prompt; the response is one of the n answers.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    eigenvalues = np.linalg.eigvalsh(normalised_laplacian(w))
    raw = max(1.0, float(np.maximum(0.0, 1 - eigenvalues).sum()))  # below 1 by rounding alone
    return Score.of(1 - 1 / raw, raw=raw)


@scorer("kle", source="Nikitin 2024, sections 3 and 4", **_SHARED)
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
    """Compute the von Neumann entropy of a graph kernel over the n answers.

    The weight of an edge is a sum over both directions. By the most probable class, it adds 1 for
    entailment, 0.5 for neutral and 0 for contradiction. With the Laplacian ``L = D - W`` (no self
    loops), the kernel K is scaled to ``K_ij / (n sqrt(K_ii K_jj))``, which has trace 1, and
    ``VNE = -Tr(K log K)``.

    Args:
        kernel: ``heat`` is ``exp(-t L)``; ``matern`` is ``(2 nu / kappa^2 I + L)^(-nu)``.
        t: diffusion time of the heat kernel, from 1e-6 to 1e6.
        kappa: length scale of the Matern kernel, in the same range.
        nu: smoothness of the Matern kernel, in the same range.
        prompts: prepend the prompt to each answer.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``raw`` is VNE in nats, in [0, log n]: log n if every two answers contradict each other. Equal
    answers have an entropy above 0 that falls with n and t, as the kernel is not constant. The risk
    is ``1 - exp(-VNE)``.
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


async def similarity_graph(
    record: Record,
    evidence: Evidence,
    affinity: Affinity,
    prompts: bool,
    answer: str | None = None,
) -> Matrix:
    """Return the similarities of all answers: (n, n) in [0, 1], symmetric (Lin et al. 2023, 4.1).

    ``w_ij = (a_ij + a_ji) / 2`` with ``a`` = P(entailment) or 1 - P(contradiction); 1 on the
    diagonal.

    Raises:
        NotApplicable: there is no response or sample, or the affinity needs a contradiction class,
            which the model lacks.
    """
    matrix = await response_matrix(record, evidence, prompts, answer)
    a = matrix.entailment if affinity == "entailment" else 1 - matrix.contradiction
    w: Matrix = (a + a.T) / 2
    np.fill_diagonal(w, 1.0)
    return w


def normalised_laplacian(w: Matrix) -> Matrix:
    """Return ``I - D^(-1/2) W D^(-1/2)``, D being the row sums with self-similarity.

    Its eigenvalues are in [0, 2]; the number of zeros is the number of connected components.

    Args:
        w: (n, n) similarities with 1 on the diagonal, so that no degree is 0.
    """
    scale = 1 / np.sqrt(w.sum(axis=1))
    laplacian: Matrix = np.eye(len(w)) - scale[:, None] * w * scale
    return laplacian


def offsets(w: Matrix, threshold: float) -> Matrix:
    """Return the (n,) distances of the answers from the centre of the embedding."""
    eigenvalues, eigenvectors = np.linalg.eigh(normalised_laplacian(w))
    embedding = eigenvectors[:, eigenvalues.round(9) < threshold]
    lengths: Matrix = np.linalg.norm(embedding - embedding.mean(axis=0), axis=1)
    return lengths


def laplacian(w: Matrix) -> Matrix:
    """Return ``D - W`` of symmetric weights, ignoring the diagonal."""
    off = w - np.diag(w.diagonal())
    difference: Matrix = np.diag(off.sum(axis=1)) - off
    return difference


def von_neumann_entropy(kernel: Matrix) -> float:
    """Return the entropy in nats, in [0, log n], of a kernel with diagonal 1 / n."""
    scale = 1 / np.sqrt(kernel.diagonal())
    unit = scale[:, None] * kernel * scale / len(kernel)
    p = np.linalg.eigvalsh(unit)
    p = p[p > 0]
    return max(0.0, float(-(p * np.log(p)).sum()))
