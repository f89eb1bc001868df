"""Whole runs in which an extractor writes what it should not: no traceback, no record lost, and no
claim that the answer does not make."""

from __future__ import annotations

import asyncio
import json
import sys
import tracemalloc
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "claims"))

from growing import MOST, growth
from hostile_extractions import Case, cases, huge
from hostile_outputs import PASSAGE, RESPONSE, TEXTS

import veridical
from veridical.claims.extractors import find_extractor
from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record
from veridical.llm.fake import FakeLlm

CASES = cases()
SENTENCES = [s.text.strip() for s in Record(response=RESPONSE).sentences]
OF = ("triplets", "subsentence", "atomic")
HUGE = ("claims", "same", "text", "nested", "numbers", "lines", "brackets", "bullets")


class Says(Evidence):
    """An extractor's model that writes ``said``: of the first sentence, where it is asked of each,
    and honest facts of the others."""

    def __init__(self, said: str) -> None:
        super().__init__(Record(prompt="Who was she?", response=RESPONSE))
        self.said = said

    async def chat(self, requests: Any, llm: str | None = None) -> list[Reply]:
        return [Reply(self._of(r), "stop") for r in requests]

    def _of(self, request: ChatRequest) -> str:
        text = request.messages[-1]["content"]
        for i, sentence in enumerate(SENTENCES[1:], start=2):
            if "<sentence-" in text and sentence in text.rsplit("<sentence-", 1)[1]:
                return json.dumps({"facts": [TEXTS[i]]})
        return self.said

    async def _score(self, bound: Any) -> Any:
        raise NotImplementedError


def extraction(of: str, said: str) -> Any:
    evidence = Says(said)
    try:
        return asyncio.run(find_extractor(f"llm_{of}")(evidence.record, evidence))
    except LlmError as e:
        return e


def problem(case: Case) -> str | None:
    """What is wrong with what became of ``case``; None if it is what may."""
    found = extraction(case.of, case.text)
    if isinstance(found, LlmError):
        if case.result == "refused" and case.of != "atomic" and case.kind != "form":
            return f"failed: {found}"
        told = found.trouble == "malformed" and len(str(found)) <= 400
        return None if told else f"no reason: {found}"
    if case.result == "failed" and case.of != "atomic":
        return f"read: {[c.text for c in found.claims]}"
    for claim in found.claims:
        if claim.text.rstrip(".") not in {t.rstrip(".") for t in (*TEXTS, *SENTENCES)}:
            return f"a claim of its own: {claim.text}"
        if not 0 <= claim.start < claim.end <= len(RESPONSE):
            return "a place outside the response"
        owner = SENTENCES[claim.sentence]
        if not any(w in owner for w in claim.text.rstrip(".").split()[-1:]):
            return f"a false place: {claim.text} in {owner}"
    if {c.sentence for c in found.claims} != set(range(len(SENTENCES))):
        return "a sentence that nobody checks"
    return None if found.left_out else "left out in silence"


def test_there_are_more_than_a_thousand() -> None:
    assert len(CASES) == len(set(CASES)) >= 1000
    assert {c.of for c in CASES} == set(OF)
    assert set(Counter(c.kind for c in CASES)) == {"invented", "disguised", "form", "ids", "shape"}


@pytest.mark.parametrize("of", OF)
def test_nothing_is_claimed_that_the_answer_does_not_say(of: str) -> None:
    wrong = [
        f"{case.kind} {case.text[:300]!r}: {why}"
        for case in CASES
        if case.of == of and (why := problem(case)) is not None
    ]
    assert not wrong, f"{len(wrong)}:\n" + "\n".join(wrong[:30])


def test_whole_runs_lose_no_record() -> None:
    """Each scorer's run goes on past every one of them, and tells of all in a line."""
    some = [c for c in CASES if c.of != "atomic"][::9]

    def script(request: ChatRequest) -> str:
        text = request.messages[-1]["content"]
        if "Case " in text and "claim" not in text.partition("Case ")[0].rpartition("<")[2]:
            number = text.rpartition("Case ")[2].split(":")[0]
            asks = '"triplets"' if some[int(number)].of == "triplets" else "Claims in Response"
            if asks in text:
                return some[int(number)].text
        return json.dumps({"answer": "Neutral"})

    for of in ("triplets", "subsentence"):
        rows = [
            {"prompt": f"Case {i}: who was she?", "response": RESPONSE, "contexts": PASSAGE}
            for i, c in enumerate(some)
            if c.of == of
        ]
        with veridical.Engine(llm=FakeLlm(script), store=None, processes=0) as engine:
            scorer = f"claims(extractor=llm_{of}, checker=llm)"
            lines = [json.loads(x) for x in veridical.check(rows, scorer, engine=engine).lines()]
        assert len(lines) == len(rows) >= 20
        for line in lines:
            (score,) = line["scores"].values()
            assert score["status"] in ("scored", "failed")
            if score["status"] == "failed":
                assert score["reason"].startswith("LlmError: ") and "\n" not in score["reason"]
                assert len(score["reason"]) <= 500 and score["risk"] is None
            for unit in score["units"] or []:
                assert RESPONSE[unit["start"] : unit["end"]] == unit["text"]


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("kind", HUGE)
def test_what_is_huge_is_refused_at_once(of: str, kind: str) -> None:
    """A million characters, or 100 000 claims, take neither time nor memory beyond their own."""
    size = 100_000 if kind in ("claims", "same") else 1_000_000
    text = huge(of, kind, size)
    tracemalloc.start()
    found = extraction(of, text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(found, LlmError) and found.trouble in ("malformed", "empty")
    assert found.trouble == "empty" or len(found.text or "") <= 200_000
    assert len(str(found)) <= 400 and peak < 30 * len(text) + 20_000_000


@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("kind", HUGE)
def test_time_grows_as_what_is_let_through(of: str, kind: str) -> None:
    per = 60 if kind in ("claims", "same") else 1
    assert growth(partial(extraction, of), lambda size: huge(of, kind, size // per)) < MOST


def test_no_more_claims_than_words() -> None:
    """Each claim is asked about: an output must not multiply what is paid."""
    words = RESPONSE.replace(".", "").split()
    rows = [[a, b, c] for a in words[:8] for b in words[:8] for c in words[:8] if a != c]
    found = extraction("triplets", json.dumps({"triplets": rows[:300]}))
    if isinstance(found, LlmError):
        assert "more claims than the response has words" in str(found) or "cannot be used" in str(
            found
        )
    else:
        assert len(found.claims) <= len(words) + len(SENTENCES)
    assert len(rows) > 300
