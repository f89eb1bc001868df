"""Clusters of equivalent answers and their entropy (Kuhn 2023, Farquhar 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.scorers.consistency._response_pairs import judged_answers

#: Entailment that makes two answers equivalent: ``mutual``, or in ``either`` direction.
Cluster = Literal["mutual", "either"]


async def semantic_clusters(
    record: Record,
    evidence: Evidence,
    cluster: Cluster = "mutual",
    prompts: bool = False,
    answer: str | None = None,
) -> list[list[int]]:
    """Cluster the response (0) and its samples with a text (1 .. m) as :func:`grouped` does.

    Each answer is compared with the first member of each cluster, in both directions, until it
    joins one. This costs 2 m pairs if all answers mean the same and m (m + 1) if no two do. Each
    cluster takes one NLI request, except a last cluster of one answer.

    Args:
        cluster: ``mutual`` entailment, as in the papers, or entailment in ``either`` direction,
            as in the UQLM package. An answer entails another when entailment is the most
            probable class.
        prompts: prepend the prompt to each answer (see :func:`response_matrix`).
        answer: compare only this part of each answer; a sample without it forms its own cluster.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
        NoAnswerPart: the response, or every sample, lacks that part.
    """
    _, judged, there = judged_answers(record, prompts, answer)
    clusters = [[i] for i in np.flatnonzero(~there).tolist()]
    left = np.flatnonzero(there).tolist()
    while left:
        first, *others = left
        same = await _mean_the_same(evidence, judged[first], [judged[i] for i in others], cluster)
        clusters.append([first, *(i for i, joins in zip(others, same, strict=True) if joins)])
        left = [i for i, joins in zip(others, same, strict=True) if not joins]
    return sorted(clusters)


async def _mean_the_same(
    evidence: Evidence, text: str, others: Sequence[str], cluster: Cluster
) -> list[bool]:
    """Return, for each of ``others``, whether it means the same as ``text``."""
    if not others:
        return []
    onward = [(text, other) for other in others]
    verdicts = await evidence.nli([*onward, *((b, a) for a, b in onward)])
    there, back = (verdicts.probabilities.argmax(axis=1) == 0).reshape(2, -1)
    same: list[bool] = (there & back if cluster == "mutual" else there | back).tolist()
    return same


def grouped(same: NDArray[np.bool_]) -> list[list[int]]:
    """Group items greedily: an item joins the first cluster whose first member equals it.

    Every item is in exactly one cluster (in the UQLM package it joins all that match). Members are
    in order, and clusters are ordered by their first member. Sameness need not be transitive, so
    clusters may depend on the order of the items; equal items always stay together.

    Args:
        same: (n, n) symmetric, with a true diagonal.
    """
    clusters: list[list[int]] = []
    for item in range(len(same)):
        for members in clusters:
            if same[item, members[0]]:
                members.append(item)
                break
        else:
            clusters.append([item])
    return clusters


def log_shares(
    clusters: Sequence[Sequence[int]], log_weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the (len(clusters),) logarithms of each cluster's share of the weights.

    Args:
        clusters: items of each cluster; together they are 0 .. n - 1, once each.
        log_weights: (n,) logarithms of the items' weights, up to a constant; -inf for none.
    """
    logs = np.array([np.logaddexp.reduce(log_weights[list(c)]) for c in clusters])
    shares: NDArray[np.float64] = logs - np.logaddexp.reduce(logs)
    return shares


def entropy(clusters: Sequence[Sequence[int]], log_weights: NDArray[np.float64]) -> float:
    """Return the entropy in nats over the clusters' shares, in [0, log n].

    The arguments are those of :func:`log_shares`.
    """
    logs = log_shares(clusters, log_weights)
    logs = logs[np.isfinite(logs)]
    most = float(np.log(len(log_weights)))
    return min(max(float(-(np.exp(logs) * logs).sum()), 0.0), most)  # rounding: no -1e-17
