"""Clusters of answers that mean the same, and the entropy over them (Kuhn 2023, Farquhar 2024)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.scorers.consistency.response_pairs import response_matrix

#: Two answers mean the same when ``mutual``ly, or in ``either`` direction, one entails the other.
Cluster = Literal["mutual", "either"]


async def semantic_clusters(
    record: Record,
    evidence: Evidence,
    cluster: Cluster = "mutual",
    prompts: bool = False,
    answer: str | None = None,
) -> list[list[int]]:
    """Clusters of the response (0) and its samples with a text (1 .. m), by one NLI request.

    Args:
        cluster: ``mutual`` entailment, as in the papers, or entailment in ``either`` direction,
            as in the UQLM package. An answer entails another when entailment is the most
            probable class.
        prompts: judge the answers after their prompt (see :func:`response_matrix`).
        answer: judge this part of each answer; a sample without it is a cluster of its own.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
        NoAnswerPart: the response, or every sample, lacks that part.
    """
    entails = (await response_matrix(record, evidence, prompts, answer)).entails
    return grouped(entails & entails.T if cluster == "mutual" else entails | entails.T)


def grouped(same: NDArray[np.bool_]) -> list[list[int]]:
    """Greedy clusters: an item joins the first cluster whose first member is the same as it.

    Every item is in exactly one cluster (the UQLM package lets it join all that match). Members
    are in order, and so are clusters, by their first member. As sameness need not be transitive,
    the clusters may depend on the order of the items, but equal items always stay together.

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


def entropy(clusters: Sequence[Sequence[int]], log_weights: NDArray[np.float64]) -> float:
    """Entropy in nats of the share of each cluster, in [0, log n].

    Args:
        clusters: items of each cluster; together they are 0 .. n - 1, once each.
        log_weights: (n,) logarithms of the items' weights, up to a constant; -inf for none.
    """
    logs = np.array([np.logaddexp.reduce(log_weights[list(c)]) for c in clusters])
    logs = logs[np.isfinite(logs)]
    logs -= np.logaddexp.reduce(logs)
    most = float(np.log(len(log_weights)))
    return min(max(float(-(np.exp(logs) * logs).sum()), 0.0), most)  # rounding: no -1e-17
