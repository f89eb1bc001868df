"""Log-probabilities in held streams: those of what is let out, for a client that asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from flights import flight, sent
from guarding import chunk, delivered, sse

from veridical.decide.policy_file import GuardRules
from veridical.serve.guard.sse import Events

Tokens = Sequence[tuple[str, float]]
#: A good sentence, a bad one, and one that shares a token with the next.
TOKENS: Tokens = [
    *(("It", -0.1), (" rains", -0.2), (".", -0.3)),
    *((" This", -0.4), (" is", -0.5), (" BAD", -0.6), (".", -0.7)),
    *((" It", -0.8), (" pours", -0.9), (".", -1.0)),
]


def entry(token: str, logprob: float) -> dict[str, Any]:
    one = {"token": token, "logprob": logprob, "bytes": list(token.encode())}
    other = {"token": "x", "logprob": -5.0, "bytes": [120]}
    return {**one, "top_logprobs": [other]}


def stream(path: str, tokens: Tokens, size: int = 1) -> bytes:
    """A streamed answer with log-probabilities, ``size`` tokens an event."""
    groups = [tokens[i : i + size] for i in range(0, len(tokens), size)]
    events: list[Any] = []
    for group in groups:
        text, entries = "".join(t for t, _ in group), [entry(*t) for t in group]
        if path == "responses":
            place = {"item_id": "i", "output_index": 0, "content_index": 0}
            kind = "response.output_text.delta"
            events.append({"type": kind, **place, "delta": text, "logprobs": entries})
        elif path == "completions":
            told = {
                "tokens": [t for t, _ in group],
                "token_logprobs": [v for _, v in group],
                "top_logprobs": [{"x": -5.0} for _ in group],
                "text_offset": [0 for _ in group],
            }
            choice = {"index": 0, "text": text, "logprobs": told, "finish_reason": None}
            events.append({"id": "c", "object": "text_completion", "choices": [choice]})
        else:
            made = chunk({"content": text})
            made["choices"][0]["logprobs"] = {"content": entries, "refusal": None}
            events.append(made)
    if path == "responses":
        text = "".join(t for t, _ in tokens)
        events.append({"type": "response.output_text.done", **place, "text": text, "logprobs": []})
        response = {"id": "r", "object": "response", "status": "completed", "output": []}
        return sse(*events, {"type": "response.completed", "response": response})
    return sse(*events, "[DONE]")


def told(path: str, data: bytes) -> list[tuple[str, list[tuple[str, float]]]]:
    """Each text that was let out, with its tokens."""
    found = []
    for event in Events().feed(data):
        if not event.data or event.data == "[DONE]":
            continue
        if path == "responses":
            if event.object["type"] == "response.output_text.delta":
                entries = event.object["logprobs"]
                found.append((event.object["delta"], entries))
            continue
        for choice in event.object.get("choices", ()):
            logprobs = choice.get("logprobs") or {}
            if path == "completions" and choice["text"]:
                pairs = zip(
                    logprobs.get("tokens", ()), logprobs.get("token_logprobs", ()), strict=True
                )
                found.append((choice["text"], [{"token": t, "logprob": v} for t, v in pairs]))
            elif path == "chat/completions" and choice["delta"].get("content"):
                found.append((choice["delta"]["content"], logprobs.get("content", [])))
    return [(text, [(e["token"], e["logprob"]) for e in entries]) for text, entries in found]


PATHS = ["chat/completions", "completions", "responses"]


@pytest.mark.parametrize("size", [1, 3, 20])
@pytest.mark.parametrize("mode", ["hold", "buffer"])
@pytest.mark.parametrize("path", PATHS)
def test_what_is_let_out_has_its_log_probabilities(path: str, mode: str, size: int) -> None:
    made = flight(path, mode, GuardRules(on_reject="drop"))
    out = sent(made, [stream(path, TOKENS, size)])
    parts = told(path, out)
    assert "".join(text for text, _ in parts) == "It rains. It pours."
    for text, tokens in parts:
        assert "".join(t for t, _ in tokens) == text
    assert [t for _, tokens in parts for t in tokens] == [*TOKENS[:3], *TOKENS[7:]]
    assert b"BAD" not in out
    if path == "chat/completions":  # in the API's own terms
        first = json.loads(out.split(b"data: ")[1].split(b"\n")[0])
        assert first["choices"][0]["logprobs"]["content"][0] == entry("It", -0.1)


@pytest.mark.parametrize("path", PATHS)
def test_what_the_client_did_not_ask_for_is_not_passed_on(path: str) -> None:
    out = sent(flight(path, strip=True), [stream(path, TOKENS)])
    assert delivered(path, out) == "It rains."
    assert all(tokens == [] for _, tokens in told(path, out))
    assert b"-0.1" not in out


def test_a_mended_sentence_has_none() -> None:
    path = "chat/completions"
    made = flight(path, "buffer", GuardRules(on_reject="replace", replacement="[no]"))
    parts = told(path, sent(made, [stream(path, TOKENS)]))
    assert parts == [
        ("It rains.", list(TOKENS[:3])),
        (" [no]", []),
        (" It pours.", list(TOKENS[7:])),
    ]


def test_tokens_that_belong_to_two_sentences_are_left_out_and_later_ones_are_right() -> None:
    path = "chat/completions"
    tokens = [("It", -0.1), (" rains", -0.2), (".\n", -0.3), ("It", -0.4), (" pours", -0.5)]
    tokens += [(".", -0.6), (" It", -0.7), (" snows", -0.8), (".", -0.9)]
    parts = told(path, sent(flight(path), [stream(path, tokens)]))
    assert parts == [("It rains.", []), ("\nIt pours.", []), (" It snows.", tokens[6:])]
