"""Claims of the response and of its samples, for scorers that hold one against the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.arrays import Floats, Matrix
from veridical.claims.claim import Claim
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.errors import NotApplicable
from veridical.scorers.claim_units import claim_prompts, claims_to_judge
from veridical.scorers.consistency.claim_merging import PROMPT
from veridical.scorers.consistency.luq import Aggregate
from veridical.scorers.most_about import sentence_most_about


def _prompts(extractor: str, merge: str, **_: object) -> tuple[str, ...]:
    return claim_prompts(extractor) + ((PROMPT,) if merge == "llm" else ())


#: What the scorers by claims and samples declare alike.
SHARED: dict[str, Any] = {
    "needs": {"samples"},
    "cost": "llm",
    "uses": {"nli", "tokens"},
    "prompts": _prompts,
    "raw_is": "confidence",
    "added": {"merge"},
}


async def claims_of_samples(
    record: Record, evidence: Evidence, sources: Sequence[Source], extractor: str, llm: str | None
) -> list[list[str]]:
    """Texts of the claims that each sample makes; none of one that declines or states nothing."""
    return await asyncio.gather(
        *(_claims_of(record, evidence, source.text, extractor, llm) for source in sources)
    )


async def _claims_of(
    record: Record, evidence: Evidence, text: str, extractor: str, llm: str | None
) -> list[str]:
    if not text.strip():
        return []
    sample = Record(prompt=record.prompt, response=text, contexts=record.contexts)
    try:
        return [c.text for c in await claims_to_judge(sample, evidence, extractor, llm)]
    except NotApplicable:
        return []


def claims_score(
    record: Record,
    evidence: Evidence,
    claims: Sequence[Claim],
    raws: Floats,
    sources: Sequence[Source],
    support: Matrix,
    aggregate: Aggregate,
) -> Score:
    """The score of a response by its claims' confidences.

    Args:
        raws: (claims,) confidence of each, in [0, 1].
        support: (claims, sources) how well each sample supports each; the evidence shows the
            samples that support a claim least, with this as their probability.
    """
    units = [
        Unit.of(
            claim.span(record.response),
            1 - float(raw),
            raw=float(raw),
            level="claim",
            evidence=_least(evidence, claim.text, sources, row),
        )
        for claim, raw, row in zip(claims, raws, support, strict=True)
    ]
    value = float(raws.mean() if aggregate == "mean" else raws.min())
    return Score.of(1 - value, raw=value, units=units)


def _least(
    evidence: Evidence, text: str, sources: Sequence[Source], support: Floats
) -> list[EvidenceItem]:
    least = np.argsort(support, kind="stable")[:SHOWN]
    return [sentence_most_about(evidence, text, sources[n], float(support[n])) for n in least]
