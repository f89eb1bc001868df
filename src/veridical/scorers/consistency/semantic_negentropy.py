"""Normalised semantic negentropy (Bouchard & Chauhan 2025, eq. 8)."""

from __future__ import annotations

import math
from typing import Literal

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.consistency.clusters import Cluster, entropy, semantic_clusters
from veridical.scorers.consistency.sequence_weights import Weights, log_weights

#: The largest log(m + 1) / log(m), at m = 2: what the paper's form may reach below 1.
_LARGEST = math.log(3) / math.log(2)


@scorer(
    "semantic_negentropy",
    level="response",
    needs={"samples"},
    source="Bouchard & Chauhan 2025, eq. 8",
    cost="nli",
    version=3,
    raw_is="confidence",
    added={"answer"},
    presets={"all"},
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
    """1 - the semantic entropy of the response and m samples, as a share of the largest possible.

    Args:
        form: ``normalized`` divides by log(m + 1), the entropy of as many meanings as answers, so
            that the value is in [0, 1] (as the UQLM package does). ``paper`` divides by log(m),
            as printed: the value may be negative, down to 1 - log(3)/log(2) = -0.585, and needs
            two samples.
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
        raise NotApplicable("the paper's form is not defined for a single sample")
    share = nats / math.log(answers - 1)
    return Score.of(min(share / _LARGEST, 1.0), raw=1 - share)
