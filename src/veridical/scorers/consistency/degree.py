"""Degrees of the similarity graph (Lin et al. 2023, U_Deg and C_Deg)."""

from __future__ import annotations

from typing import Literal

from veridical.core.answer_parts import AnswerPart
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.consistency.response_graph import Affinity, similarity_graph


@scorer(
    "degree",
    level="response",
    needs={"samples"},
    source="Lin 2023, section 4.2 (C_Deg, U_Deg)",
    cost="nli",
    version=3,
    raw_is="risk",
    added={"answer"},
    presets={"all"},
)
async def degree(
    record: Record,
    evidence: Evidence,
    *,
    of: Literal["response", "all"] = "response",
    affinity: Affinity = "entailment",
    prompts: bool = False,
    answer: AnswerPart | None = None,
) -> Score:
    """Mean dissimilarity of an answer to all n answers: the response and its samples.

    Args:
        of: ``response`` is ``1 - C_Deg = 1 - D_jj / n`` of the judged answer, the paper's measure
            for one answer among several; ``all`` is ``U_Deg = trace(n I - D) / n^2``, its mean
            over the answers, which hardly depends on the judged one.
        affinity: similarity by the probability of entailment, or by 1 - that of contradiction.
        prompts: judge each answer with the prompt before it, as the paper does.
        answer: compare a part of each answer, as ``exact_match`` does; a sample without it
            contradicts all others.

    ``D_jj`` is the sum of the answer's similarities, that to itself (1) included. ``raw`` is in
    [0, 1 - 1 / n]; the risk is the raw value.
    """
    w = await similarity_graph(record, evidence, affinity, prompts, answer)
    raw = 1 - float(w[0].mean() if of == "response" else w.mean())
    return Score.of(min(1.0, max(0.0, raw)), raw=raw)
