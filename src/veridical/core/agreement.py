"""Agreement of short answers by their notation, without a model."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.core.prompt_text import last_question
from veridical.core.records import Record, Source
from veridical.text.reasoning import answer_only

_MAX_SHORT = 200  # characters of an answer that is compared as a whole


def known_agreement(record: Record, sources: Sequence[Source]) -> list[bool | None]:
    """Return for each sample or reference whether it gives the same short answer.

    None where the notation does not tell, so that a model has to: see
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
