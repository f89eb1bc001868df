"""Number of semantic sets (Lin et al. 2024), as a confidence."""

from __future__ import annotations

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.clusters import Cluster, semantic_clusters


@scorer(
    "semantic_sets",
    level="response",
    needs={"samples"},
    source="Lin 2024; UQLM package",
    cost="nli",
    version=3,
    raw_is="confidence",
    added={"answer"},
    presets={"all"},
)
async def semantic_sets(
    record: Record,
    evidence: Evidence,
    *,
    cluster: Cluster = "mutual",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """How few meanings the response and the m samples have: (m + 1 - number of clusters) / m.

    Args:
        cluster, prompts, answer: as in ``semantic_entropy``.

    ``raw`` is that value, not the number of clusters, which means nothing without m: 1 for one
    meaning, 0 for as many as answers (confidence). ``risk = 1 - raw``.

    Raises:
        NotApplicable: the response is blank, or no sample has a text.
    """
    clusters = await semantic_clusters(record, evidence, cluster, prompts, answer)
    samples = sum(map(len, clusters)) - 1
    risk = (len(clusters) - 1) / samples
    return Score.of(risk, raw=1 - risk)
