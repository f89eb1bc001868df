"""Mean cosine similarity of the response to the samples (Bouchard 2025, eq. 13)."""

from __future__ import annotations

import numpy as np

from veridical.core.answer_parts import AnswerPart, answer_parts
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record
from veridical.core.registry import scorer
from veridical.core.scores import Score


@scorer(
    "cosine",
    level="response",
    needs={"against"},
    source="Bouchard 2025, eq. 13",
    cost="embed",
    raw_is="confidence",
    added={"answer"},
    presets={"all"},
)
async def cosine(
    record: Record,
    evidence: Evidence,
    *,
    rescale: bool = False,
    against: Against = "samples",
    answer: AnswerPart | None = None,
) -> Score:
    """Mean cosine of the response's embedding with each sample's.

    Args:
        rescale: give the mean of ``0.5 + cos / 2``, in [0, 1], as the UQLM package does; the
            paper's equation is the plain cosine, in [-1, 1].
        against: what the response is compared with. The mean is over samples; of several
            contexts or references the nearest counts.
        answer: compare a part of each text, as ``exact_match`` does; a sample without it has
            cosine -1.

    ``raw`` is that value (confidence). The risk is ``(1 - cos) / 2`` in either form.
    """
    parts = answer_parts(record, against, answer)
    texts = [text for text in parts.others if text is not None]
    vectors = await evidence.embed([parts.response, *texts])
    similarity = np.full(len(parts.others), -1.0)
    similarity[parts.found] = vectors[1:].astype(np.float64) @ vectors[0].astype(np.float64)
    join = np.mean if against == "samples" else np.max
    value = float(join(np.clip(similarity, -1, 1)))
    return Score.of((1 - value) / 2, raw=0.5 + value / 2 if rescale else value)
