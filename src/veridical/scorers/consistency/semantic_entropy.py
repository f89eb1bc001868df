"""Scorers by clusters of meaning: semantic entropy and related measures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.consistency._clusters import Cluster, entropy, log_shares, semantic_clusters
from veridical.scorers.consistency._sequence_weights import Weights, log_weights

#: Maximum of log(m + 1) / log(m), at m = 2: range of the paper's form below 1.
_LARGEST = math.log(3) / math.log(2)
#: Declaration that semantic sets and entropy share.
_SHARED: dict[str, Any] = {
    "level": "response",
    "needs": {"samples"},
    "cost": "nli",
    "version": 3,
    "added": {"answer"},
    "presets": {"all"},
}


@scorer(
    "semantic_entropy",
    source="Farquhar 2024; Bouchard & Chauhan 2025, eq. 7",
    raw_is="risk",
    **_SHARED,
)
async def semantic_entropy(
    record: Record,
    evidence: Evidence,
    *,
    cluster: Cluster = "mutual",
    weights: Weights = "auto",
    length_normalize: bool = True,
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Compute the entropy over the meanings of the response and the samples.

    Args:
        cluster: answers are equivalent if they entail each other (``mutual``, as published). With
            ``either``, one direction is enough, as in the UQLM package.
        weights: a meaning's probability is its share of the answers (``discrete``) or of their
            normalised ``probability``. ``auto`` uses probabilities if the response and all samples
            have log-probabilities.
        length_normalize: an answer's probability is the geometric mean of its tokens'
            probabilities; else their product, which favours short answers.
        prompts: prepend the prompt to each answer, which gives short answers a meaning.
        answer: compare only a part of each answer, as ``exact_match`` does; a sample without it
            forms its own cluster.

    ``raw`` is the entropy in nats, from 0 (one meaning) to log(m + 1) (m samples, all answers
    different). ``risk = 1 - exp(-raw)``, which is 1 - 1/k for k equally likely meanings.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or ``weights="probability"``
            and log-probabilities are missing.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    raw = entropy(clusters, log_weights(record, weights, length_normalize, response=True))
    return Score.of(-math.expm1(-raw), raw=raw)


@scorer(
    "semantic_negentropy",
    source="Bouchard & Chauhan 2025, eq. 8",
    raw_is="confidence",
    **_SHARED,
)
async def semantic_negentropy(
    record: Record,
    evidence: Evidence,
    *,
    form: Literal["normalized", "paper"] = "normalized",
    cluster: Cluster = "mutual",
    weights: Weights = "discrete",
    length_normalize: bool = True,
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Compute 1 - the normalised semantic entropy of the response and m samples.

    Args:
        form: ``normalized`` divides by log(m + 1), the entropy if all answers differ, as in the
            UQLM package. The value is then in [0, 1]. ``paper`` divides by log(m), as printed. The
            value may then be negative, down to 1 - log(3)/log(2) = -0.585, and needs two samples.
        cluster, weights, length_normalize, prompts, answer: as in ``semantic_entropy``. The
            equation is for ``discrete`` weights.

    ``raw`` is that value (confidence). The risk is ``1 - raw``; for ``form="paper"`` it is
    ``(1 - raw) * log(2)/log(3)``, which is in [0, 1] for every m.

    Raises:
        NotApplicable: as for ``semantic_entropy``; or ``form="paper"`` with a single sample.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    nats = entropy(clusters, log_weights(record, weights, length_normalize, response=True))
    answers = sum(map(len, clusters))
    if form == "normalized":
        risk = min(nats / math.log(answers), 1.0)
        return Score.of(risk, raw=1 - risk)
    if answers < 3:
        raise NotApplicable("form=paper is not defined for a single sample")
    share = nats / math.log(answers - 1)
    return Score.of(min(share / _LARGEST, 1.0), raw=1 - share)


@scorer("semantic_sets", source="Lin 2024; UQLM package", raw_is="confidence", **_SHARED)
async def semantic_sets(
    record: Record,
    evidence: Evidence,
    *,
    cluster: Cluster = "mutual",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Count the meanings of response and samples, as (m + 1 - number of clusters) / m.

    Args:
        cluster, prompts, answer: as in ``semantic_entropy``.

    ``raw`` is that value (confidence): 1 if all answers mean the same, 0 if all differ. It is not
    the number of clusters, which depends on m. ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    samples = sum(map(len, clusters)) - 1
    risk = (len(clusters) - 1) / samples
    return Score.of(risk, raw=1 - risk)


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
    """Compute the probability of the response's meaning among those of all answers.

    Args:
        cluster, weights, length_normalize, prompts, answer: as in ``semantic_entropy``.

    ``raw`` has that share as ``confidence``, and the ``shares`` of all meanings, in the order of
    their first answers. ``best`` is the index of the answer that represents the most probable
    meaning: 0 for the response, i for sample i - 1. The representative is the most frequent text of
    the meaning if any occurs twice, else the longest, as in UQLM's ``use_best``. Of equally
    probable meanings the first counts. ``risk = 1 - confidence``. ``--select cluster`` selects the
    answer that ``best`` names.

    Raises:
        NotApplicable: as for ``semantic_entropy``.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    logs = log_shares(clusters, log_weights(record, weights, length_normalize, response=True))
    shares = np.exp(logs).round(9)  # rounded, so that equal ones stay equal
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


def representative(members: Sequence[int], texts: Sequence[str]) -> int:
    """Return the member that represents a cluster.

    It is the first with the most frequent text if any text occurs twice, else the longest.
    """
    counts = Counter(texts[m] for m in members)
    text, most = counts.most_common(1)[0]
    if most > 1:
        return next(m for m in members if texts[m] == text)
    return max(members, key=lambda m: (len(texts[m]), -m))
