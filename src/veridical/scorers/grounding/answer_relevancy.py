"""Answer relevancy: is the answer about the question?"""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import last_question
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.errors import NotApplicable
from veridical.text.refusals import abstains


@scorer(
    "answer_relevancy",
    level="sentence",
    source="Veridical: cosine of question and answer, after Es 2024 (Ragas), section 3",
    cost="embed",
    apart=True,
    raw_is="confidence",
    presets={"all"},
)
async def answer_relevancy(
    record: Record, evidence: Evidence, *, aggregate: Literal["max", "mean", "whole"] = "max"
) -> Score:
    """Cosine of the embeddings of the question and of the answer's sentences.

    Published, an LLM writes questions that the answer would answer, and the mean cosine of these
    with the question is taken. Without an LLM the answer itself is compared, which is weaker: it
    tells an answer to another question, and not whether the answer is right, complete, or has the
    thing that was asked for. The question is the prompt, or of a conversation the user's last
    message.

    Args:
        aggregate: of the sentences' cosines the largest, or the mean, which is lower for answers
            that add something else; ``whole`` embeds the answer as one text.

    ``raw`` is the cosine in [-1, 1]; the risk, of sentences too, is (1 - cosine) / 2. It is a risk
    of being beside the point, so no verdict rests on it.

    Raises:
        NotApplicable: no prompt; the response is blank or declines to answer (published: 0); or
            the model does not read their script.
    """
    question = last_question(record.prompt).strip()
    if not question:
        raise NotApplicable("the record has no prompt")
    sentences = record.need_sentences()
    if abstains(record.response):
        raise NotApplicable("the response declines to answer")
    texts = [s.text for s in sentences]
    extra = [record.response] if aggregate == "whole" else []
    vectors = (await evidence.embed([question, *texts, *extra])).astype(np.float64)
    cosines = np.clip(vectors[1:] @ vectors[0], -1, 1)
    own = cosines[: len(texts)]
    value = float(cosines[-1] if extra else own.max() if aggregate == "max" else own.mean())
    units = [
        Unit.of(s, (1 - float(c)) / 2, raw=float(c)) for s, c in zip(sentences, own, strict=True)
    ]
    return Score.of((1 - value) / 2, raw=value, units=units)
