"""FActScore: the share of a response's atomic facts that the sources support (Min et al. 2023)."""

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

#: Templates: with the topic, and without one.
PROMPTS = ("factscore_check_topic", "factscore_check")
_EXTRACTOR = "llm_atomic"
_MOST = 1000  # facts that gamma may ask for


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
    gamma: Annotated[float, Field(ge=0, le=_MOST)] = 0.0,
    top: Annotated[int, Field(ge=1, le=1000)] = 5,
    llm: str | None = None,
    nli: str | None = None,
) -> Score:
    """The share of the response's atomic facts that the sources support.

    A language model breaks each sentence down into facts, and tells of each fact whether it is
    true by the passages, in answer to a question about the topic: ``meta.topic``, else the prompt.
    Published, passages come from Wikipedia; here they are the record's own.

    Args:
        against: ``auto`` takes contexts where the record has them, else reference.
        extractor: what finds the facts: ``llm_atomic`` asks as published, sentence by sentence; or
            any other claim extractor. With ``clauses`` and ``checker=nli`` no LLM is called.
        checker: ``llm`` asks True or False; ``nli`` takes what is entailed for supported.
        gamma: facts from which on length is not held against a response: with n facts, at most
            gamma, the share is multiplied by exp(1 - gamma / n). 0 leaves it, as the paper does;
            the released program takes 10.
        top: passages that a fact is checked by.
        llm: the endpoint asked; the run's own if None.
        nli: NLI model of ``checker=nli``; the run's own if None.

    ``raw`` has ``score`` = ``precision`` x ``penalty``, the number of ``facts`` and how many are
    ``supported``, each with its verdict under ``claims``, and what a model wrote that was no fact
    under ``left_out``. A unit's ``raw`` is 1 where the fact is supported, else 0, and its risk
    1 - P(supported): by token probabilities where the server gives them, in which case more than
    1/2 is supported. ``risk`` is 1 - score. Not applicable to a response that declines to answer,
    as published, or claims nothing.
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
    """What a response with so few facts is multiplied by: 1 where there are more than ``gamma``.

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
