"""OpenAI's ``/v1/responses``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, from_responses
from veridical.serve.guard.pieces import (
    Channel,
    ChannelText,
    End,
    Over,
    Pass,
    Piece,
    Whole,
    entries_of,
    tokens_of,
)
from veridical.serve.guard.sse import SseEvent, UnreadableEvent, rendered

_LAST = ("response.completed", "response.incomplete", "response.failed")
_OF_TOOLS = ("call", "mcp", "function")


class ResponsesStream:
    """A streamed answer. A channel is a part of an item of the output.

    Events that repeat a text, such as the last one, are passed on with what was let out of it.
    """

    def __init__(self, *, strip: bool) -> None:
        self._strip = strip
        self._response: dict[str, Any] = {}
        self._items: dict[Channel, str] = {}
        self._seen: dict[Channel, str] = {}
        self._ended: set[Channel] = set()
        self._number = 0
        self.delivered: dict[Channel, str] = {}

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield Pass(None, lambda: event.raw)
            return
        if event.data.strip() == "[DONE]":
            yield Over(lambda: event.raw)
            return
        found = event.object
        kind = found.get("type", event.name)
        if not isinstance(kind, str):
            raise UnreadableEvent("an event has no type")
        if isinstance(found.get("response"), dict):
            self._response = found["response"]
        if kind == "response.output_text.delta":
            delta = found.get("delta")
            if not isinstance(delta, str):
                raise UnreadableEvent("a delta is no text")
            channel = self._channel(found)
            self._items[channel] = str(found.get("item_id", ""))
            self._seen[channel] = self._seen.get(channel, "") + delta
            yield ChannelText(channel, delta, tokens_of(found.get("logprobs")))
            return
        for channel, text in self._texts(kind, found):
            yield from self._catch_up(channel, text)
        if kind in _LAST:
            yield Over(lambda: self._snapshot(kind, found))
            return
        note = None
        if "reasoning" in kind:
            note = "reasoning"
        elif "refusal" in kind:
            note = "refusal"
        elif any(part in kind for part in _OF_TOOLS):
            note = "tool calls"
        yield Pass(None, lambda: self._snapshot(kind, found), note)

    def _texts(self, kind: str, found: Mapping[str, Any]) -> Iterator[tuple[Channel, str]]:
        """Channels that are complete, with the whole text of each, by an event that has it."""
        if kind == "response.output_text.done":
            yield self._channel(found), _text(found.get("text"))
        elif kind == "response.content_part.done" and _is_text(found.get("part")):
            yield self._channel(found), _text(found["part"].get("text"))
        elif kind == "response.output_item.done":
            yield from _parts(found.get("item"), _index(found.get("output_index")))
        elif kind in _LAST:
            output = self._response.get("output")
            for i, item in enumerate(output if isinstance(output, list) else ()):
                yield from _parts(item, i)

    def _catch_up(self, channel: Channel, text: str) -> Iterator[Piece]:
        """A text that was not, or not all, told by deltas; a complete one ends."""
        seen = self._seen.get(channel, "")
        if text != seen and channel not in self._ended:
            if not text.startswith(seen):
                raise UnreadableEvent("a text is not what its deltas said")
            self._seen[channel] = text
            yield ChannelText(channel, text[len(seen) :])
        if channel not in self._ended:
            self._ended.add(channel)
            yield End(channel)

    def _channel(self, found: Mapping[str, Any]) -> Channel:
        return _index(found.get("output_index")), _index(found.get("content_index"))

    def _snapshot(self, kind: str, found: Mapping[str, Any]) -> bytes:
        """An event whose texts are those that were let out."""
        made = dict(found)
        if kind == "response.output_text.done":
            made["text"] = self._let_out(self._channel(found))
            made["logprobs"] = []
        elif kind.startswith("response.content_part.") and _is_text(found.get("part")):
            made["part"] = self._part(found["part"], self._channel(found))
        elif kind.startswith("response.output_item."):
            made["item"] = self._item(found.get("item"), _index(found.get("output_index")))
        elif isinstance(found.get("response"), dict):
            made["response"] = self._whole(found["response"])
        return self._numbered(made, kind)

    def _let_out(self, channel: Channel) -> str:
        return self.delivered.get(channel, "")

    def _part(self, part: Any, channel: Channel) -> Any:
        if not _is_text(part):
            return part
        text = self._let_out(channel)
        made = {**part, "text": text, "logprobs": []}
        if text != part.get("text"):
            made["annotations"] = []  # they have places in the text
        return made

    def _item(self, item: Any, index: int) -> Any:
        content = item.get("content") if isinstance(item, dict) else None
        if not isinstance(content, list) or item.get("type") != "message":
            return item
        parts = [self._part(part, (index, j)) for j, part in enumerate(content)]
        return {**item, "content": parts}

    def _whole(self, response: Mapping[str, Any]) -> dict[str, Any]:
        output = response.get("output")
        items = output if isinstance(output, list) else []
        made = {**response, "output": [self._item(item, i) for i, item in enumerate(items)]}
        made.pop("output_text", None)
        return made

    def _numbered(self, made: Mapping[str, Any], kind: str) -> bytes:
        """Its place in the stream: events are left out and added."""
        if "sequence_number" in made:
            made = {**made, "sequence_number": self._number}
        self._number += 1
        return rendered(made, kind)

    def stripped(self, event: SseEvent) -> bytes:
        """An event without the log-probabilities that the guard asked for."""
        if not self._strip or event.data is None or '"logprobs"' not in event.data:
            return event.raw
        return rendered(_without(event.object), event.name)

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        kind = "response.output_text.delta"
        data = {
            "type": kind,
            "item_id": self._items.get(channel, ""),
            "output_index": channel[0],
            "content_index": channel[1],
            "delta": text,
            "logprobs": [] if self._strip else entries_of(tokens),
            "sequence_number": 0,
        }
        return self._numbered(data, kind)

    def blocked(self, channel: Channel) -> bytes:
        place = {
            "item_id": self._items.get(channel, ""),
            "output_index": channel[0],
            "content_index": channel[1],
        }
        text = self._let_out(channel)
        part = {"type": "output_text", "text": text, "annotations": []}
        told = (
            ("response.output_text.done", {**place, "text": text, "logprobs": []}),
            ("response.content_part.done", {**place, "part": part}),
        )
        return b"".join(
            self._numbered({"type": kind, **data, "sequence_number": 0}, kind)
            for kind, data in told
        )

    def closing(self) -> bytes:
        items: dict[int, list[Any]] = {}
        for channel, text in sorted(self.delivered.items()):
            part = {"type": "output_text", "text": text, "annotations": []}
            items.setdefault(channel[0], []).append(part)
        output = [
            {
                "type": "message",
                "id": self._items.get((i, 0), ""),
                "role": "assistant",
                "status": "incomplete",
                "content": parts,
            }
            for i, parts in items.items()
        ]
        response = {
            **self._response,
            "status": "incomplete",
            "incomplete_details": {"reason": "content_filter"},
            "output": output,
        }
        kind = "response.incomplete"
        return self._numbered({"type": kind, "response": response, "sequence_number": 0}, kind)

    def final(self, found: Mapping[str, Any]) -> bytes:
        data = {"type": "veridical", "veridical": dict(found), "sequence_number": 0}
        return self._numbered(data, "veridical")

    def error(self, message: str, code: str) -> bytes:
        data = {
            "type": "error",
            "code": code,
            "message": message,
            "param": None,
            "sequence_number": 0,
        }
        return self._numbered(data, "error")


class ResponsesApi:
    """The responses API."""

    name = path = "responses"

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        messages = from_responses(body.get("instructions"), body.get("input"))
        return contexts_of(messages, body.get("documents"), system=system)

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        return from_responses(body.get("instructions"), body.get("input"))

    def answers(self, body: Mapping[str, Any]) -> int:
        return 1

    def with_logprobs(self, body: dict[str, Any]) -> bool:
        wanted = "message.output_text.logprobs"
        include = body.get("include")
        include = list(include) if isinstance(include, list) else []
        if wanted in include:
            return False
        body["include"], body["top_logprobs"] = [*include, wanted], 5
        return True

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        left_out = ("stream_options", "include", "top_logprobs", "background")
        return {k: v for k, v in body.items() if k not in left_out} | {"stream": False}

    def again(self, body: Mapping[str, Any], said: str, instruction: str) -> dict[str, Any]:
        asked = self.alone(body)
        given = body.get("input")
        items: list[Any] = (
            list(given) if isinstance(given, list) else [{"role": "user", "content": given}]
        )
        if said:
            items.append({"role": "assistant", "content": said})
        items.append({"role": "user", "content": instruction})
        asked["input"] = items
        return asked

    def stream(self, *, strip: bool) -> ResponsesStream:
        return ResponsesStream(strip=strip)

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        output = reply.get("output")
        if not isinstance(output, list):
            raise UnreadableEvent("the reply has no output")
        found: dict[Channel, Whole] = {}
        notes = []
        for i, item in enumerate(output):
            kind = item.get("type", "") if isinstance(item, dict) else ""
            if any(part in str(kind) for part in _OF_TOOLS):
                notes.append("tool calls")
            elif kind == "reasoning":
                notes.append("reasoning")
            for channel, text in _parts(item, i):
                part = item["content"][channel[1]]
                found[channel] = Whole(text, tokens_of(part.get("logprobs")))
        if notes:
            first = next(iter(found), (0, 0))
            whole = found.get(first, Whole(""))
            found[first] = Whole(whole.text, whole.tokens, tuple(dict.fromkeys(notes)))
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        try:
            part = reply["output"][channel[0]]["content"][channel[1]]
        except (KeyError, IndexError, TypeError):
            return  # a place for notes alone
        part.update(text=text, annotations=[], logprobs=[])
        reply.pop("output_text", None)
        if blocked:
            reply["status"] = "incomplete"
            reply["incomplete_details"] = {"reason": "content_filter"}
            reply["output"][channel[0]]["status"] = "incomplete"
            del reply["output"][channel[0] + 1 :]

    def strip(self, reply: dict[str, Any]) -> None:
        reply.update(_without(reply))

    def group(self, channel: Channel) -> int:
        return 0


def _without(value: Any) -> Any:
    """A value without log-probabilities anywhere in it."""
    if isinstance(value, dict):
        return {k: [] if k == "logprobs" else _without(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without(v) for v in value]
    return value


def _parts(item: Any, index: int) -> Iterator[tuple[Channel, str]]:
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, list) and item.get("type") == "message":
        for j, part in enumerate(content):
            if _is_text(part):
                yield (index, j), _text(part.get("text"))


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "output_text"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnreadableEvent("a text is none")
    return value


def _index(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int):
        raise UnreadableEvent("an index is no number")
    return value
