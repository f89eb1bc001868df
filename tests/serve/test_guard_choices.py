"""Several answers to one request: checked side by side, and let out in the order they came."""

from __future__ import annotations

import asyncio
import itertools
import json
import zlib
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from flights import CUTS, QUICK, TEXTS, cut, flight, sent
from guarding import chunk, served, sse, told, upstream, whole_chat
from hypothesis import given
from hypothesis import strategies as st

from veridical.decide.policy_file import GuardRules
from veridical.serve.guard.app import Guard
from veridical.serve.guard.checking import Finding, SentenceChecker
from veridical.serve.guard.sse import Events
from veridical.serve.guard.upstream import Upstream as Sender


def streams(texts: Sequence[str], *, one_by_one: bool = False) -> bytes:
    """Several answers, a piece of each in turn, or one after the other."""
    parts = [
        [(i, {"content": t}, None) for t in told(text)] + [(i, {}, "stop")]
        for i, text in enumerate(texts)
    ]
    if one_by_one:
        rows = list(itertools.chain(*parts))
    else:
        rows = [p for turn in itertools.zip_longest(*parts) for p in turn if p is not None]
    usage = {**chunk({}), "choices": [], "usage": {"total_tokens": 3}}
    return sse(*(chunk(delta, end, i) for i, delta, end in rows), usage, "[DONE]")


def let_out(data: bytes) -> dict[int, str]:
    texts: dict[int, str] = {}
    for event in Events().feed(data):
        if event.data and event.data != "[DONE]":
            for choice in event.object.get("choices", ()):
                delta = choice["delta"].get("content", "")
                texts[choice["index"]] = texts.get(choice["index"], "") + delta
    return texts


def by_its_text(piece: str) -> float:
    """Seconds: some pieces take much longer than others."""
    return zlib.crc32(piece.encode()) % 4 / 1000


@QUICK
@given(
    st.lists(TEXTS, min_size=2, max_size=4),
    st.sampled_from(["hold", "buffer"]),
    st.sampled_from(["block", "drop", "replace"]),
    CUTS,
    st.booleans(),
)
def test_each_answer_is_as_if_it_were_alone(
    texts: list[str], mode: str, how: Any, places: list[int], one_by_one: bool
) -> None:
    rules = GuardRules(on_reject=how)
    data = streams(texts, one_by_one=one_by_one)
    made = flight(mode=mode, rules=rules, alone=False, takes=by_its_text)
    other = flight(mode=mode, rules=rules, alone=False)
    out = sent(made, cut(data, places))
    assert out == sent(other, [data]), "neither cuts nor the time that judging takes matter"
    assert made.document() == other.document()
    assert b"BAD" not in out and b"BROKEN" not in out
    found = let_out(out)
    for i, text in enumerate(texts):
        alone = let_out(sent(flight(mode=mode, rules=rules), [streams([text])]))
        assert found.get(i, "") == alone.get(0, "")
        if (i,) in made.answers:
            assert made.answers[(i,)].delivered == found.get(i, "")


def test_answers_are_checked_side_by_side_and_each_in_order() -> None:
    texts = [f"Answer {i} is one. Answer {i} is two. Answer {i} is three." for i in range(4)]
    for one_by_one in (False, True):
        made = flight(alone=False, takes=lambda piece: 0.05)
        out = sent(made, [streams(texts, one_by_one=one_by_one)])
        assert let_out(out) == dict(enumerate(texts))
        judge: Any = made.judge  # type: ignore[attr-defined]
        at_once = [piece.split()[1] for piece in judge.together]
        assert sorted(at_once) == ["0", "1", "2", "3"], "one sentence of each"


async def test_what_is_judged_is_given_up_when_the_client_goes() -> None:
    from veridical.serve.guard.streams import HoldingStream

    made = flight(alone=False, takes=lambda piece: 0 if "One" in piece else 60)

    async def coming() -> Any:
        yield streams(["One. Two. Three.", "Four. Five."])

    running = HoldingStream(made, open_on_error=False).run(coming())
    first = await running.__anext__()
    assert b"One." in first
    going = asyncio.ensure_future(running.__anext__())
    await asyncio.sleep(0.05)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    await running.aclose()
    await asyncio.sleep(0.05)
    rest = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
    assert rest == []
    assert made.answers[(0,)].delivered == "One.", "no more than was sent"


def test_answers_of_a_whole_reply_are_checked_side_by_side(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("uvicorn")
    under_way: list[str] = []
    most: list[int] = []

    async def find(self: SentenceChecker, piece: str, record: Any) -> Finding:
        under_way.append(piece)
        most.append(len(under_way))
        await asyncio.sleep(0.1)
        under_way.remove(piece)
        decision: Any = "reject" if "BAD" in piece else "accept"
        return Finding(piece, decision, "supported", 0.1, None, "checked")

    monkeypatch.setattr(SentenceChecker, "find", find)
    monkeypatch.setattr(SentenceChecker, "wants_logprobs", False)
    monkeypatch.setattr(SentenceChecker, "wants_samples", False)
    texts = ["One. Two.", "Three. BAD.", "Five. Six."]
    body = json.dumps(whole_chat(*texts)).encode()
    with upstream(lambda asked, number: (200, "application/json", [body])) as scripted:
        from veridical.llm.endpoints import Endpoint

        sender = Sender(Endpoint("up", scripted.url, "m"))
        checker: Any = SentenceChecker(None, (), None)  # type: ignore[arg-type]
        guard = Guard(sender, checker, GuardRules(), "hold")
        with served(guard) as url:
            asked = {"messages": [{"role": "user", "content": "?"}], "n": 3}
            reply = httpx.post(f"{url}/v1/chat/completions", json=asked, timeout=20).json()
    said = [choice["message"]["content"] for choice in reply["choices"]]
    assert said == ["One. Two.", "Three.", "Five. Six."]
    assert max(most) == 6, "all sentences of all answers"
