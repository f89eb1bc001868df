"""The LLM grader: what it asks, and what becomes of clear, unclear and failed replies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Record, TokenLogprob
from veridical.errors import UsageError
from veridical.llm.fake import FakeLlm
from veridical.llm.service import LlmService
from veridical.tuning.graders import load_grader

RECORD = Record(prompt="Capital of France?", response="It is Paris", reference=("Paris", "Paname"))


def chat_of(said: Reply | LlmError | str) -> tuple[FakeLlm, LlmService]:
    fake = FakeLlm(lambda request: said)
    return fake, LlmService(fake.endpoint, client=fake)


async def grade(said: Reply | LlmError | str) -> tuple[float | None, str]:
    _, service = chat_of(said)
    try:
        found = await load_grader("llm").grade(RECORD, service.chat)
    finally:
        await service.close()
    return found.correct, found.reason


@pytest.mark.parametrize(
    ("said", "correct"),
    [
        ("Yes", 1.0),
        ("No.", 0.0),
        ('{"right": "Yes"}', 1.0),
        ('{"right": "No"}', 0.0),
        ("I cannot know", None),
        ("Yes and no", None),
        ("Nothing is known", None),
        ("", None),
    ],
)
async def test_strict_reading(said: str, correct: float | None) -> None:
    found, reason = await grade(said)
    assert found == correct and reason


async def test_probability_where_there_is_one() -> None:
    top = ({"token": "Yes", "logprob": math.log(0.6)}, {"token": "No", "logprob": math.log(0.2)})
    token = TokenLogprob.model_validate({"token": "Yes", "logprob": math.log(0.6), "top": top})
    found, reason = await grade(Reply("Yes", "stop", (token,)))
    assert found == pytest.approx(0.75) and "probability" in reason  # 0.6 of 0.8


async def test_cut_and_refused_replies_are_no_grade() -> None:
    assert (await grade(Reply("Ye", "length")))[0] is None
    assert (await grade(Reply("", "stop", refusal="I will not")))[0] is None


async def test_a_failed_call_is_the_callers_business() -> None:
    with pytest.raises(LlmError):
        await grade(LlmError("server", "503"))


async def test_what_is_asked() -> None:
    asked: list[ChatRequest] = []

    async def chat(requests: Sequence[ChatRequest]) -> list[Reply]:
        asked.extend(requests)
        return [Reply("Yes", "stop")]

    await load_grader("llm").grade(RECORD, chat)
    (request,) = asked
    told = "\n".join(m["content"] for m in request.messages)
    for part in ("Capital of France?", "It is Paris", "Paris\n\nPaname"):
        assert part in told
    assert request.temperature == 0 and request.logprobs


async def test_no_call_where_none_is_needed() -> None:
    grader = load_grader("llm")
    with pytest.raises(UsageError, match="requires a language model"):
        await grader.grade(RECORD)
    assert (await grader.grade(Record(response=" ", reference=("a",)))).correct == 0.0
    assert (await grader.grade(Record(response="a"))).correct is None


async def test_the_users_own_template(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "t"\nsource = "s"\n[[message]]\nrole = "user"\n'
        'content = "{answer} or {reference}?"\n[verdict]\nkind = "choice"\nkey = "verdict"\n'
        'best = 1\nvalues = { "Good" = 1, "Bad" = 0 }\n'
    )
    grader = load_grader(f"llm:{path}")
    _, service = chat_of("Bad")
    assert (await grader.grade(RECORD, service.chat)).correct == 0.0
    await service.close()
    with pytest.raises(UsageError, match="cannot grade"):
        load_grader("llm:correct_incorrect")
    with pytest.raises(UsageError):
        load_grader("llm:no_such_template")
