"""A guard that runs in this process before an upstream that says what it is told to."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

#: What a script may have between the pieces that are sent: seconds to wait, or the end of the
#: connection without the end of the answer.
Pause = float
CUT = object()
Script = Sequence[Any]


@dataclass
class Upstream:
    """A server on loopback that answers each request by the next script.

    Attributes:
        answer: the script of a request: its body, and which of the requests it is.
        requests: bodies that were received, with their headers under ``headers``.
        gone: requests whose client closed the connection before their script was over.
    """

    answer: Callable[[dict[str, Any], int], tuple[int, str, Script]]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                lines = head.split("\r\n")
                headers = {
                    k.lower(): v.strip() for k, _, v in (li.partition(":") for li in lines[1:])
                }
                body = json.loads(await reader.readexactly(int(headers["content-length"])))
                number = len(self.requests)
                self.requests.append({**body, "headers": headers, "path": lines[0].split(" ")[1]})
                if not await self._say(reader, writer, *self.answer(body, number), number):
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async def _say(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        status: int,
        kind: str,
        script: Script,
        number: int,
    ) -> bool:
        head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n"
        head += "connection: close\r\n\r\n"
        writer.write(head.encode())
        watching = asyncio.ensure_future(reader.read(1))
        try:
            for piece in script:
                if piece is CUT:
                    writer.transport.abort()
                    return False
                if isinstance(piece, float):
                    done, _ = await asyncio.wait({watching}, timeout=piece)
                    if done:
                        self.gone.append(number)
                        return False
                    continue
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        except ConnectionError:
            self.gone.append(number)
            return False
        watching.cancel()
        return False


@contextmanager
def upstream(
    answer: Callable[[dict[str, Any], int], tuple[int, str, Script]],
) -> Iterator[Upstream]:
    """A scripted server, for as long as the block runs."""
    made = Upstream(answer)
    started, stop = threading.Event(), threading.Event()

    async def main() -> None:
        server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        started.set()
        while not stop.is_set():
            await asyncio.sleep(0.02)
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert started.wait(10)
    try:
        yield made
    finally:
        stop.set()
        thread.join(10)


@contextmanager
def served(app: Any) -> Iterator[str]:
    """The address of an ASGI app that is served by uvicorn in a thread."""
    import uvicorn

    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", lifespan="on", ws="none"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        thread.join(0.02)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)


def chunk(delta: Mapping[str, Any], finish: str | None = None, index: int = 0) -> dict[str, Any]:
    """A chunk of the chat API."""
    choice = {"index": index, "delta": dict(delta), "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


def sse(*events: Any, newline: str = "\n") -> bytes:
    """Events with these data: objects, or texts such as ``[DONE]``; of ``type`` as their name."""
    out = ""
    for data in events:
        if isinstance(data, dict) and "type" in data:
            out += f"event: {data['type']}{newline}"
        text = data if isinstance(data, str) else json.dumps(data)
        out += f"data: {text}{newline}{newline}"
    return out.encode()


def told(text: str, size: int = 4) -> list[str]:
    """A text in pieces, as a model writes it."""
    return [text[i : i + size] for i in range(0, len(text), size)]


def chat_stream(text: str, *, done: bool = True, finish: bool = True) -> bytes:
    """A streamed answer of the chat API."""
    events: list[Any] = [chunk({"role": "assistant", "content": ""})]
    events += [chunk({"content": t}) for t in told(text)]
    if finish:
        events.append(chunk({}, "stop"))
    return sse(*events, *(["[DONE]"] if done else []))


def responses_stream(text: str) -> bytes:
    """A streamed answer of the responses API."""
    base = {"id": "r", "object": "response", "model": "m", "status": "in_progress", "output": []}
    place = {"item_id": "i", "output_index": 0, "content_index": 0}
    item = {"id": "i", "type": "message", "role": "assistant", "status": "completed"}
    part = {"type": "output_text", "text": text, "annotations": []}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": base},
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "content": []},
        },
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *(
            {"type": "response.output_text.delta", **place, "delta": t, "logprobs": []}
            for t in told(text)
        ),
        {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": part},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**item, "content": [part]},
        },
        {
            "type": "response.completed",
            "response": {**base, "status": "completed", "output": [{**item, "content": [part]}]},
        },
    ]
    return sse(*({**e, "sequence_number": i} for i, e in enumerate(events)))


def messages_stream(text: str) -> bytes:
    """A streamed answer of Anthropic's API."""
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return sse(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": t},
            }
            for t in told(text)
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 9},
        },
        {"type": "message_stop"},
    )


def completions_stream(text: str) -> bytes:
    """A streamed answer of the API of completions."""
    base = {"id": "c", "object": "text_completion", "created": 1, "model": "m"}

    def event(part: str, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "text": part, "logprobs": None, "finish_reason": finish}
        return {**base, "choices": [choice]}

    return sse(*(event(t) for t in told(text)), event("", "stop"), "[DONE]")


def whole_chat(*texts: str) -> dict[str, Any]:
    """A whole answer of the chat API."""
    choices = [
        {
            "index": i,
            "message": {"role": "assistant", "content": text},
            "finish_reason": "stop",
            "logprobs": None,
        }
        for i, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": choices,
        "usage": usage,
    }


def whole_of(path: str, text: str) -> dict[str, Any]:
    """A whole answer of the API at a path."""
    if path.endswith("chat/completions"):
        return whole_chat(text)
    if path.endswith("completions"):
        choice = {"index": 0, "text": text, "finish_reason": "stop", "logprobs": None}
        return {
            "id": "c",
            "object": "text_completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
        }
    if path.endswith("responses"):
        part = {"type": "output_text", "text": text, "annotations": []}
        item = {
            "id": "i",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
        return {
            "id": "r",
            "object": "response",
            "model": "m",
            "status": "completed",
            "output": [item],
        }
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


STREAMS: dict[str, Callable[[str], bytes]] = {
    "chat/completions": chat_stream,
    "completions": completions_stream,
    "responses": responses_stream,
    "messages": messages_stream,
}


def delivered(path: str, body: bytes) -> str:
    """The text that a client reads from a stream of the API at a path."""
    text = ""
    for event in body.decode().replace("\r\n", "\n").split("\n\n"):
        data = "".join(li[5:].strip() for li in event.split("\n") if li.startswith("data:"))
        if not data or data == "[DONE]":
            continue
        found = json.loads(data)
        if path == "messages":
            text += found.get("delta", {}).get("text", "") if "delta" in found else ""
        elif path == "responses":
            is_text = found.get("type") == "response.output_text.delta"
            text += found["delta"] if is_text else ""
        else:
            for choice in found.get("choices") or ():
                part = choice.get("text") if path == "completions" else None
                text += part or choice.get("delta", {}).get("content") or ""
    return text
