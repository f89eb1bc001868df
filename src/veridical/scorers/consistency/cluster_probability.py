"""Probability of the response's meaning among those of the samples (Farquhar 2024; UQLM)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats
from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.clusters import Cluster, semantic_clusters
from veridical.scorers.consistency.sequence_weights import Weights, log_weights


@scorer(
    "cluster_probability",
    level="response",
    needs={"samples"},
    source="Farquhar 2024; UQLM, use_best",
    cost="nli",
    raw_is="confidence",
    raw_key="confidence",
)
async def cluster_probability(
    record: Record,
    evidence: Evidence,
    *,
    cluster: Cluster = "mutual",
    weights: Weights = "auto",
    length_normalize: bool = True,
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Probability of the response's meaning among the meanings of the response and the samples.

    Args:
        cluster, weights, length_normalize, prompts, answer: as in ``semantic_entropy``.

    ``raw`` has that share as ``confidence``, the ``shares`` of all meanings, in the order in which
    their first answers stand, and ``best``: the answer that stands for the most probable meaning, 0
    for the response, i for the sample of index i - 1. Among the answers of that meaning it is the
    first of a text that several have, most of them, else the longest, as the UQLM package takes
    for ``use_best``; of equally probable meanings the first counts. ``risk = 1 - confidence``.
    ``--select cluster`` takes the answer that ``best`` names.

    Raises:
        NotApplicable: as for ``semantic_entropy``.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    shares = cluster_shares(clusters, log_weights(record, weights, length_normalize, response=True))
    sources = record.against("samples")
    texts = [record.answer, *(s.text for s in sources)]
    likeliest = int(np.argmax(shares))
    place = representative(clusters[likeliest], texts)
    raw = {
        "confidence": float(shares[0]),  # the response is in the first cluster
        "shares": shares.tolist(),
        "best": 0 if place == 0 else sources[place - 1].index + 1,
    }
    return Score.of(1 - raw["confidence"], raw=raw)


def cluster_shares(clusters: Sequence[Sequence[int]], log_weights: Floats) -> Floats:
    """(len(clusters),) shares of the items' weights, which add up to 1."""
    logs = np.array([np.logaddexp.reduce(log_weights[list(c)]) for c in clusters])
    # rounded, so that equal ones stay equal
    shares: Floats = np.exp(logs - np.logaddexp.reduce(logs)).round(9)
    return shares


def representative(members: Sequence[int], texts: Sequence[str]) -> int:
    """The member that stands for a cluster: the first with the text that most have, where more than
    one has it, else the longest."""
    counts = Counter(texts[m] for m in members)
    text, most = counts.most_common(1)[0]
    if most > 1:
        return next(m for m in members if texts[m] == text)
    return max(members, key=lambda m: (len(texts[m]), -m))
