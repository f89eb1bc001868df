"""Semantic entropy (Kuhn et al. 2023; Farquhar et al. 2024)."""

from __future__ import annotations

import math

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.clusters import Cluster, entropy, semantic_clusters
from veridical.scorers.consistency.sequence_weights import Weights, log_weights


@scorer(
    "semantic_entropy",
    level="response",
    needs={"samples"},
    source="Farquhar 2024; Bouchard & Chauhan 2025, eq. 7",
    cost="nli",
    version=3,
    raw_is="risk",
    added={"answer"},
    presets={"all"},
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
    """Entropy over the meanings of the response and the samples.

    Args:
        cluster: answers mean the same when they entail each other (``mutual``, as published), or
            when one entails the other in ``either`` direction, as in the UQLM package.
        weights: the share of a meaning is the share of the answers (``discrete``) or of their
            ``probability``, made to sum to 1. ``auto`` takes the latter where the response and
            all samples have log-probabilities.
        length_normalize: an answer's probability is the geometric mean of its tokens'
            probabilities; else their product, which favours short answers.
        prompts: judge each answer with the prompt before it, so that short ones make sense.
        answer: compare a part of each answer, as ``exact_match`` does; a sample without it is a
            meaning of its own.

    ``raw`` is the entropy in nats, from 0 (one meaning) to log(m + 1) (as many as answers, with
    m samples). ``risk = 1 - exp(-raw)``: 1 - 1/k for k equally likely meanings.

    Raises:
        NotApplicable: the response is blank, no sample has a text, or ``weights="probability"``
            and log-probabilities are missing.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    raw = entropy(clusters, log_weights(record, weights, length_normalize, response=True))
    return Score.of(-math.expm1(-raw), raw=raw)
