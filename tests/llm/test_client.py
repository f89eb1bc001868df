"""The client against a server that misbehaves in every known way, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from faults import FAULTS, FaultServer, InProcess
from virtual_time import run_virtually

from veridical.core.messages import ChatRequest, LlmError, Reply, user
from veridical.errors import UsageError
from veridical.llm.client import LlmClient
from veridical.llm.endpoints import Endpoint

ENDPOINT = Endpoint("test", "http://test.example/v1", "m", timeout=5.0)


def client_of(server: Any, endpoint: Endpoint = ENDPOINT) -> LlmClient:
    return LlmClient(endpoint, http=httpx.AsyncClient(transport=InProcess(server)))


def ask(question: str, **options: Any) -> ChatRequest:
    return ChatRequest(user(question), **options)


def once(fault: str) -> Callable[[int], str | None]:
    return lambda i: fault if i == 0 else None


def always(fault: str) -> Callable[[int], str | None]:
    return lambda i: fault


def chat(
    server: FaultServer,
    request: ChatRequest,
    ordinals: Sequence[int] = (0,),
    endpoint: Endpoint = ENDPOINT,
) -> tuple[list[Reply | LlmError], float, LlmClient]:
    """What comes of one call, how long it took, and the client."""

    async def main() -> tuple[list[Reply | LlmError], LlmClient]:
        client = client_of(server, endpoint)
        return await client.chat(request, ordinals), client

    (outcomes, client), seconds = run_virtually(main())
    return outcomes, seconds, client


def texts(outcomes: Sequence[Reply | LlmError]) -> list[str]:
    assert all(isinstance(o, Reply) for o in outcomes), outcomes
    return [o.text for o in outcomes if isinstance(o, Reply)]


def error_of(outcomes: Sequence[Reply | LlmError]) -> LlmError:
    (outcome,) = outcomes
    assert isinstance(outcome, LlmError)
    return outcome


# --- one answer --------------------------------------------------------------------------------


def test_a_reply_says_all_that_the_server_said() -> None:
    outcomes, _, _ = chat(FaultServer(), ask("Q", logprobs=2))
    (reply,) = outcomes
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.model) == ("Q -> 0.0", "stop", "m")
    assert (reply.usage.prompt, reply.usage.completion) == (10, 3)
    assert reply.logprobs is not None
    assert "".join(t.token for t in reply.logprobs) == "Q -> 0.0"
    assert [len(t.top) for t in reply.logprobs] == [2, 2]
    assert reply.logprobs[0].top[0].logprob == -2.0


def test_the_request_is_sent_as_servers_define_it() -> None:
    server = FaultServer()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": "Q"}, image]
    request = ChatRequest(
        ({"role": "system", "content": "S"}, {"role": "user", "content": content}),
        temperature=0.7,
        max_tokens=9,
        top_p=0.5,
        top_k=40,
        seed=3,
        stop=("END",),
        logprobs=5,
        schema={"type": "object"},
    )
    chat(server, request, endpoint=replace(ENDPOINT, extra_body={"min_p": 0.1}))
    assert server.seen == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "S"},
                {"role": "user", "content": content},
            ],
            "temperature": 0.7,
            "max_tokens": 9,
            "top_p": 0.5,
            "top_k": 40,
            "seed": 3,
            "stop": ["END"],
            "logprobs": True,
            "top_logprobs": 5,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
            },
            "min_p": 0.1,
        }
    ]


def test_what_is_not_wished_for_is_not_sent() -> None:
    server = FaultServer()
    chat(server, ask("Q", max_tokens=None))
    assert set(server.seen[0]) == {"model", "messages", "temperature"}


@pytest.mark.parametrize("fault", [f for f, trouble in FAULTS.items() if trouble is not None])
def test_a_fault_that_passes_is_got_over(fault: str) -> None:
    server = FaultServer(once(fault))
    outcomes, seconds, client = chat(server, ask("Q"))
    (text,) = texts(outcomes)
    assert text.startswith("Q -> ")
    assert server.met[fault] == 1 and server.calls == 2
    assert client.counts.attempts == 2 and client.counts.retries == 1
    assert seconds < 8


@pytest.mark.parametrize(("fault", "trouble"), [(f, t) for f, t in FAULTS.items() if t])
def test_a_fault_that_stays_is_named_by_its_class(fault: str, trouble: str) -> None:
    outcomes, _, client = chat(FaultServer(always(fault)), ask("Q"))
    error = error_of(outcomes)
    assert error.trouble == trouble
    # Lost in transit, or given but of no use: perhaps charged. Refused before: not.
    lost = {"hang", "drip", "disconnect", "cut", "500", "502", "error under 200"}
    paid = fault in lost or trouble == "malformed"
    assert error.possibly_paid == (client.counts.attempts if paid else 0)
    assert client.counts.possibly_paid == error.possibly_paid
    assert client.counts.attempts == (4 if trouble in ("timeout", "malformed") else 6)


@pytest.mark.parametrize(
    ("fault", "trouble"),
    [("length", "length"), ("empty", "empty"), ("refusal", "refused")],
)
def test_an_answer_that_is_none_is_kept_and_says_so(fault: str, trouble: str) -> None:
    outcomes, _, client = chat(FaultServer(always(fault)), ask("Q"))
    (reply,) = outcomes
    assert isinstance(reply, Reply) and client.counts.attempts == 1
    with pytest.raises(LlmError) as e:
        reply.whole()
    assert e.value.trouble == trouble


def test_fenced_json_is_passed_on_as_it_is() -> None:
    outcomes, _, _ = chat(FaultServer(always("fenced")), ask("Q"))
    assert texts(outcomes) == ["```json\nQ -> 0.0\n```"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_request_that_is_refused_is_not_made_again(status: int) -> None:
    outcomes, _, client = chat(FaultServer(always(f"{status} no \x1b[31m\nsuch thing")), ask("Q"))
    error = error_of(outcomes)
    assert error.trouble == "rejected" and client.counts.attempts == 1
    words, _, said = str(error).partition("HTTP ")
    assert said == f"{status}: no ?[31m such thing"
    assert words == {
        401: "test: it requires a key; set key_env to the variable that contains it: ",
        403: "test: it requires a key: ",
        404: "test: it has no model 'm'; check model and base_url: ",
    }.get(status, "test: ")


def test_an_empty_account_is_not_asked_again() -> None:
    told = '429 {"error": {"code": "insufficient_quota", "message": "pay"}}'
    outcomes, _, client = chat(FaultServer(always(told)), ask("Q"))
    assert error_of(outcomes).trouble == "rate_limited" and client.counts.attempts == 1


def test_a_content_filter_is_a_refusal() -> None:
    told = '400 {"error": {"code": "content_filter", "message": "no"}}'
    outcomes, _, _ = chat(FaultServer(always(told)), ask("Q"))
    assert error_of(outcomes).trouble == "refused"


def test_redirects_are_not_followed() -> None:
    server = FaultServer(always("redirect"))
    outcomes, _, _ = chat(server, ask("Q"))
    assert error_of(outcomes).trouble == "rejected" and server.calls == 1


@pytest.mark.parametrize("fault", ["huge", "bomb"])
def test_a_reply_beyond_bounds_is_not_read(fault: str) -> None:
    async def main() -> LlmError:
        client = client_of(FaultServer(always(fault)))
        client._transport._longest = 2**16
        return error_of(await client.chat(ask("Q")))

    error, _ = run_virtually(main())
    assert error.trouble == "malformed" and error.possibly_paid == 1


def test_a_packed_reply_is_unpacked() -> None:
    outcomes, _, _ = chat(FaultServer(always("packed")), ask("Q"))
    assert texts(outcomes) == ["Q -> 0.0"]


def test_the_key_is_sent_and_never_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-123")
    server = FaultServer(always("401 Incorrect API key provided: sk-secret-123."))
    outcomes, _, _ = chat(server, ask("Q"), endpoint=replace(ENDPOINT, key_env="SOME_KEY"))
    assert server.headers["authorization"] == "Bearer sk-secret-123"
    assert str(error_of(outcomes)) == (
        "test: the key in SOME_KEY was not accepted: HTTP 401: Incorrect API key provided: [key]."
    )


def test_a_reply_that_holds_the_key_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-secret-123")
    server = FaultServer()
    endpoint = replace(ENDPOINT, key_env="SOME_KEY")
    outcomes, _, _ = chat(server, ask("say sk-secret-123"), endpoint=endpoint)
    error = error_of(outcomes)
    assert error.trouble == "malformed" and server.calls == 1 and error.possibly_paid == 1
    assert "sk-secret" not in str(error)


def test_a_server_is_not_given_back_its_cookies() -> None:
    server = FaultServer()
    cookies: list[bytes | None] = []

    async def baking(scope: Any, receive: Any, send: Any) -> None:
        cookies.append(dict(scope["headers"]).get(b"cookie"))

        async def with_cookie(event: dict[str, Any]) -> None:
            if event["type"] == "http.response.start":
                event["headers"] = [*event["headers"], (b"set-cookie", b"who=you; Path=/")]
            await send(event)

        await server(scope, receive, with_cookie)

    async def main() -> None:
        client = client_of(baking)
        for _ in range(2):
            texts(await client.chat(ask("Q")))

    run_virtually(main())
    assert cookies == [None, None]


def test_a_key_that_is_not_there_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(UsageError, match="SOME_KEY"):
        chat(FaultServer(), ask("Q"), (0, 1), replace(ENDPOINT, key_env="SOME_KEY"))


@pytest.mark.parametrize("bad", ["lone \ud83d surrogate", float("nan")])
def test_what_cannot_be_sent_is_not_sent(bad: Any) -> None:
    server = FaultServer()
    request = ask(bad) if isinstance(bad, str) else ask("Q", temperature=bad)
    outcomes, _, _ = chat(server, request)
    assert error_of(outcomes).trouble == "rejected" and server.calls == 0


# --- waiting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429 seconds", "429 date", "503"])
def test_retry_after_is_kept_to_with_jitter_on_top(fault: str) -> None:
    waits = set()
    for _ in range(5):
        server = FaultServer(once(fault), latency=0.0, retry_after=20.0)
        _, seconds, _ = chat(server, ask("Q"))
        # A date says whole seconds.
        assert 19.0 <= seconds <= 22.5
        waits.add(round(seconds, 4))
    assert len(waits) > 1


def test_a_wait_beyond_patience_ends_the_call() -> None:
    server = FaultServer(always("429 seconds"), retry_after=3600.0)
    outcomes, seconds, _ = chat(server, ask("Q"))
    assert error_of(outcomes).trouble == "rate_limited" and server.calls == 1 and seconds < 1


def test_a_drip_does_not_outlive_the_timeout() -> None:
    server = FaultServer(always("drip"))
    _, seconds, _ = chat(server, ask("Q"), endpoint=replace(ENDPOINT, attempts=1))
    assert seconds == pytest.approx(5.0, abs=0.1)
    assert server.under_way == 0


@pytest.mark.parametrize("fault", ["hang", "drip", "429 seconds", None])
def test_cancelling_leaves_nothing_behind(fault: str | None) -> None:
    server = FaultServer(always(fault) if fault else lambda i: None, latency=1.0, retry_after=60)

    async def main() -> LlmClient:
        client = client_of(server, replace(ENDPOINT, max_concurrency=4, supports={"n": False}))
        task = asyncio.ensure_future(client.chat(ask("Q"), range(20)))
        await asyncio.sleep(2.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert client.limiter.under_way == 0
        assert (await client_of(FaultServer()).chat(ask("Q")))[0]
        return client

    client, seconds = run_virtually(main())  # sees to tasks left over
    done = 0 if fault else server.answered["Q"]
    assert server.under_way == 0 and seconds < 3
    assert client.counts.possibly_paid == client.counts.attempts - client.counts.rejected - done


# --- several answers ---------------------------------------------------------------------------


def test_several_are_asked_for_in_one_call_where_that_works() -> None:
    server = FaultServer()
    outcomes, _, _ = chat(server, ask("Q"), range(5))
    assert texts(outcomes) == [f"Q -> 0.{i}" for i in range(5)]
    assert server.calls == 1 and server.seen[0]["n"] == 5
    usages = [o.usage for o in outcomes if isinstance(o, Reply)]
    assert sum(u.prompt or 0 for u in usages) == 10
    assert sum(u.completion or 0 for u in usages) == 15


def test_a_server_that_ignores_n_is_asked_for_the_rest_one_by_one() -> None:
    server = FaultServer(can={"n": "ignored"})
    outcomes, _, client = chat(server, ask("Q", seed=7), range(5))
    assert sorted(texts(outcomes)) == [f"Q -> {i}.0" for i in range(5)]
    assert server.calls == 5  # what came of the first is kept
    assert sorted(body["seed"] for body in server.seen) == [7, 8, 9, 10, 11]
    assert client._can.knows("n") is False


def test_a_server_that_refuses_n_is_asked_once_and_then_never_again() -> None:
    server = FaultServer(can={"n": "'n' must be 1 for this model"})

    async def main() -> list[Reply | LlmError]:
        client = client_of(server)
        return [*await client.chat(ask("Q"), range(3)), *await client.chat(ask("R"), range(2))]

    outcomes, _ = run_virtually(main())
    assert len(set(texts(outcomes))) == 5
    assert [body.get("n") for body in server.seen] == [3, None, None, None, None, None]


def test_too_few_are_topped_up_and_too_many_left_out() -> None:
    server = FaultServer(once("fewer"))
    outcomes, _, _ = chat(server, ask("Q"), range(4))
    assert texts(outcomes) == ["Q -> 0.0", "Q -> 0.1", "Q -> 0.2", "Q -> 1.0"]
    outcomes, _, _ = chat(FaultServer(always("more")), ask("Q"), range(3))
    assert texts(outcomes) == ["Q -> 0.0", "Q -> 0.1", "Q -> 0.2"]
    outcomes, _, _ = chat(FaultServer(always("more")), ask("Q"))
    assert texts(outcomes) == ["Q -> 0.0"]


def test_choices_are_taken_by_their_index() -> None:
    outcomes, _, _ = chat(FaultServer(always("shuffled")), ask("Q"), range(6))
    assert texts(outcomes) == [f"Q -> 0.{i}" for i in range(6)]


def test_a_lost_call_for_several_loses_each_of_them() -> None:
    endpoint = replace(ENDPOINT, attempts=1)
    outcomes, _, client = chat(FaultServer(always("cut")), ask("Q"), range(3), endpoint)
    assert [o.possibly_paid for o in outcomes if isinstance(o, LlmError)] == [1, 1, 1]
    assert client.counts.possibly_paid == 3


def test_one_by_one_some_may_fail() -> None:
    server = FaultServer(lambda i: "400 no" if i == 1 else None, can={"n": "ignored"})
    endpoint = replace(ENDPOINT, supports={"n": False}, max_concurrency=1)
    outcomes, _, _ = chat(server, ask("Q"), range(3), endpoint)
    assert [isinstance(o, Reply) for o in outcomes] == [True, False, True]


# --- what a server can -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "message", "field"),
    [
        ("logprobs", "logprobs are not supported", "logprobs"),
        ("schema", "response_format: json_schema is not available", "response_format"),
        ("logprobs", "unsupported parameter", "logprobs"),
        ("schema", "unsupported parameter", "response_format"),
    ],
)
def test_what_is_refused_is_left_out_from_then_on(feature: str, message: str, field: str) -> None:
    server = FaultServer(can={feature: message})
    request = ask("Q", logprobs=1, schema={"type": "object"})

    async def main() -> None:
        client = client_of(server)
        assert len(texts(await client.chat(request))) == 1
        tried = server.calls
        assert len(texts(await client.chat(request))) == 1
        assert server.calls == tried + 1
        sent = {"logprobs", "top_logprobs", "response_format"} & set(server.seen[-1])
        assert field not in sent and sent

    run_virtually(main())


def test_a_refusal_for_another_reason_teaches_nothing() -> None:
    server = FaultServer(lambda i: "400 too long" if i < 3 else None)

    async def main() -> None:
        client = client_of(server)
        error = error_of(await client.chat(ask("Q", logprobs=1)))
        assert error.trouble == "rejected" and "too long" in str(error)
        server.fault = lambda i: None
        (reply,) = await client.chat(ask("Q", logprobs=1))
        assert isinstance(reply, Reply) and reply.logprobs

    run_virtually(main())


def test_max_tokens_is_sent_under_its_other_name_where_that_is_wanted() -> None:
    told = "400 Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server = FaultServer(once(told))
    outcomes, _, _ = chat(server, ask("Q", max_tokens=7))
    assert texts(outcomes) == ["Q -> 0.0"]
    assert server.seen[-1]["max_completion_tokens"] == 7 and "max_tokens" not in server.seen[-1]


@pytest.mark.parametrize(
    "told",
    [
        "400 Unsupported parameter: 'temperature' is not supported with this model.",
        "400 Unsupported value: 'temperature' does not support 0 with this model. "
        "Only the default (1) value is supported.",
    ],
)
def test_temperature_is_left_out_where_it_is_refused(told: str) -> None:
    server = FaultServer(once(told))
    outcomes, _, _ = chat(server, ask("Q", max_tokens=7))
    assert texts(outcomes) == ["Q -> 0.0"]
    assert "temperature" in server.seen[0] and "temperature" not in server.seen[-1]


def test_temperature_and_max_tokens_are_left_out_one_after_the_other() -> None:
    refusals = {
        0: "400 Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        1: "400 Unsupported value: 'temperature'. Only the default (1) is supported.",
    }
    server = FaultServer(refusals.get)

    async def main() -> list[Reply | LlmError]:
        client = client_of(server, ENDPOINT)
        first = await client.chat(ask("Q", max_tokens=7), range(1))
        return [*first, *await client.chat(ask("R", max_tokens=7), range(1))]

    outcomes, _ = run_virtually(main())
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(server.seen) == 4  # remembered: the second question costs one call
    assert all("temperature" not in body for body in server.seen[2:])


def test_a_model_that_reasons_is_given_room_once() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        seen.append(body["max_tokens"])
        short = body["max_tokens"] < 100
        message = {"role": "assistant", "content": "" if short else "<think>So.</think>Yes."}
        reason = "length" if short else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        reply = json.dumps({"choices": [choice], "model": "m"}).encode()
        return httpx.Response(200, stream=httpx.ByteStream(reply))

    seen: list[int] = []

    async def main() -> list[Reply | LlmError]:
        client = LlmClient(ENDPOINT, http=httpx.AsyncClient(transport=httpx.MockTransport(answer)))
        first = await client.chat(ask("Q", max_tokens=7), range(1))
        return [*first, *await client.chat(ask("R", max_tokens=7), range(1))]

    outcomes, _ = run_virtually(main())
    assert [o.text for o in outcomes if isinstance(o, Reply)] == ["<think>So.</think>Yes."] * 2
    assert seen[0] == 7 and len(seen) == 3 and min(seen[1:]) > 1000


# --- many calls --------------------------------------------------------------------------------


def test_under_thirty_per_cent_faults_every_call_is_accounted_for_and_aligned() -> None:
    names = list(FAULTS)
    chance = random.Random(20)
    plan = [chance.choice(names) if chance.random() < 0.3 else None for _ in range(10_000)]
    server = FaultServer(lambda i: plan[i], keep=False)
    questions = [f"question {i}" for i in range(1000)]
    counts = itertools.cycle((1, 1, 1, 3))
    wanted = [next(counts) for _ in questions]

    async def main() -> tuple[list[list[Reply | LlmError]], LlmClient]:
        client = client_of(server, replace(ENDPOINT, timeout=2.0, attempts=10))
        calls = (client.chat(ask(q), range(n)) for q, n in zip(questions, wanted, strict=True))
        return await asyncio.gather(*calls), client

    (results, client), _ = run_virtually(main())
    kinds: Counter[str] = Counter()
    for question, count, outcomes in zip(questions, wanted, results, strict=True):
        assert len(outcomes) == count
        said = [o.text for o in outcomes if isinstance(o, Reply) and o.text]
        assert len(set(said)) == len(said), "a reply was used twice"
        assert all(question == text.removeprefix("```json\n").split(" ->")[0] for text in said)
        kinds.update(o.trouble if isinstance(o, LlmError) else "reply" for o in outcomes)
    assert sum(kinds.values()) == sum(wanted)
    assert kinds["reply"] >= 0.995 * sum(wanted)
    assert set(kinds) <= {"reply", "malformed", "timeout"}  # classes that are not tried for ever
    assert server.calls == client.counts.attempts
    assert client.counts.rejected == sum(
        server.met[f] for f in ("429", "429 seconds", "429 date", "503", "529")
    )
    assert server.under_way == 0
    assert set(server.met) == set(names)
