"""BLEURT: regressor trained on human ratings (Sellam et al. 2020)."""

from __future__ import annotations

import math

from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding._documents import documents, over_documents
from veridical_lab.models.evidence import CheckpointEvidence as Evidence


@scorer(
    "bleurt",
    level="response",
    needs={"against"},
    source="Sellam 2020 (BLEURT)",
    cost="seq2seq",
    raw_is="confidence",
    checkpoints={"model": "regressor"},
)
async def bleurt(
    record: Record,
    evidence: Evidence,
    *,
    against: Against = "reference",
    model: str = "Elron/bleurt-base-512",
) -> Score:
    """Score the pair (source, response) by a regressor.

    Args:
        against: contexts are one document, joined by newlines; of several references the best
            counts, over samples the mean.
        model: hub id or folder of any sequence classifier with one output.

    ``raw`` (confidence) is that output, which is not bounded. It is about 1 for the same meaning,
    and about 0 (BLEURT-20) or -1 (the checkpoints of 2020) for unrelated texts. Risk is ``1 / (1 +
    exp(4 (raw - 0.5)))``: 0.5 half way from 0 to 1. A pair longer than the model takes (512 tokens)
    is rated window by window. Of the windows of the source the best counts; over the pieces of the
    response, the mean weighted by their tokens.
    """
    response = record.need_answer()
    docs = documents(record.against(against))
    rated = await evidence.rate([(d.text, response) for d in docs], model)
    raw = over_documents(docs, rated.tolist())
    power = math.exp(-4 * abs(raw - 0.5))
    return Score.of(power / (1 + power) if raw >= 0.5 else 1 / (1 + power), raw=raw)
