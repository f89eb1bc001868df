"""Quality of an extractor on one response with known claims.

Hu et al. 2024, RefChecker, section 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.claims import checkers, extractors
from veridical.claims.asking import question_of
from veridical.claims.attribution import judge
from veridical.claims.extractors.given import given_claims
from veridical.core.protocols import LABELS
from veridical.core.records import Source
from veridical.core.registry import Scorer
from veridical.core.scores import Score, Unit

if TYPE_CHECKING:
    from veridical.claims.claim import Claim
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

_ENTAILED = LABELS[0]


async def quality(
    record: Record,
    evidence: Evidence,
    *,
    extractor: extractors.ExtractorName,
    judge_by: str = "nli",
    nli: str | None = None,
    llm: str | None = None,
) -> Score:
    """Compute 1 - F1 of an extractor's claims on one response.

    ``raw`` has ``precision``, ``recall`` and ``f1`` in [0, 1] (all 0 if there are given claims and
    none is found). It also has the counts ``claims`` and ``given``, ``abstained``, and ``missed``,
    the given claims that are not entailed. Units are the claims with the judge's verdicts.
    """
    record.need_response()
    gold = given_claims(record)
    extraction = await extractors.find_extractor(extractor, llm)(record, evidence)
    raw: dict[str, Any] = {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "claims": len(extraction.claims),
        "given": len(gold),
        "abstained": extraction.abstained,
        "missed": [c.text for c in gold],
    }
    if not extraction.claims or not gold:
        return Score.of(float(bool(extraction.claims or gold)), raw=raw)
    check = checkers.find_checker(judge_by)
    prompt = question_of(record)  # without which a short answer says little
    whole = record.response if prompt is None else f"{prompt}\n\n{record.response}"
    joined = _joined(extraction.claims)
    faithful = await judge(extraction.claims, [Source("reference", 0, whole)], evidence, check)
    covered = await judge(gold, [Source("reference", 0, joined)], evidence, check)
    precision = float(np.mean([v.label == _ENTAILED for v in faithful]))
    recall = float(np.mean([v.label == _ENTAILED for v in covered]))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    missed = [v.claim.text for v in covered if v.label != _ENTAILED]
    raw |= {"precision": precision, "recall": recall, "f1": f1, "missed": missed}
    units = [
        Unit.of(
            v.claim.span(record.response),
            v.risk,
            raw=v.risk,
            level="claim",
            label=v.label,
            probabilities=v.probabilities,
        )
        for v in faithful
    ]
    return Score.of(1 - f1, raw=raw, units=units)


def _joined(claims: Sequence[Claim]) -> str:
    """Join all claims to one text of whole sentences."""
    texts = (c.text.strip() for c in claims)
    return " ".join(t if t[-1:] in ".!?。！？" else t + "." for t in texts)


#: Not among the scorers of ``check``: it takes claims that are known to be right.
QUALITY = Scorer(
    name="extraction",
    function=quality,
    level="claim",
    cost="llm",
    source="Hu 2024 (RefChecker), section 6.1",
    costs_by=lambda extractor, judge_by, **_: (
        extractors.costs_of(extractor) | checkers.costs_of(judge_by)
    ),
)
