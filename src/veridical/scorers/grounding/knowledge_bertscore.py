"""Knowledge-BERTScore (Dziri et al. 2022; Kulkarni et al. 2025, section 2)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.engine.greedy_matching import f1
from veridical.scorers.consistency.bert_score import Baseline, rescaled, risk_of


@scorer(
    "knowledge_bertscore",
    level="response",
    needs={"against"},
    source="Kulkarni 2025, section 2; Zhang 2020",
    cost="tokens",
    raw_is="confidence",
    raw_key="f1",
    presets={"all"},
)
async def knowledge_bertscore(
    record: Record,
    evidence: Evidence,
    *,
    baseline: Baseline | None = None,
    against: Literal["contexts", "reference"] = "contexts",
) -> Score:
    """Compute the BERTScore F1 of the response (candidate) with the knowledge (reference).

    Long contexts are read completely, in windows. Of several contexts the one with the best F1
    counts, as one supporting passage is enough.

    Args:
        baseline: rescaling, as in ``bert_score``.
        against: ``contexts`` or ``reference``.

    ``raw`` is ``{"f1", "precision", "recall", "best"}`` (confidence), with ``best`` the index of
    the context; the risk is 1 - F1 before rescaling.
    """
    response = record.need_answer()
    sources = record.against(against)
    p, r = await evidence.bertscore([response], [s.text for s in sources])
    f = f1(p, r)[0].round(6)  # before the maximum, so that rounding noise does not decide
    best = int(np.argmax(f))
    value, precision, recall = rescaled(np.array([f[best], p[0, best], r[0, best]]), baseline)
    raw = {
        "f1": float(value),
        "precision": float(precision),
        "recall": float(recall),
        "best": sources[best].index,
    }
    return Score.of(risk_of(float(f[best])), raw=raw)
