"""OpenAI's ``/v1/chat/completions`` and ``/v1/completions``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from veridical.io.conversations import contexts_of, documents_of, from_chat
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

#: What is passed on of an event, a choice and a delta: what has no known meaning may hold text
#: that was not checked.
_OF_EVENT = ("id", "object", "created", "model", "system_fingerprint", "service_tier", "usage")
_TOOLS = ("tool_calls", "function_call")
_REASONING = ("reasoning_content", "reasoning")
_OF_DELTA = ("role", "name", "refusal", *_REASONING, *_TOOLS)
_DONE = b"data: [DONE]\n\n"


class ChatStream:
    """A streamed answer. A channel is a choice.

    Args:
        chat: False for ``/v1/completions``.
        strip: log-probabilities are the guard's own and are left out.
    """

    def __init__(self, *, chat: bool, strip: bool) -> None:
        self._chat = chat
        self._strip = strip
        self._base: dict[str, Any] = {}
        self.delivered: dict[Channel, str] = {}

    def read(self, event: SseEvent) -> Iterator[Piece]:
        if event.data is None:
            yield Pass(None, lambda: event.raw)
            return
        if event.data.strip() == "[DONE]":
            yield Over(lambda: _DONE)
            return
        found = event.object
        choices = found.get("choices")
        if found.get("error") is not None and not choices:
            yield Pass(None, lambda: event.raw)
            return
        if not isinstance(choices, list):
            raise UnreadableEvent("an event has no choices")
        base = {k: found[k] for k in _OF_EVENT if k in found}
        self._base = {k: v for k, v in base.items() if k != "usage"}
        if not choices:
            yield Pass(None, lambda: rendered({**base, "choices": []}))
        for choice in choices:
            if not isinstance(choice, dict) or not isinstance(choice.get("index", 0), int):
                raise UnreadableEvent("a choice is no object")
            yield from self._choice(choice, base)

    def _choice(self, choice: Mapping[str, Any], base: Mapping[str, Any]) -> Iterator[Piece]:
        channel = (int(choice.get("index", 0)),)
        delta: Any = choice.get("delta") or {} if self._chat else {"content": choice.get("text")}
        if not isinstance(delta, dict):
            raise UnreadableEvent("a delta is no object")
        text = delta.get("content")
        if text is not None and not isinstance(text, str):
            raise UnreadableEvent("a delta's content is no text")
        rest = {k: delta[k] for k in _OF_DELTA if delta.get(k) not in (None, "", [])}
        calls = {k: rest.pop(k) for k in _TOOLS if k in rest}
        if rest:
            notes = [
                n
                for n, ks in (("reasoning", _REASONING), ("refusal", ("refusal",)))
                if any(k in rest for k in ks)
            ]
            if "role" in rest:
                rest["content"] = ""
            yield self._pass(channel, rest, base, None, notes[0] if notes else None)
        if text:
            logprobs = choice.get("logprobs")
            yield ChannelText(channel, text, self._tokens(logprobs))
        if calls:
            yield End(channel)
            yield self._pass(channel, calls, base, None, "tool calls")
        finish = choice.get("finish_reason")
        if finish is not None:
            yield End(channel)
            yield self._pass(channel, {}, base, finish)

    def _tokens(self, logprobs: Any) -> tuple[dict[str, Any], ...]:
        return _tokens(logprobs, self._chat)

    def _pass(
        self,
        channel: Channel,
        delta: Mapping[str, Any],
        base: Mapping[str, Any],
        finish: Any,
        note: str | None = None,
    ) -> Pass:
        data = {**base, "choices": [self._made(channel, delta, finish)]}
        return Pass(channel, lambda: rendered(data), note)

    def _made(self, channel: Channel, delta: Mapping[str, Any], finish: Any) -> dict[str, Any]:
        said: Mapping[str, Any] = {"delta": dict(delta)}
        if not self._chat:
            said = {"text": delta.get("content", "")}
        return {"index": channel[0], **said, "finish_reason": finish}

    def stripped(self, event: SseEvent) -> bytes:
        """An event without the log-probabilities that the guard asked for."""
        if not self._strip or event.data is None or '"logprobs"' not in event.data:
            return event.raw
        found = event.object
        choices = found.get("choices")
        if not isinstance(choices, list):
            return event.raw
        kept = [{**c, "logprobs": None} if isinstance(c, dict) else c for c in choices]
        return rendered({**found, "choices": kept}, event.name)

    def text(self, channel: Channel, text: str, tokens: Sequence[Mapping[str, Any]] = ()) -> bytes:
        choice = self._made(channel, {"content": text}, None)
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
    """The chat API, or that of plain completions."""

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

    def stream(self, *, strip: bool) -> ChatStream:
        return ChatStream(chat=self._chat, strip=strip)

    def texts(self, reply: Mapping[str, Any]) -> dict[Channel, Whole]:
        found: dict[Channel, Whole] = {}
        for i, choice in enumerate(_choices(reply)):
            message = choice.get("message") if self._chat else {"content": choice.get("text")}
            if not isinstance(message, dict):
                raise UnreadableEvent("a choice has no message")
            content = message.get("content")
            if isinstance(content, list):
                parts = [p.get("text") for p in content if isinstance(p, dict)]
                content = "".join(t for t in parts if isinstance(t, str))
            if content is not None and not isinstance(content, str):
                raise UnreadableEvent("a message's content is no text")
            notes = [
                note
                for note, keys in (
                    ("tool calls", _TOOLS),
                    ("reasoning", _REASONING),
                    ("refusal", ("refusal",)),
                )
                if any(message.get(k) for k in keys)
            ]
            tokens = _tokens(choice.get("logprobs"), self._chat)
            found[(i,)] = Whole(content or "", tokens, tuple(notes))
        return found

    def put(self, reply: dict[str, Any], channel: Channel, text: str, *, blocked: bool) -> None:
        choice = reply["choices"][channel[0]]
        if self._chat:
            choice["message"]["content"] = text
        else:
            choice["text"] = text
        choice["logprobs"] = None
        if blocked:
            choice["finish_reason"] = "content_filter"
            for key in _TOOLS if self._chat else ():
                choice["message"].pop(key, None)

    def strip(self, reply: dict[str, Any]) -> None:
        for choice in _choices(reply):
            choice["logprobs"] = None

    def group(self, channel: Channel) -> int:
        return channel[0]


def _choices(reply: Mapping[str, Any]) -> list[dict[str, Any]]:
    choices = reply.get("choices")
    if not isinstance(choices, list) or not all(isinstance(c, dict) for c in choices):
        raise UnreadableEvent("the reply has no choices")
    return choices


def _told(tokens: Sequence[Mapping[str, Any]], chat: bool) -> dict[str, Any]:
    """Log-probabilities as the API gives them."""
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
