"""Merging of equivalent claims across answers, by NLI or an LLM.

The LLM form follows UQLM 0.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from veridical.claims.extractors.llm_output import denies
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt
from veridical.scorers.consistency._clusters import grouped
from veridical.text.fact_sources import FactSources
from veridical.text.facts import Facts
from veridical.text.words import content_spans

Merge = Literal["nli", "llm"]
#: The template sent to the LLM.
PROMPT = "claim_merge"
_CLAIMS_PER_CALL = 10


async def merged(
    evidence: Evidence, groups: Sequence[Sequence[str]], by: Merge, llm: str | None
) -> dict[str, str]:
    """Map each claim to the first equivalent claim, or to itself.

    Args:
        groups: the claims of each answer, in order.
        by: ``nli`` merges claims that entail each other, from any answer. ``llm`` goes answer by
            answer: a language model names, for each claim, an equivalent claim of an earlier
            answer. Claims that differ in a number, date, name or negation are never merged.
        llm: endpoint to call; the run's default if None.

    Raises:
        LlmError: a call returned no reply, or an invalid one.
    """
    if by == "nli":
        return await _by_entailment(evidence, [text for part in groups for text in part])
    return await _by_llm(evidence, groups, llm)


async def _by_entailment(evidence: Evidence, texts: Sequence[str]) -> dict[str, str]:
    texts = list(dict.fromkeys(texts))
    n = len(texts)
    pairs = [(a, b) for a in texts for b in texts if a != b]
    entails = np.eye(n, dtype=bool)
    if pairs:
        verdicts = await evidence.nli(pairs)
        entails[~np.eye(n, dtype=bool)] = verdicts.probabilities.argmax(axis=1) == 0
    clusters = grouped(entails & entails.T)
    return {texts[i]: texts[members[0]] for members in clusters for i in members}


async def _by_llm(
    evidence: Evidence, groups: Sequence[Sequence[str]], llm: str | None
) -> dict[str, str]:
    first: dict[str, str] = {}
    for group in groups:
        known = list(dict.fromkeys(first.values()))
        new = [text for text in dict.fromkeys(group) if text not in first]
        parts = (
            [new[i : i + _CLAIMS_PER_CALL] for i in range(0, len(new), _CLAIMS_PER_CALL)]
            if known
            else []
        )
        requests = [_request(known, part) for part in parts]
        replies = await evidence.chat(requests, llm) if requests else []
        first |= {text: text for text in new}
        for part, reply in zip(parts, replies, strict=True):
            places = read_json(reply.whole(), _schema(len(known), len(part)))["same"]
            for text, place in zip(part, map(int, places), strict=True):
                if place and not _apart(text, known[place - 1]):
                    first[text] = known[place - 1]
    return first


def _request(known: Sequence[str], new: Sequence[str]) -> ChatRequest:
    messages = load_prompt(PROMPT).messages(known=_numbered(known), new=_numbered(new))
    schema = _schema(len(known), len(new))
    return ChatRequest(messages, max_tokens=64 + 8 * len(new), schema=schema)


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, start=1))


def _schema(known: int, new: int) -> dict[str, Any]:
    place = {"type": "integer", "minimum": 0, "maximum": known}
    same = {"type": "array", "items": place, "minItems": new, "maxItems": new}
    return {
        "type": "object",
        "properties": {"same": same},
        "required": ["same"],
        "additionalProperties": False,
    }


def _apart(a: str, b: str) -> bool:
    """Return True if the claims must not be merged.

    They differ in a number, date, name or negation, or each begins with a possible name that the
    other lacks.
    """
    if denies(a) != denies(b):
        return True
    return _lacks(a, b) or _lacks(b, a) or (_leads(a, b) and _leads(b, a))


def _lacks(other: str, text: str) -> bool:
    (facts,) = Facts(text).find([(0, len(text))])
    said = FactSources([other])
    return any(said.find(fact) is None for fact in facts)


def _leads(text: str, other: str) -> bool:
    """Return True if ``text`` begins with a content word that ``other`` lacks."""
    spans = content_spans(text)
    if not spans or text[: spans[0].start].strip():
        return False
    return spans[0].text.casefold() not in {s.text.casefold() for s in content_spans(other)}
