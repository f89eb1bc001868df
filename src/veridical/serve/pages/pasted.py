"""Check of a pasted answer, claim by claim, with live results."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from veridical.api import check
from veridical.core.records import Context, Record
from veridical.core.scores import Result
from veridical.errors import UsageError
from veridical.sampling.sampling import Sampling
from veridical.serve.pages.shown import judged, unit
from veridical.single import acheck_one

if TYPE_CHECKING:
    from veridical.engine.engine import Engine

#: Maximum statements that are checked one by one before the whole answer.
MOST = 60
#: Number of other answers sampled for a prompt.
SAMPLES = 3


class Pasted(BaseModel):
    """Request of the page: an answer and its sources, or a prompt to be answered.

    Attributes:
        response: None for the model's own answer to ``question``.
    """

    model_config = ConfigDict(extra="forbid")
    question: str = Field(default="", max_length=50_000)
    response: str | None = Field(default=None, max_length=200_000)
    contexts: list[str] = Field(default_factory=list, max_length=100)


async def steps(pasted: Pasted, engine: Engine) -> AsyncIterator[dict[str, Any]]:
    """Yield findings in order: ``statements``, each ``claim`` alone, and the ``result``.

    Only the result of the whole answer is authoritative. For a prompt: ``asked``, and the result.

    Args:
        engine: its LLM, if any, answers prompts and judges.

    Raises:
        UsageError: there is nothing to check, or a prompt and no model to answer it.
    """
    contexts = [text for text in pasted.contexts if text.strip()]
    question = pasted.question.strip() or None
    if pasted.response is None:
        async for line in _answered(question, contexts, engine):
            yield line
        return
    if not pasted.response.strip():
        raise UsageError("response: the answer is empty; paste one")
    sources = tuple(Context(text=text) for text in contexts)
    record = Record(response=pasted.response, contexts=sources)
    sentences = [s for s in record.sentences if s.text.strip()]
    yield {"event": "statements", "statements": [[s.start, s.end] for s in sentences]}
    if contexts:
        for number, sentence in enumerate(sentences[:MOST]):
            alone = await acheck_one(
                sentence.text,
                contexts=contexts,
                question=question,
                scorers="nli_grounding",
                engine=engine,
            )
            yield {"event": "claim", "number": number, **_claim(alone)}
    whole = await acheck_one(
        pasted.response, contexts=contexts or None, question=question, engine=engine
    )
    yield {"event": "result", **judged(record, whole)}


async def _answered(
    question: str | None, contexts: list[str], engine: Engine
) -> AsyncIterator[dict[str, Any]]:
    if engine.llms.default is None:
        raise UsageError(
            "response: the answer is empty; paste one, or start veridical view --llm NAME"
        )
    if question is None:
        raise UsageError("question: the prompt is empty; enter one")
    row: dict[str, Any] = {"prompt": question}
    if contexts:
        row["contexts"] = contexts
    yield {"event": "asked"}

    def run() -> tuple[Record, Result]:
        results = check([row], sampling=Sampling(n=SAMPLES), engine=engine)
        for pair in results.pairs():
            return pair
        raise UsageError("; ".join(error.error for error in results.errors()))

    record, result = await asyncio.to_thread(run)
    yield {"event": "result", **judged(record, result)}


def _claim(result: Result) -> dict[str, Any]:
    """Return the score of a single statement, without offsets, which are not the answer's."""
    (score,) = result.scores.values()
    worst = max(score.units, key=lambda u: u.risk or 0.0, default=None)
    if worst is None:
        return {"risk": score.risk, "label": None, "evidence": []}
    worst_unit = unit(worst)
    return {"risk": score.risk, "label": worst_unit["label"], "evidence": worst_unit["evidence"]}
