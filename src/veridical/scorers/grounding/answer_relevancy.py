"""Answer relevancy: similarity of the answer to the question."""

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

#: The template sent to the LLM.
PROMPT = "relevancy_questions"
_DEFAULT_QUESTIONS = 3


def _costs(by: str, **_: object) -> set[Cost]:
    return {"embed", "llm"} if by == "llm" else {"embed"}


def _prompts(by: str, **_: object) -> tuple[str, ...]:
    return (PROMPT,) if by == "llm" else ()


def _check(by: str, aggregate: str, questions: int, llm: str | None, **_: object) -> None:
    if by == "llm" and aggregate != "max":
        raise UsageError(
            f"answer_relevancy(by=llm) averages over questions; remove aggregate={aggregate}"
        )
    if by != "llm" and (questions != _DEFAULT_QUESTIONS or llm is not None):
        what = f"llm={llm}" if llm is not None else f"questions={questions}"
        raise UsageError(f"answer_relevancy(by={by}) calls no LLM; remove {what}")


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
    questions: Annotated[int, Field(ge=1, le=20)] = _DEFAULT_QUESTIONS,
    llm: str | None = None,
) -> Score:
    """Measure the similarity of the answer to the question by the cosine of embeddings.

    Args:
        by: ``llm``, the published form. A language model writes questions that the answer would
            answer, without seeing the actual one; the mean cosine with the actual question counts.
            ``embeddings`` compares the answer's sentences with the question. It is weaker: it
            detects answers to another question, but not a missing answer.
        aggregate: for ``embeddings``: the maximum over the sentences, or the mean, which is lower
            for answers with additional content. ``whole`` embeds the answer as one text.
        questions: number of questions to generate, 1 to 20, in one call.
        llm: endpoint of ``by=llm``; the run's default if None.

    The question is the prompt, or the user's last message of a conversation. ``raw`` is the cosine
    in [-1, 1]; the risk, also of sentences, is (1 - cosine) / 2. With ``by=llm`` sentences have no
    risk. The score measures relevance, not truth, so it does not affect the verdict.

    Raises:
        NotApplicable: the record has no prompt, or the response is blank or declines to answer
            (published: 0). Or the language model writes no question, or the embedding model does
            not support their script.
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
    """Return the (n,) cosine of each text with the question, in [-1, 1]."""
    vectors = (await evidence.embed([question, *texts])).astype(np.float64)
    cosines: Floats = np.clip(vectors[1:] @ vectors[0], -1, 1)
    return cosines
