"""Matrices of all pairs of replies: CheckEmbed, BERTScore, BLEU and COMET's way."""

from __future__ import annotations

import numpy as np

from veridical.arrays import Matrix as Array
from veridical.scorers.consistency.bert_score import frobenius as root_mean_square
from veridical.scorers.consistency.checkembed import frobenius, off_diagonal
from veridical_lab.studies.checkembed.result import Matrix


def comet_style(cosine: Array, source: int) -> Array:
    """Compute COMET's ranking form (Rei et al. 2020, section 2.4) from cosines of unit vectors.

    ``1 / (1 + f)``, where ``f = 2 a b / (a + b)`` is the harmonic mean of the Euclidean distances
    of the translation (row) to its reference (column) and to the source. COMET's encoder is trained
    to rank translations in this way. The embeddings here are not, so results have only COMET's
    form.

    Args:
        cosine: (n, n), the source among its rows.
        source: row of the source.

    Returns:
        (n - 1, n - 1) in (0, 1], without the source; 1 on the diagonal.
    """
    distance = np.sqrt(np.maximum(0.0, 2 - 2 * cosine))
    to_source = np.delete(distance[:, source], source)
    to_reference = np.delete(np.delete(distance, source, 0), source, 1)
    total = to_reference + to_source[:, None]
    product = 2 * to_reference * to_source[:, None]
    mean = np.divide(product, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(1 / (1 + mean))


def summarised(measure: str, values: Array, truth: bool) -> Matrix:
    """Summarise a matrix off the diagonal, without the ground truth (last)."""
    replies = values[:-1, :-1] if truth else values
    entries = off_diagonal(np.ascontiguousarray(replies))
    if measure == "checkembed":
        norm = frobenius(entries)
    else:
        norm = root_mean_square(np.ascontiguousarray(replies))
    return Matrix(
        measure=measure,
        values=np.asarray(values).round(4).tolist(),
        mean=float(entries.mean()),
        std=float(entries.std()),
        frobenius=norm,
        truth_mean=float(values[:-1, -1].mean()) if truth else None,
    )
