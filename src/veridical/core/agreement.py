"""Agreement of short answers by their notation, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.prompt_text import last_question
from veridical.core.records import Record, Source
from veridical.text.reasoning import answer_only

_MAX_SHORT = 200  # characters; only shorter answers are compared as a whole


def known_agreement(record: Record, sources: Sequence[Source]) -> list[bool | None]:
    """Return for each sample or reference True if it gives the same short answer, else False.

    None where notation alone cannot decide, so that a model is needed; see
    :func:`veridical.text.values.answers.same_answer`.
    """
    answer = record.answer.strip()
    if not answer or len(answer) > _MAX_SHORT:
        return [None] * len(sources)
    from veridical.text.values.answers import same_answer

    question = last_question(record.prompt) or ""
    return [
        same_answer(question, answer, answer_only(source.text).strip())
        if source.kind in ("sample", "reference")
        else None
        for source in sources
    ]
