"""Requests that let an LLM rewrite sentences, and parsing of the replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.claims.asking import question_of
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.records import Against, clean_text
from veridical.errors import NotApplicable
from veridical.llm.structured import read_json
from veridical.prompts import load_prompt

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.decide.unsupported import Flaw

PROMPT = "repair_rewrite"
_ORDER: tuple[Against, ...] = ("contexts", "reference", "samples")
_TOKENS = 256  # tokens of a reply in addition to its sentences


class Rewriting(NamedTuple):
    """A request for ``sentences`` rewritten sentences, numbered from 1."""

    request: ChatRequest
    sentences: int


def rewrite_request(record: Record, plan: Sequence[Flaw]) -> Rewriting | NotApplicable:
    """Return the request to rewrite the sentences of ``plan``; the reason if there is no source.

    The sources are the contexts of ``record``, else its reference, else its samples.
    """
    sources = None
    for what in _ORDER:
        try:
            sources = record.against(what)
            break
        except NotApplicable:
            continue
    if sources is None:
        return NotApplicable("the record has no contexts, reference or samples to rewrite by")
    listed = [
        "\n".join([f"[{i}] {flaw.sentence.text}", *(f"    - {s}" for s in flaw.unsupported)])
        for i, flaw in enumerate(plan, 1)
    ]
    messages = load_prompt(PROMPT).messages(
        question=question_of(record) or "(not given)",
        answer=record.response,
        sources="\n\n".join(f"[{s.kind} {s.index}]\n{s.text}" for s in sources),
        sentences="\n".join(listed),
    )
    room = _TOKENS + sum(len(f.sentence.text) for f in plan)  # one token per character is ample
    return Rewriting(ChatRequest(messages, max_tokens=room, schema=_schema(len(plan))), len(plan))


def _schema(n: int) -> dict[str, Any]:
    sentence = {
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 1, "maximum": n}, "text": _TEXT},
        "required": ["id", "text"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "sentences": {"type": "array", "items": sentence, "minItems": n, "maxItems": n}
        },
        "required": ["sentences"],
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}


def read_rewriting(reply: Reply | LlmError | None, rewriting: Rewriting) -> list[str]:
    """Return the sentences in the order of their numbers.

    Raises:
        LlmError: there is no complete answer, or numbers are missing or repeated.
    """
    if reply is None or isinstance(reply, LlmError):
        raise reply or LlmError("malformed", "there is no answer")
    text = reply.whole()
    sentences = read_json(text, _schema(rewriting.sentences))["sentences"]
    written = {int(s["id"]): s["text"] for s in sentences}
    if len(written) != rewriting.sentences:
        raise LlmError("malformed", "the answer has a sentence's number twice", text=text)
    try:
        return [clean_text(written[i]) for i in range(1, rewriting.sentences + 1)]
    except ValueError as e:
        raise LlmError("malformed", f"the answer has a {e}", text=text) from None
