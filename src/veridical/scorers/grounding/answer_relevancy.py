"""Answer relevancy: is the answer about the question?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.prompt_text import last_question
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score, Unit
from veridical.errors import NotApplicable, UsageError
from veridical.llm.asking import failed
from veridical.scorers._questions import questions_in, questions_request
from veridical.text.refusals import abstains

#: The template by which an LLM is asked.
PROMPT = "relevancy_questions"
_WRITTEN = 3  # questions, unless told


def _costs(by: str, **_: object) -> set[Cost]:
    return {"embed", "llm"} if by == "llm" else {"embed"}


def _prompts(by: str, **_: object) -> tuple[str, ...]:
    return (PROMPT,) if by == "llm" else ()


def _check(by: str, aggregate: str, questions: int, llm: str | None, **_: object) -> None:
    if by == "llm" and aggregate != "max":
        raise UsageError(
            "answer_relevancy(by=llm) takes the mean over questions: leave "
            f"aggregate={aggregate} out"
        )
    if by != "llm" and (questions != _WRITTEN or llm is not None):
        what = f"llm={llm}" if llm is not None else f"questions={questions}"
        raise UsageError(f"answer_relevancy(by={by}) asks no llm: leave {what} out")


@scorer(
    "answer_relevancy",
    level="sentence",
    source="Es 2024 (Ragas), section 3; without an LLM: cosine of question and answer",
    cost="llm",
    uses={"embed"},
    costs_by=_costs,
    prompts=_prompts,
    check=_check,
    auxiliary=True,
    raw_is="confidence",
    presets={"all"},
    added={"by", "questions", "llm"},
)
async def answer_relevancy(
    record: Record,
    evidence: Evidence,
    *,
    by: Literal["embeddings", "llm"] = "embeddings",
    aggregate: Literal["max", "mean", "whole"] = "max",
    questions: Annotated[int, Field(ge=1, le=20)] = _WRITTEN,
    llm: str | None = None,
) -> Score:
    """How near the answer is to the question, by the cosine of embeddings.

    Args:
        by: ``llm``, as published: a language model writes questions that the answer would answer,
            without seeing the one that was asked, and the mean cosine of these with it counts.
            ``embeddings`` compares the answer's sentences themselves, which is weaker: it tells an
            answer to another question, and not whether the answer has the thing that was asked for.
        aggregate: of ``embeddings``: the largest of the sentences' cosines, or the mean, which is
            lower for answers that add something else; ``whole`` embeds the answer as one text.
        questions: that the language model writes, 1 to 20, in one call.
        llm: the endpoint of ``by=llm``; the run's own if None.

    The question is the prompt, or of a conversation the user's last message. ``raw`` is the cosine
    in [-1, 1]; the risk, of sentences too, is (1 - cosine) / 2. By an LLM there are no risks of
    sentences. It is a risk of being beside the point, so no verdict rests on it.

    Raises:
        NotApplicable: no prompt; the response is blank or declines to answer (published: 0); the
            language model writes no question; or the embedding model does not read their script.
    """
    question = last_question(record.prompt).strip()
    if not question:
        raise NotApplicable("the record has no prompt")
    sentences = record.need_sentences()
    if abstains(record.response):
        raise NotApplicable("the response declines to answer")
    if by == "llm":
        request = questions_request(PROMPT, questions, answer=record.response)
        try:
            written = questions_in((await evidence.chat([request], llm))[0], questions)
        except LlmError as e:
            return await failed(evidence, e)
        if not written:
            raise NotApplicable("the language model wrote no question")
        mean = float((await _cosines(evidence, question, written)).mean())
        return Score.of((1 - mean) / 2, raw=mean)
    texts = [s.text for s in sentences]
    extra = [record.response] if aggregate == "whole" else []
    cosines = await _cosines(evidence, question, [*texts, *extra])
    own = cosines[: len(texts)]
    value = float(cosines[-1] if extra else own.max() if aggregate == "max" else own.mean())
    units = [
        Unit.of(s, (1 - float(c)) / 2, raw=float(c)) for s, c in zip(sentences, own, strict=True)
    ]
    return Score.of((1 - value) / 2, raw=value, units=units)


async def _cosines(evidence: Evidence, question: str, texts: Sequence[str]) -> Floats:
    """(n,) cosine of each text with the question, in [-1, 1]."""
    vectors = (await evidence.embed([question, *texts])).astype(np.float64)
    cosines: Floats = np.clip(vectors[1:] @ vectors[0], -1, 1)
    return cosines
