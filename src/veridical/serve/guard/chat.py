"""OpenAI's ``/v1/chat/completions`` and ``/v1/completions``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, documents_of, from_chat
from veridical.serve.guard.fields import (
    Kind,
    error_fields,
    filled,
    is_plain,
    others,
    plain_fields,
)
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

#: Fields without text of an event, a choice and a delta.
_OF_EVENT = ("id", "object", "created", "model", "system_fingerprint", "service_tier", "usage")
_OF_CHOICE = ("index", "delta", "message", "finish_reason", "logprobs")
_OF_DELTA = ("role", "name", "content", "refusal")
#: Content that is not checked, by its fields in a delta or a message.
_KINDS: dict[Kind, tuple[str, ...]] = {
    "reasoning": (
        *("reasoning_content", "reasoning", "reasoning_details"),
        *("thinking", "thinking_blocks"),
    ),
    "annotations": ("annotations", "citations"),
    "audio": ("audio",),
    "tool_calls": ("tool_calls", "function_call"),
}
_FIELDS = {name: kind for kind, names in _KINDS.items() for name in names}
_CALLED = ("tool_calls", "function_call")
_DONE = b"data: [DONE]\n\n"


class ChatStream:
    """Streamed answer. A channel is a choice, or its refusal (with a second number).

    Args:
        chat: False for ``/v1/completions``.
        strip: log-probabilities were requested only by the guard and are left out.
        passed: kinds of content that held answers contain unchecked.
        answers: maximum number of choices.
    """

    def __init__(
        self,
        *,
        chat: bool,
        strip: bool,
        passed: Collection[Kind] = (),
        answers: int = MOST_ANSWERS,
    ) -> None:
        self._chat = chat
        self._strip = strip
        self._passed = passed
        self._answers = answers
        self._base: dict[str, Any] = {}
        self._open: set[int] = set()
        self._finished: set[int] = set()
        self._refused: set[int] = set()
        self._uncalled: set[int] = set()  # choices whose tool calls were left out
        self.delivered: dict[Channel, str] = {}

    def complete(self) -> bool:
        return bool(self._finished) and self._open <= self._finished

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield PassedContent(None, lambda: KEEP_ALIVE)
            return
        if event.data.strip() == "[DONE]":
            yield StreamEnd(lambda: _DONE)
            return
        found = event.object
        choices = found.get("choices")
        if found.get("error") is not None and not choices:
            body = {"error": error_fields(found["error"])}
            yield PassedContent(None, lambda: rendered(body))
            return
        if not isinstance(choices, list):
            raise UnreadableEvent("an event has no choices")
        if len(choices) > self._answers:
            raise UnreadableEvent(_too_many(len(choices), self._answers))
        base = plain_fields(found, _OF_EVENT)
        self._base = {k: v for k, v in base.items() if k != "usage"}
        if more := others(found, (*_OF_EVENT, "choices", "error")):
            yield self._side(None, "other", {**base, **more, "choices": []})
        if not choices:
            yield PassedContent(None, lambda: rendered({**base, "choices": []}))
        for choice in choices:
            index = choice.get("index", 0) if isinstance(choice, dict) else None
            if not isinstance(index, int):
                raise UnreadableEvent("a choice is not an object")
            if not 0 <= index < self._answers:
                raise UnreadableEvent(_too_many(index + 1, self._answers))
            yield from self._choice(choice, index, base)

    def _choice(
        self, choice: Mapping[str, Any], index: int, base: Mapping[str, Any]
    ) -> Iterator[Piece]:
        channel, refusing = (index,), (index, 1)
        self._open.add(index)
        delta: Any = choice.get("delta") or {} if self._chat else {"content": choice.get("text")}
        if not isinstance(delta, dict):
            raise UnreadableEvent("a delta is not an object")
        text, refusal = delta.get("content"), delta.get("refusal")
        more, inside = _unchecked(delta), None
        if isinstance(text, list):
            text, inside = _of_parts(text)
        if text is not None and not isinstance(text, str):
            raise UnreadableEvent("a delta's content is not a text")
        if refusal is not None and not isinstance(refusal, str):
            raise UnreadableEvent("a delta's refusal is not a text")
        said = {k: v for k, v in plain_fields(delta, ("role", "name")).items() if filled(v)}
        if said:
            yield self._pass(channel, {**said, "content": ""}, base)
        for kind in inside or ():
            yield DroppedContent(kind)  # a part among the text parts has no field of its own
        for kind in ("reasoning", "annotations", "audio", "other"):
            if kind in more:
                yield self._side(channel, kind, self._data(channel, more[kind], base))
        if extra := others(choice, (*_OF_CHOICE, "text")):
            data = self._data(channel, {}, base)
            data["choices"][0] |= extra
            yield self._side(channel, "other", data)
        if refusal:
            self._refused.add(index)
            yield ChannelText(refusing, refusal)
        if text:
            yield ChannelText(channel, text, self._tokens(choice.get("logprobs")))
        finish = choice.get("finish_reason")
        ends = [channel, *([refusing] if index in self._refused else [])]
        if "tool_calls" in more:
            yield from map(ChannelEnd, ends)
            if "tool_calls" not in self._passed:
                self._uncalled.add(index)
            calls = self._data(channel, more["tool_calls"], base)
            yield self._side(channel, "tool_calls", calls)
        if finish is not None:
            self._finished.add(index)
            yield from map(ChannelEnd, ends)
            yield self._pass(channel, {}, base, self._reason(index, finish))

    def _reason(self, index: int, finish: Any) -> Any:
        """Return the finish reason of an answer, as a held one may state it."""
        if index in self._uncalled and finish in _CALLED:
            return "content_filter"
        return finish if is_plain(finish) else "stop"

    def _side(
        self, channel: Channel | None, kind: Kind, data: Mapping[str, Any]
    ) -> PassedContent | DroppedContent:
        """Return unchecked content, as far as held answers may contain it."""
        return (
            PassedContent(channel, lambda: rendered(data), kind)
            if kind in self._passed
            else DroppedContent(kind)
        )

    def _tokens(self, logprobs: Any) -> tuple[dict[str, Any], ...]:
        return _tokens(logprobs, self._chat)

    def _pass(
        self,
        channel: Channel,
        delta: Mapping[str, Any],
        base: Mapping[str, Any],
        finish: Any = None,
    ) -> PassedContent:
        data = self._data(channel, delta, base, finish)
        return PassedContent(channel, lambda: rendered(data))

    def _data(
        self,
        channel: Channel,
        delta: Mapping[str, Any],
        base: Mapping[str, Any],
        finish: Any = None,
    ) -> dict[str, Any]:
        return {**base, "choices": [self._made(channel, delta, finish)]}

    def _made(self, channel: Channel, delta: Mapping[str, Any], finish: Any) -> dict[str, Any]:
        said: Mapping[str, Any] = {"delta": dict(delta)}
        if not self._chat:
            said = {"text": delta.get("content", "")}
        return {"index": channel[0], **said, "finish_reason": finish}

    def stripped(self, event: SseEvent) -> bytes:
        """Return an event without the log-probabilities that only the guard requested."""
        if not self._strip or event.data is None or '"logprobs"' not in event.data:
            return event.raw
        found = event.object
        choices = found.get("choices")
        if not isinstance(choices, list):
            return event.raw
        kept = [{**c, "logprobs": None} if isinstance(c, dict) else c for c in choices]
        return rendered({**found, "choices": kept}, event.name)

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        field = "refusal" if len(channel) > 1 else "content"
        choice = self._made(channel, {field: text}, None)
        if tokens and not self._strip:
            choice["logprobs"] = _told(tokens, self._chat)
        return rendered({**self._base, "choices": [choice]})

    def blocked(self, channel: Channel) -> bytes:
        return rendered({**self._base, "choices": [self._made(channel, {}, "content_filter")]})

    def closing(self) -> bytes:
        return _DONE

    def final(self, found: Mapping[str, Any]) -> bytes:
        return rendered({**self._base, "choices": [], "veridical": dict(found)})

    def error(self, message: str, code: str) -> bytes:
        body = {"message": message, "type": "veridical_guard", "param": None, "code": code}
        return rendered({"error": body})


class ChatApi:
    """Chat or completions API."""

    def __init__(self, *, chat: bool) -> None:
        self._chat = chat
        self.name = "chat" if chat else "completions"
        self.path = "chat/completions" if chat else "completions"

    def contexts(self, body: Mapping[str, Any], *, system: bool) -> list[dict[str, Any]]:
        if not self._chat:
            return documents_of(body.get("documents"))
        messages = from_chat(body.get("messages"))
        return contexts_of(messages, body.get("documents"), system=system)

    def prompt(self, body: Mapping[str, Any]) -> str | list[dict[str, Any]]:
        if self._chat:
            return list(body["messages"])
        prompt = body.get("prompt")
        if isinstance(prompt, list):
            return "\n".join(p for p in prompt if isinstance(p, str))
        return prompt if isinstance(prompt, str) else ""

    def answers(self, body: Mapping[str, Any]) -> int:
        n = body.get("n")
        prompts = body.get("prompt") if not self._chat else None
        many = len(prompts) if isinstance(prompts, list) and prompts else 1
        return (n if isinstance(n, int) and n > 0 else 1) * many

    def stops(self, body: Mapping[str, Any]) -> list[str]:
        return []  # its replies do not repeat stop sequences

    def with_logprobs(self, body: dict[str, Any]) -> bool:
        if body.get("logprobs"):
            return False
        if self._chat:
            body["logprobs"], body["top_logprobs"] = True, 5
        else:
            body["logprobs"] = 5
        return True

    def alone(self, body: Mapping[str, Any]) -> dict[str, Any]:
        left_out = ("stream_options", "n", "logprobs", "top_logprobs", "best_of")
        return {k: v for k, v in body.items() if k not in left_out} | {"stream": False}

    def again(self, body: Mapping[str, Any], said: str, instruction: str) -> dict[str, Any]:
        asked = self.alone(body)
        if not self._chat:
            asked["prompt"] = f"{self.prompt(body)}\n\n{instruction}\n\n{said}"
            return asked
        messages = list(body["messages"])
        if said:
            messages.append({"role": "assistant", "content": said})
        messages.append({"role": "user", "content": instruction})
        asked["messages"] = messages
        return asked

    def stream(
        self,
        *,
        strip: bool,
        passed: Collection[Kind] = (),
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> ChatStream:
        return ChatStream(chat=self._chat, strip=strip, passed=passed, answers=answers)

    def cleaned(
        self,
        reply: Mapping[str, Any],
        passed: Collection[Kind],
        answers: int = MOST_ANSWERS,
        stops: Collection[str] = (),
    ) -> tuple[dict[str, Any], list[Kind]]:
        choices = _choices(reply)
        if len(choices) > answers:
            raise UnreadableEvent(_too_many(len(choices), answers))
        more = others(reply, (*_OF_EVENT, "choices"))
        out: list[Kind] = [] if "other" in passed or not more else ["other"]
        made = [self._cleaned(choice, i, passed, out) for i, choice in enumerate(choices)]
        kept = more if "other" in passed else {}
        return {**plain_fields(reply, _OF_EVENT), **kept, "choices": made}, out

    def _cleaned(
        self, choice: Mapping[str, Any], index: int, passed: Collection[Kind], out: list[Kind]
    ) -> dict[str, Any]:
        finish = choice.get("finish_reason")
        made: dict[str, Any] = {
            "index": index,
            "finish_reason": finish if is_plain(finish) else "stop",
            "logprobs": choice.get("logprobs"),
        }
        extra = others(choice, (*_OF_CHOICE, "text"))
        if not self._chat:
            made["text"] = choice.get("text")
            found: dict[Kind, dict[str, Any]] = {}
        else:
            message = _message(choice)
            made["message"] = said = plain_fields(message, ("role", "name"))
            content = message.get("content")
            text, kinds = _of_parts(content) if isinstance(content, list) else (content, [])
            said["content"] = text
            if filled(message.get("refusal")):
                said["refusal"] = message["refusal"]
            out += kinds
            found = _unchecked(message)
            for kind, fields in found.items():
                if kind in passed:
                    said.update(fields)
                else:
                    out.append(kind)
            if "tool_calls" in found and "tool_calls" not in passed and finish in _CALLED:
                made["finish_reason"] = "content_filter"
        if extra and "other" in passed:
            made.update(extra)
        elif extra:
            out.append("other")
        return made

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        found: dict[Channel, Whole] = {}
        for i, choice in enumerate(_choices(reply)):
            message = _message(choice) if self._chat else {"content": choice.get("text")}
            content, kinds = message.get("content"), list[Kind]()
            if isinstance(content, list):
                content, kinds = _of_parts(content)
            if content is not None and not isinstance(content, str):
                raise UnreadableEvent("a message's content is not a text")
            kinds += [kind for kind in _unchecked(message) if kind != "other"]
            tokens = _tokens(choice.get("logprobs"), self._chat)
            found[(i,)] = Whole(content or "", tokens, tuple(kinds))
            refusal = message.get("refusal")
            if filled(refusal):
                if not isinstance(refusal, str):
                    raise UnreadableEvent("a message's refusal is not a text")
                found[(i, 1)] = Whole(refusal)
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        choice = reply["choices"][channel[0]]
        if self._chat:
            choice["message"]["refusal" if len(channel) > 1 else "content"] = text
        else:
            choice["text"] = text
        choice["logprobs"] = None
        if blocked:
            choice["finish_reason"] = "content_filter"
            for key in _CALLED if self._chat else ():
                choice["message"].pop(key, None)

    def strip(self, reply: dict[str, Any]) -> None:
        for choice in _choices(reply):
            choice["logprobs"] = None

    def spelled(self, reply: dict[str, Any]) -> None:
        for choice in _choices(reply):
            text = choice["message"].get("content") if self._chat else choice.get("text")
            tokens = _tokens(choice.get("logprobs"), self._chat)
            spells = tokens and "".join(t["token"] for t in tokens) == text
            choice["logprobs"] = _told(tokens, self._chat) if spells else None

    def group(self, channel: Channel) -> int:
        return channel[0]


def _too_many(found: int, asked: int) -> str:
    return f"there are {found:,} choices, but {asked:,} were requested"


def _unchecked(message: Mapping[str, Any]) -> dict[Kind, dict[str, Any]]:
    """Return the fields of a message or delta with unchecked content, by kind."""
    found: dict[Kind, dict[str, Any]] = {}
    for name, value in message.items():
        if name not in _OF_DELTA and filled(value):
            found.setdefault(_FIELDS.get(name, "other"), {})[name] = value
    return found


def _of_parts(parts: Sequence[Any]) -> tuple[str, list[Kind]]:
    """Return the text of a content of parts, and the kinds of its other parts.

    Raises:
        UnreadableEvent: a part's text is not a text.
    """
    text, kinds = "", list[Kind]()
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and kind in (None, "text", "output_text", "refusal"):
            said = part.get("refusal" if kind == "refusal" else "text")
            if not isinstance(said, str):
                raise UnreadableEvent("a part's text is not a text")
            text += said
            if others(part, ("type", "text", "refusal")):
                kinds.append("annotations")
        elif kind in ("thinking", "reasoning"):
            kinds.append("reasoning")
        else:
            kinds.append("audio" if kind in ("audio", "output_audio") else "other")
    return text, kinds


def _message(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    message = choice.get("message")
    if not isinstance(message, dict):
        raise UnreadableEvent("a choice has no message")
    return message


def _choices(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not all(isinstance(c, dict) for c in choices):
        raise UnreadableEvent("the reply has no choices")
    return choices


def _told(tokens: Sequence[Mapping[str, Any]], chat: bool) -> dict[str, Any]:
    """Return log-probabilities in the API's format."""
    if chat:
        return {"content": entries_of(tokens), "refusal": None}
    return {
        "tokens": [t["token"] for t in tokens],
        "token_logprobs": [t["logprob"] for t in tokens],
        "top_logprobs": [{o["token"]: o["logprob"] for o in t["top"]} for t in tokens],
    }


def _tokens(logprobs: Any, chat: bool) -> tuple[dict[str, Any], ...]:
    if not isinstance(logprobs, dict):
        return ()
    if chat or "content" in logprobs:
        return tokens_of(logprobs.get("content"))
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    tops = logprobs.get("top_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list) or len(tokens) != len(values):
        return ()
    entries = []
    for i, (token, value) in enumerate(zip(tokens, values, strict=True)):
        top = tops[i] if isinstance(tops, list) and i < len(tops) else None
        named = top.items() if isinstance(top, dict) else ()
        others = [{"token": t, "logprob": v} for t, v in named]
        entries.append({"token": token, "logprob": value, "top_logprobs": others})
    return tokens_of(entries)
