"""Eccentricity of the spectral embedding (Lin et al. 2023, U_Ecc and C_Ecc)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

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
    "eccentricity",
    level="response",
    needs={"samples"},
    source="Lin 2023, section 4.2 (C_Ecc, U_Ecc)",
    cost="nli",
    version=3,
    raw_is="risk",
    added={"answer"},
    presets={"all"},
)
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
    """How far an answer lies from the centre of all n answers in the graph's spectral embedding.

    Args:
        of: ``response`` is ``-C_Ecc = ||v'_j||`` of the judged answer; ``all`` is
            ``U_Ecc = ||[v'_1; ...; v'_n]||``, which hardly depends on the judged one.
        threshold: eigenvectors of the symmetric normalised Laplacian with smaller eigenvalues
            make the embedding (they lie in [0, 2]; published: 0.9).
        affinity: similarity by the probability of entailment, or by 1 - that of contradiction.
        prompts: judge each answer with the prompt before it, as the paper does.
        answer: compare a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``v_j`` holds the j-th entries of the kept eigenvectors and ``v'_j`` is its offset from the
    mean over the answers. Lengths do not depend on how eigenvectors of equal eigenvalues are
    chosen; eigenvalues are rounded to 1e-9 before the threshold.

    ``raw`` of the response is in [0, 1), of all in [0, sqrt(n - 1)]. The risk is the raw value, or
    of all ``U^2 / (1 + U^2)``: k separate groups of equal size have U^2 = k - 1.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    lengths = offsets(w, threshold)
    if of == "response":
        raw = float(lengths[0])
        return Score.of(min(1.0, raw), raw=raw)
    raw = float(np.linalg.norm(lengths))
    return Score.of(raw**2 / (1 + raw**2), raw=raw)


def offsets(w: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """(n,) lengths of the answers' offsets from the centre of the embedding."""
    eigenvalues, eigenvectors = np.linalg.eigh(normalised_laplacian(w))
    embedding = eigenvectors[:, eigenvalues.round(9) < threshold]
    lengths: NDArray[np.float64] = np.linalg.norm(embedding - embedding.mean(axis=0), axis=1)
    return lengths
