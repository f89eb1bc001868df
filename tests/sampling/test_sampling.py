"""Sampling: what is asked, and that every answer stays with its prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sampling_chat import ScriptedChat, echo, prompts, question

from veridical.core.messages import ChatRequest, LlmError, Reply, Usage
from veridical.core.records import Record, TokenLogprob, TopToken
from veridical.errors import RowError, UsageError
from veridical.io import open_source
from veridical.llm.decoding import parse_decoding
from veridical.sampling.sampling import Answered, Failed, Sampler, Sampling, answers


async def collect(chat: Any, rows: Any, sampling: Sampling, **options: Any) -> list[Any]:
    source = open_source(rows, prompts=True)
    sampler = Sampler(chat, sampling, {"run": "r"})
    return [o async for o in answers(source.rows(), sampler, **options)]


def parsed(outcome: Any) -> dict[str, Any]:
    assert isinstance(outcome, Answered), outcome
    found: dict[str, Any] = json.loads(outcome.line)
    return found


async def test_order_and_alignment_whatever_the_calls_take() -> None:
    chat = ScriptedChat(delay=0.01)
    outcomes = await collect(chat, prompts(60), Sampling(n=3), window=7)
    for i, outcome in enumerate(outcomes):
        record = parsed(outcome)
        assert (outcome.row, record["id"]) == (i, f"p{i}")
        assert record["response"] == f"question {i} / greedy"
        assert [s["text"] for s in record["samples"]] == [
            f"question {i} / draw {k}" for k in range(3)
        ]
        assert record["meta"]["sampling"]["row"] == i
    assert len(outcomes) == 60 and chat.most_under_way == 7


async def test_first_draw_as_response_and_n_besides_it() -> None:
    chat = ScriptedChat()
    (outcome,) = await collect(chat, prompts(1), Sampling(n=2, response="first", temperature=0.7))
    record = parsed(outcome)
    assert record["response"] == "question 0 / draw 0"
    assert [s["text"] for s in record["samples"]] == ["question 0 / draw 1", "question 0 / draw 2"]
    assert {r.temperature for r in chat.asked} == {0.7}


async def test_what_is_sent() -> None:
    chat = ScriptedChat()
    sampling = Sampling(
        n=2,
        temperature=0.9,
        decoding=parse_decoding("top_k:40"),
        max_tokens=33,
        system="Be brief.",
        seed=5,
        logprobs=4,
    )
    await collect(chat, prompts(1), sampling)
    greedy, *draws = chat.asked
    assert greedy.messages[0] == {"role": "system", "content": "Be brief."}
    assert (greedy.temperature, greedy.top_k, greedy.seed) == (0.0, None, None)
    assert [(d.temperature, d.top_k, d.top_p, d.seed, d.ordinal) for d in draws] == [
        (0.9, 40, 1.0, 5, 0),
        (0.9, 40, 1.0, 5, 1),
    ]
    assert {(r.max_tokens, r.logprobs) for r in chat.asked} == {(33, 4)}


async def test_a_system_message_of_the_prompt_stays_alone() -> None:
    own = [{"role": "system", "content": "mine"}, {"role": "user", "content": "hello"}]
    chat = ScriptedChat()
    (outcome,) = await collect(chat, [{"prompt": own}], Sampling(n=0, system="theirs"))
    assert list(chat.asked[0].messages) == own
    assert parsed(outcome)["prompt"] == own


async def test_images_are_sent_on() -> None:
    parts = [
        {"type": "text", "text": "what is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]
    chat = ScriptedChat()
    rows = [{"prompt": [{"role": "user", "content": parts}]}]
    (outcome,) = await collect(chat, rows, Sampling(n=0))
    assert chat.asked[0].messages[0]["content"] == parts
    assert parsed(outcome)["prompt"] == rows[0]["prompt"]


async def test_a_failed_call_fails_its_prompt_and_no_other() -> None:
    def script(request: ChatRequest) -> Any:
        number = int(question(request).split()[1])
        if number % 5 == 2 and request.ordinal == number % 3 and request.temperature > 0:
            return LlmError("malformed", "no JSON", possibly_paid=1)
        return echo(request)

    outcomes = await collect(ScriptedChat(script, delay=0.005), prompts(40), Sampling(n=3))
    assert [o.row for o in outcomes] == list(range(40))
    for i, outcome in enumerate(outcomes):
        if i % 5 == 2:
            assert isinstance(outcome, Failed) and outcome.id == f"p{i}"
            assert (outcome.trouble, outcome.possibly_paid) == ("malformed", 1)
            assert "1 of 4 calls" in outcome.error
        else:
            texts = [s["text"] for s in parsed(outcome)["samples"]]
            assert texts == [f"question {i} / draw {k}" for k in range(3)]


async def test_cut_refused_and_empty_answers_are_answers() -> None:
    replies = [
        Reply("cut he", "length"),
        Reply("", "stop", refusal="I cannot say."),
        Reply("", "content_filter"),
    ]
    chat = ScriptedChat(lambda r: "good" if r.temperature == 0 else replies[r.ordinal])
    (outcome,) = await collect(chat, prompts(1), Sampling(n=3))
    assert [(s["text"], s["finish_reason"]) for s in parsed(outcome)["samples"]] == [
        ("cut he", "length"),
        ("I cannot say.", "refusal"),
        ("", "content_filter"),
    ]


async def test_the_rows_other_fields_are_kept(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "question": "who?",
        "contexts": [{"id": "c", "text": "she"}, "he"],
        "reference": ["she", "her"],
        "label": 1,
        "topic": "people",
        "meta": {"deep": [1, {"a": None}]},
    }
    (outcome,) = await collect(ScriptedChat(), [row], Sampling(n=1))
    path = tmp_path / "a.jsonl"
    path.write_bytes(outcome.line + b"\n")
    (record,) = open_source(path).rows()
    assert isinstance(record, Record)
    assert (record.id, record.prompt, record.label) == (7, "who?", 1.0)
    assert [(c.id, c.text) for c in record.contexts] == [("c", "she"), (None, "he")]
    assert record.reference == ("she", "her")
    assert record.meta["topic"] == "people" and record.meta["deep"] == [1, {"a": None}]


async def test_an_answer_the_row_had_is_kept_apart() -> None:
    row = {"prompt": "who?", "response": "him", "samples": ["her"], "label": 1, "sampling": "old"}
    (outcome,) = await collect(ScriptedChat(), [row], Sampling(n=1))
    record = parsed(outcome)
    assert record["response"] == "who? / greedy" and "label" not in record
    assert record["meta"]["sampling"]["given"] == {
        "response": "him",
        "samples": [{"text": "her"}],
        "label": 1.0,
        "sampling": "old",
    }


async def test_samples_for_answers_that_are_there() -> None:
    rows = [{"prompt": "who?", "response": "him", "label": 1}, {"prompt": "what?"}]
    chat = ScriptedChat()
    first, second = await collect(chat, rows, Sampling(n=2, response="given"))
    record = parsed(first)
    assert (record["response"], record["label"], len(record["samples"])) == ("him", 1.0, 2)
    assert [r.temperature for r in chat.asked] == [1.0, 1.0]
    assert isinstance(second, Failed) and "response" in second.error


async def test_log_probabilities_come_back_through_the_readers(tmp_path: Path) -> None:
    tokens = (
        TokenLogprob(
            token="né",
            logprob=-0.25,
            top=(TopToken(token="né", logprob=-0.25), TopToken(token='"\n', logprob=-7.5)),
        ),
        TokenLogprob(token="", logprob=0.0),
    )
    chat = ScriptedChat(lambda r: Reply("né", "stop", tokens, Usage(4, 2), "m"))
    (outcome,) = await collect(chat, prompts(1), Sampling(n=2, logprobs=2))
    path = tmp_path / "a.jsonl"
    path.write_bytes(outcome.line + b"\n")
    (record,) = open_source(path).rows()
    assert isinstance(record, Record)
    assert record.logprobs == tokens
    assert [s.logprobs for s in record.samples] == [tokens, tokens]
    assert [s.finish_reason for s in record.samples] == ["stop", "stop"]
    told = record.meta["sampling"]
    assert told["usage"] == {"prompt": 4, "completion": 2} and len(told["samples_usage"]) == 2
    assert (told["served_model"], told["n"], told["temperature"]) == ("m", 2, 1.0)


HOSTILE: list[tuple[dict[str, Any], str]] = [
    ({"prompt": "  \n"}, "blank"),
    ({"prompt": []}, "empty list"),
    ({"id": 1}, "missing"),
    ({"prompt": ["hello"]}, "chat message"),
    ({"prompt": [{"role": "wizard", "content": "x"}]}, "role"),
    ({"prompt": [{"role": "user"}]}, "content"),
    ({"prompt": [{"role": "user", "content": []}]}, "content"),
    ({"prompt": [{"role": "user", "content": [{"type": "audio"}]}]}, "content[0]"),
    (
        {
            "prompt": [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}],
                }
            ]
        },
        "data:image",
    ),
    ({"prompt": "a\x00b"}, "NUL"),
    ({"prompt": "a\ud800b"}, "surrogate"),
    ({"prompt": 7}, "prompt"),
    ({"prompt": "x", "logprobs": [{"token": "a", "logprob": -1}]}, "requires a response"),
]


async def test_rows_that_cannot_be_asked() -> None:
    rows = [row for row, _ in HOSTILE]
    chat = ScriptedChat()
    outcomes = await collect(chat, [*rows, {"prompt": "ignore all that"}], Sampling(n=0))
    assert [o.row for o in outcomes] == list(range(len(HOSTILE) + 1))
    for outcome, (row, why) in zip(outcomes, HOSTILE, strict=False):
        assert isinstance(outcome, RowError), row
        assert why in f"{outcome.field} {outcome.error}", (row, outcome)
    assert isinstance(outcomes[-1], Answered) and len(chat.asked) == 1


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
async def test_answers_no_record_can_hold_fail(text: str) -> None:
    (outcome,) = await collect(ScriptedChat(lambda r: text), prompts(1), Sampling(n=1))
    assert isinstance(outcome, Failed) and outcome.trouble == "malformed"


async def test_a_record_too_long_to_be_read_back_fails() -> None:
    chat = ScriptedChat(lambda r: "x" * 3_000_000)
    (outcome,) = await collect(chat, prompts(1), Sampling(n=4))
    assert isinstance(outcome, Failed) and "15,0" in outcome.error


async def test_an_endpoint_out_of_order_stops_the_run_and_loses_no_prompt() -> None:
    def script(request: ChatRequest) -> Any:
        number = int(question(request).split()[1])
        return echo(request) if number < 10 else LlmError("connection", "nobody there")

    source = open_source(prompts(500), prompts=True)
    chat = ScriptedChat(script)
    seen = []
    with pytest.raises(LlmError, match="16 prompts in a row"):
        async for outcome in answers(source.rows(), Sampler(chat, Sampling(n=0)), window=20):
            seen.append(outcome)
    assert [o.row for o in seen] == list(range(10)), "the failed ones are left for the next run"
    assert len(chat.asked) < 60


async def test_a_few_failures_of_the_endpoint_are_failures() -> None:
    def script(request: ChatRequest) -> Any:
        number = int(question(request).split()[1])
        return LlmError("timeout", "slow") if number in (3, 4, 9) else echo(request)

    outcomes = await collect(ScriptedChat(script), prompts(10), Sampling(n=0))
    assert [o.row for o in outcomes if isinstance(o, Failed)] == [3, 4, 9]
    assert [o.row for o in outcomes] == list(range(10))


async def test_the_budget_stops_without_a_failure() -> None:
    def script(request: ChatRequest) -> Any:
        number = int(question(request).split()[1])
        return LlmError("budget", "not sent: over") if number >= 4 else echo(request)

    source = open_source(prompts(20), prompts=True)
    seen = []
    with pytest.raises(LlmError, match="over") as e:
        async for outcome in answers(source.rows(), Sampler(ScriptedChat(script), Sampling(n=1))):
            seen.append(outcome)
    assert e.value.trouble == "budget" and [o.row for o in seen] == [0, 1, 2, 3]


async def test_memory_is_bounded_by_the_window_and_by_bytes() -> None:
    read = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal read
        for row in prompts(400):
            read += 1
            yield row

    big = "y" * 4_000_000
    ahead = 0
    source = open_source(rows(), prompts=True)
    sampler = Sampler(ScriptedChat(lambda r: big), Sampling(n=1))
    stream = answers(source.rows(), sampler, window=100)
    for taken in range(1, 120):
        outcome = await anext(stream)
        assert isinstance(outcome, Answered)
        ahead = read - taken
    await stream.aclose()
    assert ahead <= (256 << 20) // len(outcome.line) + 16


async def test_leaving_early_cancels_what_is_under_way() -> None:
    chat = ScriptedChat(delay=600.0)
    source = open_source(prompts(50), prompts=True)
    stream = answers(source.rows(), Sampler(chat, Sampling(n=1)), window=10)
    first = asyncio.ensure_future(anext(stream))
    while chat.under_way < 10 and not first.done():
        await asyncio.sleep(0.005)
    assert chat.under_way == 10
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    await stream.aclose()
    assert chat.under_way == 0


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"n": -1}, "at least 0"),
        ({"temperature": 0.0}, "temperature 0"),
        ({"temperature": float("nan")}, "temperature"),
        ({"logprobs": 21}, "0 to 20"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 0, "response": "given"}, "nothing to request"),
        ({"response": "first", "decoding": parse_decoding("beam:3")}, "needs a random decoding"),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        Sampling(**settings)


async def test_greedy_alone_may_be_at_temperature_0() -> None:
    chat = ScriptedChat()
    await collect(chat, prompts(1), Sampling(n=0, temperature=0.0))
    assert len(chat.asked) == 1
