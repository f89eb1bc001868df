"""Atomic facts by a language model, sentence by sentence (FActScore)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.asking import question_of
from veridical.claims.claim import Extraction
from veridical.claims.extractors.llm_output import (
    AcceptedClaims,
    answer_tokens,
    lines_of,
    list_in,
    list_schema,
    output_of,
)
from veridical.core.messages import ChatRequest
from veridical.prompts import load_prompt

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

PROMPTS = ("factscore_facts",)
_KEY = "facts"
_SCHEMA = list_schema(_KEY, {"type": "string"})
_BULLET = "- "


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, llm: str | None = None) -> Extraction:
    """Request the atomic facts of each sentence from a language model, one call per sentence.

    The reply is requested as JSON, with a schema if the server enforces one; lines ``- fact`` of
    the published form are accepted too. A fact is dropped unless its words occur in its sentence;
    this alignment replaces the published removal of facts with foreign names and numbers. Facts
    keep the sentence's pronouns, as published. A response that declines to answer (``abstains``) is
    not sent.

    Args:
        llm: endpoint to call; the run's default if None.

    Raises:
        NotApplicable: the response is empty.
        LlmError: as in ``llm_triplets``.

    Source: Min et al. 2023 (FActScore), section 3.1 and table 15.
    """
    prompt = load_prompt(PROMPTS[0])
    shown = [i for i, s in enumerate(record.sentences) if any(map(str.isalnum, s.text))]
    texts = [record.sentences[i].text for i in shown]
    requests = [
        ChatRequest(prompt.messages(sentence=t), max_tokens=answer_tokens(t), schema=_SCHEMA)
        for t in map(str.strip, texts)
    ]
    replies = [r.whole() for r in await evidence.chat(requests, llm)] if requests else []
    for reply, text in zip(replies, texts, strict=True):
        output_of(reply, text)
    taken = AcceptedClaims(record)
    worst, most = "", -1
    for i, reply in zip(shown, replies, strict=True):
        before = taken.refused
        facts = list_in(reply, _KEY)
        for fact in _bullets(reply, taken) if facts is None else facts:
            taken.sentence(fact, fact, {i})
        if taken.refused - before > most:
            worst, most = reply, taken.refused - before
    return taken.extraction(worst, question_of(record))


def _bullets(reply: str, taken: AcceptedClaims) -> list[str]:
    """Parse the facts of the published form, one per line."""
    lines = lines_of(reply)
    for line in lines:
        if not line.startswith(_BULLET):
            taken.refuse(line, "not a fact")
    return [line[len(_BULLET) :] for line in lines if line.startswith(_BULLET)]
