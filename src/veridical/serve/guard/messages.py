"""Anthropic's ``/v1/messages``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, documents_of, from_anthropic
from veridical.serve.guard.fields import Kind, error_fields, filled, plain, plain_fields
from veridical.serve.guard.pieces import (
    MOST_ANSWERS,
    Channel,
    ChannelEnd,
    ChannelText,
    DroppedContent,
    PassedContent,
    Piece,
    StreamEnd,
    Whole,
)
from veridical.serve.guard.sse import KEEP_ALIVE, SseEvent, UnreadableEvent, rendered

_KINDS: dict[str, Kind] = {
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "thinking_delta": "reasoning",
    "signature_delta": "reasoning",
    "input_json_delta": "tool_calls",
    "citations_delta": "annotations",
}
_OF_MESSAGE = ("id", "type", "role", "model", "stop_reason", "usage", "container")


class MessagesStream:
    """Streamed answer. A channel is a block of text.

    Blocks that are left out do not count in the indices of the others.

    Args:
        passed: kinds of content that held answers contain unchecked.
        stops: the request's stop sequences.
    """

    def __init__(self, passed: Collection[Kind] = (), stops: Collection[str] = ()) -> None:
        self._passed = passed
        self._stops = stops
        self._texts: set[int] = set()
        self._places: dict[int, int] = {}
        self._dropped: dict[int, Kind] = {}
        self._usage: dict[str, Any] = {}
        self._stopped = False
        self.delivered: dict[Channel, str] = {}

    def complete(self) -> bool:
        return self._stopped

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield PassedContent(None, lambda: KEEP_ALIVE)
            return
        found = event.object
        kind = found.get("type", event.name)
        index = found.get("index", 0)
        if not isinstance(kind, str) or not isinstance(index, int):
            raise UnreadableEvent("an event has no type")
        usage = found.get("usage")
        if isinstance(usage, dict):
            self._usage = plain(usage)
        if kind == "message_stop":
            yield StreamEnd(lambda: rendered({"type": kind}, kind))
        elif kind == "content_block_start":
            yield from self._start(found, index)
        elif kind == "content_block_delta":
            yield from self._delta(found, index)
        elif kind == "content_block_stop":
            yield from self._end(index)
        elif kind == "message_start":
            yield from self._begin(found)
        elif kind == "message_delta":
            yield from self._finish(found)
        elif kind == "ping":
            yield PassedContent(None, lambda: rendered({"type": kind}, kind))
        elif kind == "error":
            body = {"type": kind, "error": error_fields(found.get("error"))}
            yield PassedContent(None, lambda: rendered(body, kind))
        else:
            yield self._side(None, "other", found, kind)

    def _side(
        self, channel: Channel | None, kind: Kind, found: Mapping[str, Any], name: str
    ) -> PassedContent | DroppedContent:
        """Return an event with unchecked content, as far as held answers may contain it."""
        if kind not in self._passed:
            return DroppedContent(kind)
        return PassedContent(channel, lambda: rendered(found, name), kind)

    def _begin(self, found: Mapping[str, Any]) -> Iterator[Piece]:
        message = found.get("message")
        if not isinstance(message, dict):
            raise UnreadableEvent("a message is not an object")
        content = message.get("content")
        if content:  # blocks come in events of their own
            yield DroppedContent("other")
        made = {**plain_fields(message, _OF_MESSAGE), "content": [], "stop_sequence": None}
        data = {"type": "message_start", "message": made}
        yield PassedContent(None, lambda: rendered(data, "message_start"))

    def _finish(self, found: Mapping[str, Any]) -> Iterator[Piece]:
        delta = found.get("delta")
        if not isinstance(delta, dict):
            delta = {}
        reason, sequence = delta.get("stop_reason"), _requested(delta, self._stops)
        self._stopped = self._stopped or reason is not None
        called = "tool_calls" in self._dropped.values() and reason == "tool_use"
        if called:
            reason = "refusal"
        event = {
            "type": "message_delta",
            "delta": {"stop_reason": plain(reason), "stop_sequence": sequence},
            "usage": self._usage,
        }
        yield PassedContent(None, lambda: rendered(event, "message_delta"))

    def _start(self, found: Mapping[str, Any], index: int) -> Iterator[Piece]:
        block = found.get("content_block")
        if not isinstance(block, dict):
            raise UnreadableEvent("a block is not an object")
        name = "content_block_start"
        kind = _kind_of(block)
        if kind is None:
            self._texts.add(index)
            made = {"type": "text", "text": ""}
            yield PassedContent(
                (index,), lambda: self._placed(index, {"content_block": made}, name)
            )
            if isinstance(block.get("text"), str) and block["text"]:
                yield ChannelText((index,), block["text"])
            if filled(block.get("citations")):
                yield DroppedContent("annotations")
        elif kind in self._passed:
            yield PassedContent(
                None, lambda: self._placed(index, {"content_block": block}, name), kind
            )
        else:
            self._dropped[index] = kind
            yield DroppedContent(kind)

    def _delta(self, found: Mapping[str, Any], index: int) -> Iterator[Piece]:
        delta = found.get("delta")
        if not isinstance(delta, dict):
            raise UnreadableEvent("a delta is not an object")
        if delta.get("type") == "text_delta":
            if not isinstance(delta.get("text"), str):
                raise UnreadableEvent("a delta's text is not a text")
            self._texts.add(index)
            yield ChannelText((index,), delta["text"])
        else:
            kind = self._dropped.get(index) or _KINDS.get(str(delta.get("type")), "other")
            if kind not in self._passed:
                yield DroppedContent(kind)
                return
            channel = (index,) if index in self._texts else None
            name = "content_block_delta"
            yield PassedContent(channel, lambda: self._placed(index, {"delta": delta}, name), kind)

    def _end(self, index: int) -> Iterator[Piece]:
        if index in self._dropped:
            return
        channel = (index,) if index in self._texts else None
        if channel is not None:
            yield ChannelEnd(channel)
        yield PassedContent(channel, lambda: self._placed(index, {}, "content_block_stop"))

    def _placed(self, index: int, data: Mapping[str, Any], kind: str) -> bytes:
        """Return an event of a block, with its index among the released ones."""
        place = self._places.setdefault(index, len(self._places))
        return rendered({"type": kind, "index": place, **data}, kind)

    def stripped(self, event: SseEvent) -> bytes:
        """Return an event as it is: this API has no log-probabilities."""
        return event.raw

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        kind = "content_block_delta"
        delta = {"type": "text_delta", "text": text}
        return self._placed(channel[0], {"delta": delta}, kind)

    def blocked(self, channel: Channel) -> bytes:
        return self._placed(channel[0], {}, "content_block_stop")

    def closing(self) -> bytes:
        delta = {"stop_reason": "refusal", "stop_sequence": None}
        usage = {"output_tokens": 0, **self._usage}
        event = {"type": "message_delta", "delta": delta, "usage": usage}
        return rendered(event, "message_delta") + rendered({"type": "message_stop"}, "message_stop")

    def final(self, found: Mapping[str, Any]) -> bytes:
        return rendered({"type": "veridical", "veridical": dict(found)}, "veridical")

    def error(self, message: str, code: str) -> bytes:
        error = {"type": "api_error", "message": message, "code": code}
        return rendered({"type": "error", "error": error}, "error")


class MessagesApi:
    """Anthropic's Messages API."""

    name = path = "messages"

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        messages = from_anthropic(body.get("system"), body.get("messages"))
        return [*documents_of(body.get("documents")), *contexts_of(messages, system=system)]

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        return from_anthropic(body.get("system"), body.get("messages"))

    def answers(self, body: Mapping[str, Any]) -> int:
        return 1

    def stops(self, body: Mapping[str, Any]) -> list[str]:
        found = body.get("stop_sequences")
        return [s for s in found if isinstance(s, str)] if isinstance(found, list) else []

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

    def stream(
        self,
        *,
        strip: bool,
        passed: Collection[Kind] = (),
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> MessagesStream:
        return MessagesStream(passed, stops)

    def cleaned(
        self,
        reply: Mapping[str, Any],
        passed: Collection[Kind],
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> tuple[dict[str, Any], list[Kind]]:
        out: list[Kind] = []
        kept: list[Any] = []
        for block in _content(reply):
            kind = _kind_of(block)
            if kind is not None and kind not in passed:
                out.append(kind)
            elif kind is not None:
                kept.append(block)
            else:
                made = {"type": "text", "text": block["text"]}
                if filled(block.get("citations")):
                    if "annotations" in passed:
                        made["citations"] = block["citations"]
                    else:
                        out.append("annotations")
                kept.append(made)
        made = plain_fields(reply, _OF_MESSAGE)
        made |= {"content": kept, "stop_sequence": _requested(reply, stops)}
        if "tool_calls" in out and made.get("stop_reason") == "tool_use":
            made["stop_reason"] = "refusal"
        return made, out

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        found: dict[Channel, Whole] = {}
        kinds: list[Kind] = []
        for i, block in enumerate(_content(reply)):
            kind = _kind_of(block)
            if kind is None:
                found[(i,)] = Whole(block["text"])
            elif kind != "other":
                kinds.append(kind)
        if kinds:
            first = next(iter(found), (-1,))
            text = found[first].text if first in found else ""
            found[first] = Whole(text, (), tuple(dict.fromkeys(kinds)))
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        if channel[0] < 0:
            return  # an index without text, for notes only
        block = reply["content"][channel[0]]
        block["text"] = text
        block.pop("citations", None)
        if blocked:
            reply |= {"stop_reason": "refusal", "stop_sequence": None}
            del reply["content"][channel[0] + 1 :]

    def strip(self, reply: dict[str, Any]) -> None:
        return

    def group(self, channel: Channel) -> int:
        return 0

    def spelled(self, reply: dict[str, Any]) -> None:
        return


def _requested(found: Mapping[str, Any], stops: Collection[str]) -> str | None:
    """Return the stop sequence of a reply if the request has it; any other is text of the model."""
    sequence = found.get("stop_sequence")
    return sequence if isinstance(sequence, str) and sequence in stops else None


def _content(reply: Mapping[str, Any]) -> list[Any]:
    content = reply.get("content")
    if not isinstance(content, list):
        raise UnreadableEvent("the reply has no content")
    return content


def _kind_of(block: Any) -> Kind | None:
    """Return the kind of a block's unchecked content; None for a text."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "text" and isinstance(block.get("text"), str):
        return None
    if isinstance(kind, str) and kind.endswith(("tool_use", "tool_result")):
        return "tool_calls"
    return _KINDS.get(str(kind), "other")
