"""Anthropic's ``/v1/messages``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, documents_of, from_anthropic
from veridical.serve.guard.pieces import Channel, ChannelText, End, Over, Pass, Piece, Whole
from veridical.serve.guard.sse import SseEvent, UnreadableEvent, rendered

_NOTES = {"thinking_delta": "reasoning", "input_json_delta": "tool calls"}


class MessagesStream:
    """A streamed answer. A channel is a block of text."""

    def __init__(self) -> None:
        self._texts: set[int] = set()
        self._usage: dict[str, Any] = {}
        self.delivered: dict[Channel, str] = {}

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield Pass(None, lambda: event.raw)
            return
        found = event.object
        kind = found.get("type", event.name)
        index = found.get("index", 0)
        if not isinstance(kind, str) or not isinstance(index, int):
            raise UnreadableEvent("an event has no type")
        usage = found.get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        if kind == "message_stop":
            yield Over(lambda: event.raw)
        elif kind == "content_block_start":
            yield from self._start(found, index, event)
        elif kind == "content_block_delta":
            delta = found.get("delta")
            if not isinstance(delta, dict):
                raise UnreadableEvent("a delta is no object")
            if delta.get("type") == "text_delta":
                if not isinstance(delta.get("text"), str):
                    raise UnreadableEvent("a delta's text is none")
                self._texts.add(index)
                yield ChannelText((index,), delta["text"])
            else:
                yield Pass(None, lambda: event.raw, _NOTES.get(str(delta.get("type"))))
        elif kind == "content_block_stop" and index in self._texts:
            yield End((index,))
            yield Pass((index,), lambda: event.raw)
        else:
            yield Pass(None, lambda: event.raw)

    def _start(self, found: Mapping[str, Any], index: int, event: SseEvent) -> Iterator[Piece]:
        block = found.get("content_block")
        if not isinstance(block, dict):
            raise UnreadableEvent("a block is no object")
        if block.get("type") != "text":
            yield Pass(None, lambda: event.raw)
            return
        self._texts.add(index)
        made = rendered({**found, "content_block": {**block, "text": ""}}, event.name)
        yield Pass((index,), lambda: made)
        if isinstance(block.get("text"), str) and block["text"]:
            yield ChannelText((index,), block["text"])

    def stripped(self, event: SseEvent) -> bytes:
        """An event as it is: this API has no log-probabilities."""
        return event.raw

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        kind = "content_block_delta"
        delta = {"type": "text_delta", "text": text}
        return rendered({"type": kind, "index": channel[0], "delta": delta}, kind)

    def blocked(self, channel: Channel) -> bytes:
        kind = "content_block_stop"
        return rendered({"type": kind, "index": channel[0]}, kind)

    def closing(self) -> bytes:
        delta = {"stop_reason": "refusal", "stop_sequence": None}
        usage = {"output_tokens": 0, **self._usage}
        told = {"type": "message_delta", "delta": delta, "usage": usage}
        return rendered(told, "message_delta") + rendered({"type": "message_stop"}, "message_stop")

    def final(self, found: Mapping[str, Any]) -> bytes:
        return rendered({"type": "veridical", "veridical": dict(found)}, "veridical")

    def error(self, message: str, code: str) -> bytes:
        error = {"type": "api_error", "message": message, "code": code}
        return rendered({"type": "error", "error": error}, "error")


class MessagesApi:
    """The API of Anthropic's models."""

    name = path = "messages"

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        messages = from_anthropic(body.get("system"), body.get("messages"))
        return [*documents_of(body.get("documents")), *contexts_of(messages, system=system)]

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        return from_anthropic(body.get("system"), body.get("messages"))

    def answers(self, body: Mapping[str, Any]) -> int:
        return 1

    def with_logprobs(self, body: dict[str, Any]) -> bool:
        return False

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return {**body, "stream": False}

    def again(self, body: Mapping[str, Any], said: str, instruction: str) -> dict[str, Any]:
        messages = list(body["messages"])
        if said.strip():
            messages.append({"role": "assistant", "content": said.rstrip()})
        messages.append({"role": "user", "content": instruction})
        return {**self.alone(body), "messages": messages}

    def stream(self, *, strip: bool) -> MessagesStream:
        return MessagesStream()

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        content = reply.get("content")
        if not isinstance(content, list):
            raise UnreadableEvent("the reply has no content")
        found: dict[Channel, Whole] = {}
        notes: list[str] = []
        for i, block in enumerate(content):
            kind = block.get("type") if isinstance(block, dict) else None
            if kind == "text" and isinstance(block.get("text"), str):
                found[(i,)] = Whole(block["text"])
            elif kind == "thinking":
                notes.append("reasoning")
            elif kind != "text":
                notes.append("tool calls")
        if notes:
            first = next(iter(found), (-1,))
            text = found[first].text if first in found else ""
            found[first] = Whole(text, (), tuple(dict.fromkeys(notes)))
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        if channel[0] < 0:
            return  # a place for notes alone
        block = reply["content"][channel[0]]
        block["text"] = text
        block.pop("citations", None)
        if blocked:
            reply["stop_reason"] = "refusal"
            del reply["content"][channel[0] + 1 :]

    def strip(self, reply: dict[str, Any]) -> None:
        return

    def group(self, channel: Channel) -> int:
        return 0
