"""OpenAI's ``/v1/responses``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, from_responses
from veridical.serve.guard.fields import Kind, error_fields, plain_fields
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
    entries_of,
    tokens_of,
)
from veridical.serve.guard.sse import KEEP_ALIVE, SseEvent, UnreadableEvent, rendered

_LAST = ("response.completed", "response.incomplete", "response.failed")
_WHOLE = ("response.created", "response.in_progress", "response.queued", *_LAST)
#: Parts of messages that are checked, with the field of their text.
_TEXT_OF = {"output_text": "text", "refusal": "refusal"}
_TOOLS = ("call", "mcp", "function", "tool")
_OF_ITEM = ("id", "type", "role", "status", "phase")


class ResponsesStream:
    """Streamed answer. A channel is a part of an item of the output.

    Events that repeat a text, such as the last one, are passed on with the released text. Items and
    parts that are left out do not count in the indices of the others.

    Args:
        strip: log-probabilities were requested only by the guard and are left out.
        passed: kinds of content that held answers contain unchecked.
    """

    def __init__(self, *, strip: bool, passed: Collection[Kind] = ()) -> None:
        self._strip = strip
        self._passed = passed
        self._response: dict[str, Any] = {}
        self._items: dict[Channel, str] = {}
        self._kinds: dict[Channel, str] = {}
        self._seen: dict[Channel, str] = {}
        self._ended: set[Channel] = set()
        self._places: dict[Channel, dict[int, int]] = {}
        self._dropped: dict[int, Kind] = {}
        self._number = 0
        self.delivered: dict[Channel, str] = {}

    def complete(self) -> bool:
        return False  # it ends with an event of its own

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield PassedContent(None, lambda: KEEP_ALIVE)
            return
        if event.data.strip() == "[DONE]":
            yield StreamEnd(lambda: rendered("[DONE]"))
            return
        found = event.object
        kind = found.get("type", event.name)
        if not isinstance(kind, str):
            raise UnreadableEvent("an event has no type")
        if isinstance(found.get("response"), dict):
            self._response = found["response"]
        side = self._side(kind, found)
        if side is not None:
            if side not in self._passed:
                yield DroppedContent(side)
                return
            self._place_of(found)
            yield PassedContent(None, lambda: self._numbered(self._moved(found), kind), side)
            return
        if kind == "error":
            error = error_fields(found.get("error") or found)
            yield PassedContent(None, lambda: self._numbered({"type": kind, **error}, kind))
            return
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            delta = found.get("delta")
            if not isinstance(delta, str):
                raise UnreadableEvent("a delta is not a text")
            channel = self._channel(found)
            self._items[channel] = str(found.get("item_id", ""))
            self._kinds[channel] = kind.split(".")[1]
            self._seen[channel] = self._seen.get(channel, "") + delta
            yield ChannelText(channel, delta, tokens_of(found.get("logprobs")))
            return
        for channel, text in self._texts(kind, found):
            yield from self._catch_up(channel, text)
        inner = self._inner(found)
        yield from (DroppedContent(k) for k in inner if k not in self._passed)
        if kind in _LAST:
            yield StreamEnd(lambda: self._snapshot(kind, found))
            return
        passed = next((k for k in inner if k in self._passed), None)
        yield PassedContent(None, lambda: self._snapshot(kind, found), passed)

    def _side(self, kind: str, found: Mapping[str, Any]) -> Kind | None:
        """Return the kind of unchecked content of an event, or None."""
        index = _index(found.get("output_index"))
        if kind.startswith("response.output_item."):
            side = _kind_of_item(found.get("item"))
            if side is not None and side not in self._passed:
                self._dropped[index] = side
            return side
        if "output_index" in found and index in self._dropped:
            return self._dropped[index]
        if kind.startswith("response.content_part."):
            return _kind_of_part(found.get("part"))
        if kind in _WHOLE or kind == "error":
            return None
        if kind.startswith(("response.output_text.", "response.refusal.")):
            if "annotation" in kind:
                return "annotations"
            return None if kind.endswith((".delta", ".done")) else "other"
        if "reasoning" in kind:
            return "reasoning"
        if "audio" in kind:
            return "audio"
        return "tool_calls" if any(part in kind for part in _TOOLS) else "other"

    def _inner(self, found: Mapping[str, Any]) -> list[Kind]:
        """Return the kinds of unchecked content inside an event that is passed on."""
        response = found.get("response")
        output = response.get("output") if isinstance(response, dict) else None
        kinds: list[Kind] = []
        for item in output if isinstance(output, list) else [found.get("item")]:
            kind = _kind_of_item(item) if isinstance(item, dict) else None
            kinds += _kinds_of_parts(item) if kind is None else [kind]
        return kinds

    def _texts(self, kind: str, found: Mapping[str, Any]) -> Iterator[tuple[Channel, str]]:
        """Yield the channels that an event completes, with the whole text of each."""
        if kind in ("response.output_text.done", "response.refusal.done"):
            named = kind.split(".")[1]
            self._kinds[self._channel(found)] = named
            yield self._channel(found), _text(found.get(_TEXT_OF[named]))
        elif kind == "response.content_part.done":
            self._kinds[self._channel(found)] = found["part"]["type"]
            yield self._channel(found), _said(found["part"])
        elif kind == "response.output_item.done":
            yield from self._parts(found.get("item"), _index(found.get("output_index")))
        elif kind in _LAST:
            output = self._response.get("output")
            for i, item in enumerate(output if isinstance(output, list) else ()):
                yield from self._parts(item, i)

    def _parts(self, item: Any, index: int) -> Iterator[tuple[Channel, str]]:
        for channel, text in _parts(item, index):
            self._kinds[channel] = item["content"][channel[1]]["type"]
            yield channel, text

    def _catch_up(self, channel: Channel, text: str) -> Iterator[Piece]:
        """Add the text of a channel that its deltas did not contain; end a complete one."""
        seen = self._seen.get(channel, "")
        if text != seen and channel not in self._ended:
            if not text.startswith(seen):
                raise UnreadableEvent("a text differs from its deltas")
            self._seen[channel] = text
            yield ChannelText(channel, text[len(seen) :])
        if channel not in self._ended:
            self._ended.add(channel)
            yield ChannelEnd(channel)

    def _place(self, *indexes: int) -> int:
        """Return the index of an item, or of a part of one, among the released ones."""
        places = self._places.setdefault(indexes[:-1], {})
        return places.setdefault(indexes[-1], len(places))

    def _place_of(self, found: Mapping[str, Any]) -> dict[str, int]:
        """Return the indices in an event, among the released items and parts."""
        made = {}
        if "output_index" in found:
            index = _index(found["output_index"])
            made["output_index"] = self._place(index)
            if "content_index" in found:
                part = _index(found["content_index"])
                made["content_index"] = self._place(index, part)
        return made

    def _moved(self, found: Mapping[str, Any]) -> dict[str, Any]:
        return {**found, **self._place_of(found)}

    def _channel(self, found: Mapping[str, Any]) -> Channel:
        return _index(found.get("output_index")), _index(found.get("content_index"))

    def _snapshot(self, kind: str, found: Mapping[str, Any]) -> bytes:
        """Return an event with its texts replaced by the released ones."""
        named = plain_fields(found, ("item_id", "sequence_number"))
        made: dict[str, Any] = {"type": kind, **named, **self._place_of(found)}
        if kind in ("response.output_text.done", "response.refusal.done"):
            part = kind.split(".")[1]
            made[_TEXT_OF[part]] = self._let_out(self._channel(found))
            if part == "output_text":
                made["logprobs"] = []
        elif kind.startswith("response.content_part."):
            made["part"] = self._part(found["part"], self._channel(found))
        elif kind.startswith("response.output_item."):
            made["item"] = self._item(found["item"], _index(found.get("output_index")))
        elif isinstance(found.get("response"), dict):
            made["response"] = self._whole(found["response"])
        return self._numbered(made, kind)

    def _let_out(self, channel: Channel) -> str:
        return self.delivered.get(channel, "")

    def _part(self, part: Mapping[str, Any], channel: Channel) -> dict[str, Any]:
        text = self._let_out(channel)
        made = _made_part(part["type"], text)
        if "annotations" in self._passed and text == _said(part) and "text" in made:
            made["annotations"] = (
                part.get("annotations") or []
            )  # annotations refer to offsets in the text
        return made

    def _item(self, item: Mapping[str, Any], index: int) -> dict[str, Any]:
        if item.get("type") != "message":
            return dict(item)  # of a kind that is passed on
        content = item.get("content")
        made = plain_fields(item, _OF_ITEM)
        made["content"] = [
            dict(part) if _kind_of_part(part) else self._part(part, (index, j))
            for j, part in enumerate(content if isinstance(content, list) else ())
            if _kind_of_part(part) in (None, *self._passed)
        ]
        return made

    def _whole(self, response: Mapping[str, Any]) -> dict[str, Any]:
        output = response.get("output")
        items = output if isinstance(output, list) else []
        made = _made_response(response)
        made["output"] = [
            self._item(item, i)
            for i, item in enumerate(items)
            if _kind_of_item(item) in (None, *self._passed)
        ]
        return made

    def _numbered(self, made: Mapping[str, Any], kind: str) -> bytes:
        """Return an event with its sequence number: events are left out and added."""
        if "sequence_number" in made:
            made = {**made, "sequence_number": self._number}
        self._number += 1
        return rendered(made, kind)

    def stripped(self, event: SseEvent) -> bytes:
        """Return an event without the log-probabilities that only the guard requested."""
        if not self._strip or event.data is None or '"logprobs"' not in event.data:
            return event.raw
        return rendered(_without(event.object), event.name)

    def _where(self, channel: Channel) -> dict[str, Any]:
        return {
            "item_id": self._items.get(channel, ""),
            "output_index": self._place(channel[0]),
            "content_index": self._place(*channel),
        }

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        part = self._kinds.get(channel, "output_text")
        kind = f"response.{part}.delta"
        data: dict[str, Any] = {"type": kind, **self._where(channel), "delta": text}
        if part == "output_text":
            data["logprobs"] = [] if self._strip else entries_of(tokens)
        return self._numbered({**data, "sequence_number": 0}, kind)

    def blocked(self, channel: Channel) -> bytes:
        place, text = self._where(channel), self._let_out(channel)
        part = self._kinds.get(channel, "output_text")
        logprobs: dict[str, Any] = {"logprobs": []} if part == "output_text" else {}
        events: tuple[tuple[str, dict[str, Any]], ...] = (
            (f"response.{part}.done", {**place, _TEXT_OF[part]: text, **logprobs}),
            ("response.content_part.done", {**place, "part": _made_part(part, text)}),
        )
        return b"".join(
            self._numbered({"type": kind, **data, "sequence_number": 0}, kind)
            for kind, data in events
        )

    def closing(self) -> bytes:
        items: dict[int, list[Any]] = {}
        for channel, text in sorted(self.delivered.items()):
            part = _made_part(self._kinds.get(channel, "output_text"), text)
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
            **_made_response(self._response),
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
    """Responses API."""

    name = path = "responses"

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        messages = from_responses(body.get("instructions"), body.get("input"))
        return contexts_of(messages, body.get("documents"), system=system)

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        return from_responses(body.get("instructions"), body.get("input"))

    def answers(self, body: Mapping[str, Any]) -> int:
        return 1

    def stops(self, body: Mapping[str, Any]) -> list[str]:
        return []  # its replies do not repeat stop sequences

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

    def stream(
        self,
        *,
        strip: bool,
        passed: Collection[Kind] = (),
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> ResponsesStream:
        return ResponsesStream(strip=strip, passed=passed)

    def cleaned(
        self,
        reply: Mapping[str, Any],
        passed: Collection[Kind],
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> tuple[dict[str, Any], list[Kind]]:
        out: list[Kind] = []
        made, kept = _made_response(reply), []
        for item in _output(reply):
            kind = _kind_of_item(item)
            if kind is not None and kind not in passed:
                out.append(kind)
            elif kind is not None:
                kept.append(item)
            else:
                kept.append(_cleaned_item(item, passed, out))
        return {**made, "output": kept}, out

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        found: dict[Channel, Whole] = {}
        kinds: list[Kind] = []
        for i, item in enumerate(_output(reply)):
            kind = _kind_of_item(item)
            if kind is not None and kind != "other":
                kinds.append(kind)
            for channel, text in _parts(item, i):
                part = item["content"][channel[1]]
                found[channel] = Whole(text, tokens_of(part.get("logprobs")))
        if kinds:
            first = next(iter(found), (0, 0))
            whole = found.get(first, Whole(""))
            found[first] = Whole(whole.text, whole.tokens, tuple(dict.fromkeys(kinds)))
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        try:
            part = reply["output"][channel[0]]["content"][channel[1]]
        except (KeyError, IndexError, TypeError):
            return  # an index without text, for notes only
        part[_TEXT_OF[part["type"]]] = text
        part.update(annotations=[], logprobs=[])
        reply.pop("output_text", None)
        if blocked:
            reply["status"] = "incomplete"
            reply["incomplete_details"] = {"reason": "content_filter"}
            reply["output"][channel[0]]["status"] = "incomplete"
            del reply["output"][channel[0] + 1 :]

    def spelled(self, reply: dict[str, Any]) -> None:
        for item in _output(reply):
            for channel, text in _parts(item, 0):
                part = item["content"][channel[1]]
                tokens = tokens_of(part.get("logprobs"))
                spells = "".join(t["token"] for t in tokens) == text
                if "logprobs" in part:
                    part["logprobs"] = entries_of(tokens) if spells else []

    def strip(self, reply: dict[str, Any]) -> None:
        reply.update(_without(reply))

    def group(self, channel: Channel) -> int:
        return 0


def _without(value: Any) -> Any:
    """Return a value without log-probabilities at any depth."""
    if isinstance(value, dict):
        return {k: [] if k == "logprobs" else _without(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_without(v) for v in value]
    return value


def _output(reply: Mapping[str, Any]) -> list[Any]:
    output = reply.get("output")
    if not isinstance(output, list):
        raise UnreadableEvent("the reply has no output")
    return output


def _parts(item: Any, index: int) -> Iterator[tuple[Channel, str]]:
    content = item.get("content") if isinstance(item, dict) else None
    if isinstance(content, list) and item.get("type") == "message":
        for j, part in enumerate(content):
            if _kind_of_part(part) is None:
                yield (index, j), _said(part)


def _kind_of_item(item: Any) -> Kind | None:
    """Return the kind of an item's unchecked content; None for a message."""
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "message":
        return None
    if kind == "reasoning":
        return "reasoning"
    called = isinstance(kind, str) and any(part in kind for part in _TOOLS)
    return "tool_calls" if called else "other"


def _kind_of_part(part: Any) -> Kind | None:
    """Return the kind of a part's unchecked content; None for a text."""
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str):
        return "other"
    if kind in _TEXT_OF:
        return None
    if "reasoning" in kind:
        return "reasoning"
    return "audio" if "audio" in kind else "other"


def _kinds_of_parts(item: Any) -> list[Kind]:
    content = item.get("content") if isinstance(item, dict) else None
    parts = content if isinstance(content, list) else []
    found: list[Kind] = [k for part in parts if (k := _kind_of_part(part)) is not None]
    if any(isinstance(part, dict) and part.get("annotations") for part in parts):
        found.append("annotations")
    return found


def _cleaned_item(item: dict[str, Any], passed: Collection[Kind], out: list[Kind]) -> Any:
    """Return a message as a held answer may contain it; add the kinds left out to ``out``."""
    content, parts = item.get("content"), []
    for part in content if isinstance(content, list) else ():
        kind = _kind_of_part(part)
        if kind is None:
            made = _made_part(part["type"], _said(part))
            if "logprobs" in made:
                made["logprobs"] = part.get("logprobs") or []
            if part.get("annotations") and "annotations" in passed:
                made["annotations"] = part["annotations"]
            elif part.get("annotations"):
                out.append("annotations")
            parts.append(made)
        elif kind in passed:
            parts.append(part)
        else:
            out.append(kind)
    return {**plain_fields(item, _OF_ITEM), "content": parts}


def _made_part(kind: str, text: str) -> dict[str, Any]:
    if kind == "refusal":
        return {"type": kind, "refusal": text}
    return {"type": kind, "text": text, "annotations": [], "logprobs": []}


def _made_response(response: Mapping[str, Any]) -> dict[str, Any]:
    """Return a response without its output and texts."""
    made = plain_fields(response, response)
    for name in ("output", "output_text", "instructions", "input", "prompt", "error"):
        made.pop(name, None)
    if response.get("error") is not None:
        made["error"] = error_fields(response["error"])
    return made


def _said(part: Mapping[str, Any]) -> str:
    return _text(part.get(_TEXT_OF[part["type"]]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise UnreadableEvent("a text is not a text value")
    return value


def _index(value: Any) -> int:
    if value is None:
        return 0
    if not isinstance(value, int):
        raise UnreadableEvent("an index is not a number")
    return value
