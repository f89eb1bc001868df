"""FActScore: share of supported atomic facts (Min et al. 2023)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from veridical.claims import extractors
from veridical.claims.asking import question_of
from veridical.claims.claim import Claim
from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.prompts import load_prompt
from veridical.scorers.grounding._precision import (
    AUTO,
    Judge,
    Sources,
    Supported,
    by_llm,
    by_nli,
    claims_of,
    costs,
    details,
)

#: Templates with and without a topic.
PROMPTS = ("factscore_check_topic", "factscore_check")
_EXTRACTOR = "llm_atomic"
_MAX_GAMMA_FACTS = 1000


def _costs(extractor: str, checker: Judge, nli: str | None, **_: object) -> set[Cost]:
    return costs("factscore", extractors.costs_of(extractor), checker, nli)


def _prompts(extractor: str, checker: Judge, **_: object) -> tuple[str, ...]:
    return extractors.prompts_of(extractor) + (PROMPTS if checker == "llm" else ())


@scorer(
    "factscore",
    level="claim",
    judges=True,
    needs={"against"},
    source="Min 2023, definition 1, sections 3.1 and 4.1",
    cost="llm",
    version=3,
    uses={"nli", "tokens"},
    raw_is="confidence",
    raw_key="score",
    costs_by=_costs,
    prompts=_prompts,
)
async def factscore(
    record: Record,
    evidence: Evidence,
    *,
    against: Sources = "auto",
    extractor: ExtractorName = _EXTRACTOR,
    checker: Judge = "llm",
    gamma: Annotated[float, Field(ge=0, le=_MAX_GAMMA_FACTS)] = 0.0,
    top: Annotated[int, Field(ge=1, le=1000)] = 5,
    llm: str | None = None,
    nli: str | None = None,
) -> Score:
    """Compute the share of the response's atomic facts that the sources support.

    A language model splits each sentence into facts. It judges from the passages whether each fact
    is true, given the topic: ``meta.topic``, else the prompt. In the paper passages come from
    Wikipedia; here they are the record's own.

    Args:
        against: ``auto`` takes contexts if the record has them, else reference.
        extractor: extractor of the facts: ``llm_atomic``, as published, sentence by sentence; or
            any other claim extractor. With ``clauses`` and ``checker=nli`` no LLM is called.
        checker: ``llm`` asks True or False; ``nli`` counts entailed facts as supported.
        gamma: length penalty: with n facts, n at most gamma, the share is multiplied by exp(1 -
            gamma / n). 0 disables it, as in the paper; the released program uses 10.
        top: number of passages per fact.
        llm: endpoint to call; the run's default if None.
        nli: NLI model of ``checker=nli``; the run's default if None.

    ``raw`` has ``score`` = ``precision`` x ``penalty``, and the numbers of ``facts`` and of
    ``supported`` ones. It has each fact with its verdict under ``claims``, and model output
    rejected as a fact under ``left_out``. A unit's ``raw`` is 1 if the fact is supported, else 0,
    and its risk is 1 - P(supported). P(supported) comes from token probabilities if the server
    returns them; more than 1/2 is then supported. ``risk`` is 1 - score. A response that declines
    to answer, as published, or claims nothing is not applicable.
    """
    sources = record.against(against, auto=AUTO)
    extraction = await claims_of(record, evidence, extractors.find_extractor(extractor, llm))
    if checker == "nli":
        judged = await by_nli(extraction.claims, sources, evidence, nli, top)
    else:
        judged = await _asked(record, extraction.claims, sources, evidence, llm, top)
    supported = sum(s.supported for s in judged)
    precision = supported / len(judged)
    penalty = length_penalty(len(judged), gamma)
    raw = {
        "score": precision * penalty,
        "precision": precision,
        "penalty": penalty,
        "facts": len(judged),
        "supported": supported,
        **details(judged, extraction),
    }
    units = [s.unit(record.response) for s in judged]
    return Score.of(1 - precision * penalty, raw=raw, units=units)


def length_penalty(facts: int, gamma: float) -> float:
    """Return the factor for a response with few facts: 1 if there are more than ``gamma``.

    >>> length_penalty(10, 10), round(length_penalty(5, 10), 4)
    (1.0, 0.3679)
    """
    return 1.0 if facts > gamma else math.exp(1 - gamma / facts)


async def _asked(
    record: Record,
    facts: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    llm: str | None,
    top: int,
) -> list[Supported]:
    topic = record.meta.get("topic")
    if not (isinstance(topic, str) and topic.strip()):
        topic = question_of(record)
    about = {} if topic is None else {"topic": topic}

    def parts(fact: Claim, passages: Sequence[str]) -> dict[str, Any]:
        context = "\n\n".join(f"Text: {p}" for p in passages)
        return {**about, "context": context, "fact": fact.text}

    prompt = load_prompt(PROMPTS[topic is None])
    return await by_llm(facts, sources, evidence, llm, top, prompt, parts)
