"""An OpenAI-compatible server that misbehaves as told: an ASGI application, and a way to call it
in this process that loses, delays and cuts as a network does.

A healthy answer says what was asked: the text of choice i of the k-th call about a question Q is
``Q -> k.i``, so that a test can see whether replies have been lost, repeated or swapped.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from email.utils import formatdate
from typing import Any

import httpx

#: Every fault, by the trouble that a client must see in it; None where the answer is one.
FAULTS: dict[str, str | None] = {
    "429": "rate_limited",
    "429 seconds": "rate_limited",
    "429 date": "rate_limited",
    "500": "server",
    "502": "server",
    "503": "server",
    "529": "server",
    "hang": "timeout",
    "drip": "timeout",
    "refused connection": "connection",
    "disconnect": "connection",
    "cut": "connection",
    "short": "malformed",
    "not json": "malformed",
    "html": "malformed",
    "surrogates": "malformed",
    "nan": "malformed",
    "no choices": "malformed",
    "same index": "malformed",
    "error under 200": "server",
    "fewer": None,
    "more": None,
    "shuffled": None,
    "length": None,
    "empty": None,
    "refusal": None,
    "fenced": None,
}

PAGE = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"


class Limit:
    """What a server bears: calls a second, by ``kind`` of counting, and calls at once.

    Args:
        rate: calls a second; None for any.
        kind: ``bucket`` (of ``burst`` calls), ``sliding`` or ``fixed`` windows.
        window: seconds, of windows.
    """

    def __init__(
        self,
        rate: float | None = None,
        at_once: int | None = None,
        *,
        kind: str = "sliding",
        burst: float = 1.0,
        window: float = 1.0,
    ) -> None:
        self.rate, self.at_once, self.kind, self.burst = rate, at_once, kind, burst
        self.window = window
        self._tokens, self._filled = burst, 0.0
        self._taken: deque[float] = deque()

    def take(self, under_way: int, now: float) -> bool:
        """Whether a call may come in beside ``under_way`` others."""
        if self.at_once is not None and under_way >= self.at_once:
            return False
        if self.rate is None:
            return True
        if self.kind == "bucket":
            self._tokens = min(self.burst, self._tokens + (now - self._filled) * self.rate)
            self._filled = now
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True
        start = now - self.window if self.kind == "sliding" else now // self.window * self.window
        while self._taken and self._taken[0] < start:
            self._taken.popleft()
        if len(self._taken) >= self.rate * self.window:
            return False
        self._taken.append(now)
        return True


class FaultServer:
    """The ASGI application.

    Args:
        fault: name of the fault that call number i (from 0) meets; None for none.
        latency: seconds that a healthy answer takes, and most faults.
        limit: what it bears; over that it answers ``over_limit`` after ``turned_away`` seconds.
        can: what it makes of ``n``, ``logprobs``, ``schema``, ``echo``: ``yes``, ``ignored``, or
            the message of its refusal.
        retry_after: seconds it asks to wait when it does.

    Attributes:
        calls, under_way: so far, and now.
        answered: healthy answers per question.
        met: how often each fault was met; ``over limit`` is one.
        seen: bodies of all requests; ``headers`` of the last.
    """

    def __init__(
        self,
        fault: Callable[[int], str | None] = lambda i: None,
        *,
        latency: float = 0.05,
        limit: Limit | None = None,
        turned_away: float = 0.0,
        over_limit: str = "429 seconds",
        can: Mapping[str, str] | None = None,
        retry_after: float = 1.0,
        keep: bool = True,
    ) -> None:
        self.fault = fault
        self.latency = latency
        self.limit = limit or Limit()
        self.turned_away = turned_away
        self.over_limit = over_limit
        self.can = {"n": "yes", "logprobs": "yes", "schema": "yes", "echo": "yes"} | dict(can or {})
        self.retry_after = retry_after
        self.keep = keep
        self.calls = self.under_way = self.turning_away = self.most_under_way = 0
        self.answered: Counter[str] = Counter()
        self.met: Counter[str] = Counter()
        self.seen: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        number, self.calls = self.calls, self.calls + 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        turned = False
        try:
            payload = json.loads(body)
            if self.keep:
                self.seen.append(payload)
            self.headers = {k.decode(): v.decode() for k, v in scope["headers"]}
            beside = self.under_way - self.turning_away - 1
            if not self.limit.take(beside, asyncio.get_running_loop().time()):
                self.met["over limit"] += 1
                self.turning_away += 1
                turned = True
                await asyncio.sleep(self.turned_away)
                await self._misbehave(self.over_limit, payload, send)
                return
            fault = self.fault(number)
            if fault is not None:
                self.met[fault] += 1
            if fault not in ("hang", "refused connection"):
                await asyncio.sleep(self.latency)
            if fault is None:
                await self._answer(scope["path"], payload, send)
            else:
                await self._misbehave(fault, payload, send)
        finally:
            self.under_way -= 1
            self.turning_away -= turned

    async def _answer(self, path: str, payload: dict[str, Any], send: Any) -> None:
        if path.endswith("/embeddings"):
            rows = [
                {"index": i, "embedding": [float(len(text)), 1.0]}
                for i, text in enumerate(payload["input"])
            ]
            return await reply(send, 200, {"data": rows[::-1]})
        if path.endswith("/completions") and not path.endswith("/chat/completions"):
            return await self._complete(payload, send)
        for name, field in (("n", "n"), ("logprobs", "logprobs"), ("schema", "response_format")):
            wished = field in payload and (name != "n" or payload["n"] > 1)
            if wished and self.can[name] not in ("yes", "ignored"):
                return await reply(send, 400, {"error": {"message": self.can[name]}})
        await reply(send, 200, self.completion(payload))

    def completion(self, payload: dict[str, Any], choices: int | None = None) -> dict[str, Any]:
        """A healthy chat completion."""
        question = _question(payload)
        k, self.answered[question] = self.answered[question], self.answered[question] + 1
        count = payload.get("n", 1) if self.can["n"] == "yes" else 1
        texts = [f"{question} -> {k}.{i}" for i in range(choices or count)]
        if "response_format" in payload and self.can["schema"] == "yes":
            texts = ['{"ok": true}'] * len(texts)
        logprobs = payload.get("logprobs") and self.can["logprobs"] == "yes"
        return {
            "object": "chat.completion",
            "model": payload.get("model"),
            "choices": [
                {
                    "index": i,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                    "logprobs": _logprobs(text, payload) if logprobs else None,
                }
                for i, text in enumerate(texts)
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 3 * len(texts)},
        }

    async def _complete(self, payload: dict[str, Any], send: Any) -> None:
        """Old completions, with the words of the prompt as tokens."""
        can = self.can["echo"]
        words = [" " + w for w in payload["prompt"].split(" ")]
        tokens = [words[0][1:], *words[1:], " more"]
        values = [None, *(-0.5 * i for i in range(1, len(tokens)))]
        choice: dict[str, Any] = {"index": 0, "text": " more", "finish_reason": "length"}
        if can == "yes" and payload.get("echo"):
            choice["text"] = "".join(tokens)
            choice["logprobs"] = {
                "tokens": tokens,
                "token_logprobs": values,
                "top_logprobs": [
                    None if v is None else {t: v} for t, v in zip(tokens, values, strict=True)
                ],
            }
        elif can == "prompt_logprobs" and payload.get("prompt_logprobs"):
            entries = [
                {str(i): {"logprob": v, "rank": 1, "decoded_token": t}}
                for i, (t, v) in enumerate(zip(tokens[:-1], values[:-1], strict=True))
            ]
            choice["prompt_logprobs"] = [None, *entries[1:]]
        await reply(send, 200, {"choices": [choice]})

    async def _misbehave(self, fault: str, payload: dict[str, Any], send: Any) -> None:
        match fault:
            case "429" | "500" | "502" | "529":
                await reply(send, int(fault), {"error": {"message": "not now"}})
            case "429 seconds" | "503":
                headers = {"retry-after": f"{self.retry_after:g}"}
                await reply(send, int(fault[:3]), {"error": {"message": "not now"}}, headers)
            case "429 date":
                now = time.time()
                headers = {
                    "date": formatdate(now, usegmt=True),
                    "retry-after": formatdate(now + self.retry_after, usegmt=True),
                }
                await reply(send, 429, {"error": {"message": "not now"}}, headers)
            case "hang":
                await asyncio.Event().wait()
            case "drip":
                await start(send, 200)
                for byte in json.dumps(self.completion(payload)).encode():
                    await send({"type": "http.response.body", "body": bytes([byte]), **_MORE})
                    await asyncio.sleep(1.0)
            case "refused connection":
                raise Refused
            case "disconnect":
                return
            case "cut":
                await start(send, 200)
                body = json.dumps(self.completion(payload)).encode()
                await send({"type": "http.response.body", "body": body[: len(body) // 2], **_MORE})
            case "short":
                await reply(send, 200, json.dumps(self.completion(payload)).encode()[:-20])
            case "not json":
                await reply(send, 200, b"OK")
            case "html":
                await reply(send, 200, PAGE, {"content-type": "text/html"})
            case "surrogates":
                body = json.dumps(self.completion(payload)).replace("->", "\\ud83d ->")
                await reply(send, 200, body.encode())
            case "nan":
                body = json.dumps({**self.completion(payload), "created": float("nan")})
                await reply(send, 200, body.encode())
            case "no choices":
                await reply(send, 200, {"choices": []})
            case "same index":
                found = self.completion(payload, 2)
                found["choices"][1]["index"] = 0
                await reply(send, 200, found)
            case "error under 200":
                await reply(send, 200, {"error": {"code": 502, "message": "upstream"}})
            case "fewer":
                await reply(send, 200, self.completion(payload, max(1, payload.get("n", 1) - 1)))
            case "more":
                await reply(send, 200, self.completion(payload, payload.get("n", 1) + 2))
            case "shuffled":
                found = self.completion(payload)
                random.Random(0).shuffle(found["choices"])
                await reply(send, 200, found)
            case "length" | "empty" | "refusal" | "fenced":
                found = self.completion(payload)
                for choice in found["choices"]:
                    _spoil(choice, fault)
                await reply(send, 200, found)
            case "huge":
                body = b'{"choices": [{"message": {"content": "' + b"x" * 2**20 + b'"}}]}'
                await reply(send, 200, body)
            case "bomb":
                body = gzip.compress(b'{"choices": "' + b"x" * 2**24 + b'"}')
                await reply(send, 200, body, {"content-encoding": "gzip"})
            case "packed":
                body = gzip.compress(json.dumps(self.completion(payload)).encode())
                await reply(send, 200, body, {"content-encoding": "gzip"})
            case "redirect":
                await reply(send, 307, b"", {"location": "http://elsewhere.example/v1"})
            case _:
                status, _, message = fault.partition(" ")
                await reply(send, int(status), message.encode())


class Refused(Exception):
    """Nobody listens."""


async def start(send: Any, status: int, headers: Mapping[str, str] | None = None) -> None:
    given = {"content-type": "application/json", **(headers or {})}
    pairs = [(k.encode(), v.encode()) for k, v in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})


async def reply(
    send: Any, status: int, body: bytes | dict[str, Any], headers: Mapping[str, str] | None = None
) -> None:
    await start(send, status, headers)
    packed = body if isinstance(body, bytes) else json.dumps(body).encode()
    await send({"type": "http.response.body", "body": packed})


_MORE = {"more_body": True}


def _question(payload: dict[str, Any]) -> str:
    content = payload["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


def _logprobs(text: str, payload: dict[str, Any]) -> dict[str, Any]:
    tops = [{"token": "?", "logprob": -2.0}] * payload.get("top_logprobs", 0)
    words = [text[:1], text[1:]]
    return {
        "content": [
            {"token": t, "logprob": -0.25, "bytes": None, "top_logprobs": tops} for t in words
        ]
    }


def _spoil(choice: dict[str, Any], fault: str) -> None:
    message = choice["message"]
    if fault == "length":
        choice["finish_reason"] = "length"
    elif fault == "empty":
        message["content"] = ""
    elif fault == "refusal":
        message["content"], message["refusal"] = None, "I cannot help with that."
    else:
        message["content"] = f"```json\n{message['content']}\n```"


class InProcess(httpx.AsyncBaseTransport):
    """Calls an ASGI application without buffering: a body arrives piece by piece, and may not."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        sent = [{"type": "http.request", "body": await request.aread()}]
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def receive() -> dict[str, Any]:
            return sent.pop() if sent else {"type": "http.disconnect"}

        async def run() -> None:
            try:
                await self.app(scope, receive, events.put)
            finally:
                events.put_nowait(None)

        scope = {
            "type": "http",
            "method": request.method,
            "path": request.url.path,
            "headers": [(k.lower(), v) for k, v in request.headers.raw],
        }
        task = asyncio.ensure_future(run())
        body = _Body(task, events)
        try:
            event = await events.get()
        except BaseException:
            await body.aclose()
            raise
        if event is None:
            if isinstance(task.done() and task.exception(), Refused):
                raise httpx.ConnectError("connection refused")
            await body.aclose()
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        return httpx.Response(event["status"], headers=event["headers"], stream=body)


class _Body(httpx.AsyncByteStream):
    def __init__(self, task: asyncio.Task[None], events: Any) -> None:
        self.task, self.events = task, events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            event = await self.events.get()
            if event is None:
                raise httpx.RemoteProtocolError("peer closed connection without sending all")
            yield event["body"]
            if not event.get("more_body"):
                return

    async def aclose(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
