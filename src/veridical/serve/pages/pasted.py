"""An answer that somebody pastes, checked claim by claim while they watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from veridical.api import check
from veridical.core.records import Record
from veridical.core.scores import Result
from veridical.errors import UsageError
from veridical.one import acheck_one
from veridical.sampling.sampling import Sampling

#: Statements that are looked at one by one before the whole answer is.
MOST = 60
#: Other answers that are drawn to a prompt.
SAMPLES = 3


class Pasted(BaseModel):
    """What the page sends: an answer and its sources, or a prompt to be answered.

    Attributes:
        response: None for the model's own answer to ``question``.
    """

    model_config = ConfigDict(extra="forbid")
    question: str = Field(default="", max_length=50_000)
    response: str | None = Field(default=None, max_length=200_000)
    contexts: list[str] = Field(default_factory=list, max_length=100)


async def steps(
    pasted: Pasted, options: Mapping[str, Any], llm: str | None
) -> AsyncIterator[dict[str, Any]]:
    """What is found out, in order: the ``statements`` of the answer, each ``claim`` by itself, and
    the ``result`` of the whole answer, which is the one that counts.

    Args:
        options: of the engine.
        llm: that answers prompts; None where none is named.

    Raises:
        UsageError: there is nothing to check, or a prompt and no model to answer it.
    """
    contexts = [text for text in pasted.contexts if text.strip()]
    question = pasted.question.strip() or None
    if pasted.response is None:
        async for told in _answered(question, contexts, options, llm):
            yield told
        return
    response = pasted.response
    try:
        record = Record(response=response)
        sentences = [s for s in record.sentences if s.text.strip()]
    except ValueError:
        raise UsageError("response: it holds a character that no text has") from None
    yield {"event": "statements", "statements": [[s.start, s.end] for s in sentences]}
    if contexts:
        for number, sentence in enumerate(sentences[:MOST]):
            alone = await acheck_one(
                sentence.text,
                contexts=contexts,
                question=question,
                scorers="nli_grounding",
                **_engine(options),
            )
            yield {"event": "claim", "number": number, **_claim(alone)}
    whole = await acheck_one(
        response, contexts=contexts or None, question=question, **_engine(options)
    )
    yield {"event": "result", "response": response, **_whole(whole)}


async def _answered(
    question: str | None, contexts: list[str], options: Mapping[str, Any], llm: str | None
) -> AsyncIterator[dict[str, Any]]:
    if llm is None:
        raise UsageError("response: paste an answer; veridical view --llm NAME answers prompts")
    if question is None:
        raise UsageError("question: there is nothing to answer")
    row: dict[str, Any] = {"prompt": question}
    if contexts:
        row["contexts"] = contexts
    yield {"event": "asked", "llm": llm}

    def run() -> tuple[Record, Result]:
        results = check([row], sampling=Sampling(n=SAMPLES), llm=llm, **options)
        for pair in results.pairs():
            return pair
        raise UsageError("; ".join(error.error for error in results.errors()))

    record, result = await asyncio.to_thread(run)
    yield {"event": "result", "response": record.response, **_whole(result)}


def _engine(options: Mapping[str, Any]) -> Any:
    """The options as keywords, whose types are those of the command."""
    return dict(options)


def _claim(result: Result) -> dict[str, Any]:
    score = next(iter(result.scores.values()))
    unit = max(score.units, key=lambda u: u.risk or 0.0, default=None)
    return {
        "risk": result.risk if score.risk is None else round(score.risk, 4),
        "label": None if unit is None else unit.label,
        "evidence": [] if unit is None else _evidence(unit.evidence),
    }


def _whole(result: Result) -> dict[str, Any]:
    units = []
    score = result.scores.get(result.by or "") or next(
        (s for name, s in result.scores.items() if name.split("(")[0] == result.by), None
    )
    for unit in score.units if score is not None else ():
        if unit.level in ("sentence", "claim"):
            units.append(
                {
                    "start": unit.start,
                    "end": unit.end,
                    "risk": unit.risk,
                    "label": unit.label,
                    "evidence": _evidence(unit.evidence),
                }
            )
    return {
        "verdict": result.verdict,
        "risk": result.risk,
        "by": result.by,
        "units": units,
        "scores": [[name, s.risk, s.status] for name, s in result.scores.items()],
    }


def _evidence(items: Any) -> list[list[Any]]:
    return [[e.kind, e.index, e.start, e.end] for e in items if e.kind == "context"][:5]
