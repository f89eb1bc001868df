"""What judges have in common: the parts a template takes from a record, requests, and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from veridical.errors import NotApplicable, UsageError
from veridical.evidence.evidence import failure
from veridical.llm.messages import ChatRequest, LlmError, Message, Reply
from veridical.llm.prompts import Numbers, Prompt, load_prompt
from veridical.llm.verdicts import ALTERNATIVES, Verdict, read_verdict
from veridical.scores import Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from veridical.evidence import Evidence
    from veridical.records import Record

#: Tokens of a bare verdict, and of one with an explanation. A model that says more is cut, which
#: is a failure: so there is room for one that does not keep to the form.
BARE, EXPLAINED = 256, 1024
#: Characters of an unreadable answer that a failed score keeps.
KEPT = 2000
#: ``schema`` asks for JSON and has the server hold the answer to it where it can; ``text`` sends
#: what the template says; ``published`` does so without fences and without asking for token
#: probabilities.
Form: TypeAlias = Literal["schema", "text", "published"]
_OF_RECORD = frozenset({"question", "answer", "context", "reference", "samples"})


def judging(template: str, given: frozenset[str] = frozenset()) -> Prompt:
    """A template that asks for a verdict on what a record holds, and on ``given``, which the
    caller fills.

    Raises:
        UsageError: there is none of this name, or it asks for no verdict, or for one on other
            things.
    """
    prompt = load_prompt(template)
    if prompt.scale is None:
        raise UsageError(f"prompt {prompt.name} asks for no verdict")
    filled(prompt, given)
    return prompt


def filled(prompt: Prompt, given: frozenset[str] = frozenset()) -> None:
    """
    Raises:
        UsageError: the template has a place for what neither a record nor the caller fills.
    """
    known = _OF_RECORD | given
    for name in sorted(prompt.parts - known):
        raise UsageError(
            f"prompt {prompt.name} has a place for {{{name}}}, which this scorer does not fill; "
            f"it fills {', '.join(sorted(known))}"
        )


def parts_of(record: Record, prompt: Prompt, given: frozenset[str] = frozenset()) -> dict[str, str]:
    """The parts of ``prompt`` that the record fills: its question (the prompt), answer (the
    response), context, reference and samples, several texts parted by blank lines.

    Args:
        given: parts that the caller fills, left out here.

    Raises:
        NotApplicable: the record lacks one.
        UsageError: the template has a place for something else.
    """
    filled(prompt, given)
    return {name: _part(record, name) for name in sorted(prompt.parts - given)}


def _part(record: Record, name: str) -> str:
    if name == "answer":
        return record.need_response()
    if name == "question":
        if record.prompt is None:
            raise NotApplicable("the record has no prompt")
        return question_text(record.prompt)
    if name == "context":
        return "\n\n".join(s.text for s in record.against("contexts"))
    if name == "reference":
        return "\n\n".join(s.text for s in record.against("reference"))
    return "\n\n".join(s.text for s in record.against("samples"))


def question_text(prompt: str | list[dict[str, Any]]) -> str:
    """A prompt as text: a lone user message as it is, several each after its role. Images stand
    as ``[image 1]``; see :func:`images`."""
    if isinstance(prompt, str):
        return prompt
    count = 0
    said = []
    for message in prompt:
        content = message.get("content")
        texts = []
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, dict) and part.get("type") == "image_url":
                count += 1
                texts.append(f"[image {count}]")
            else:
                text = part.get("text") if isinstance(part, dict) else part
                texts.append(text if isinstance(text, str) else "")
        said.append((str(message.get("role")), "\n".join(texts)))
    if len(said) == 1 and said[0][0] == "user":
        return said[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in said)


def images(prompt: str | list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """The image parts of a prompt, in order."""
    if not isinstance(prompt, list):
        return []
    return [
        part
        for message in prompt
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict) and part.get("type") == "image_url"
    ]


def request(
    prompt: Prompt,
    parts: dict[str, str],
    record: Record,
    *,
    explain: bool = False,
    fenced: bool = True,
    form: Form = "schema",
    temperature: float = 0.0,
    max_tokens: int | None = None,
    ordinal: int = 0,
) -> ChatRequest:
    """The call that asks for one verdict; a question's images go with its text."""
    published = form == "published"
    explained = explain or prompt.explains
    as_json = form == "schema"
    messages = prompt.messages(
        fenced=fenced and not published, explain=explain, as_json=as_json, **parts
    )
    if "question" in prompt.parts:
        messages = _with_images(messages, images(record.prompt))
    counts = not isinstance(prompt.scale, Numbers) or prompt.scale.whole
    return ChatRequest(
        messages,
        temperature=temperature,
        max_tokens=max_tokens or (EXPLAINED if explained else BARE),
        logprobs=ALTERNATIVES if counts and not published else None,
        schema=prompt.schema(explain) if as_json else None,
        ordinal=ordinal,
    )


def _with_images(messages: tuple[Message, ...], found: list[dict[str, Any]]) -> tuple[Message, ...]:
    if not found:
        return messages
    last = messages[-1]
    return (
        *messages[:-1],
        {**last, "content": [{"type": "text", "text": last["content"]}, *found]},
    )


def report(verdict: Verdict, prompt: Prompt) -> dict[str, Any]:
    """A verdict as it stands in a raw value; ``confidence`` is 1 - risk."""
    return {
        "confidence": 1 - verdict.risk,
        "value": verdict.value,
        "answer": verdict.answer,
        "how": verdict.how,
        "probabilities": verdict.probabilities,
        "outside": verdict.outside,
        "explanation": verdict.explanation,
        "prompt": prompt.identity,
    }


def read_all(
    replies: Sequence[Reply], prompt: Prompt, explain: bool = False
) -> tuple[list[Verdict | None], list[LlmError]]:
    """Verdicts of ``replies``, None where there is none, and why there is none."""
    verdicts: list[Verdict | None] = []
    troubles = []
    for reply in replies:
        try:
            verdicts.append(read_verdict(reply, prompt, explain=explain))
        except LlmError as e:
            verdicts.append(None)
            troubles.append(e)
    return verdicts, troubles


async def failed(evidence: Evidence, *errors: LlmError) -> Score:
    """A failed score that keeps what the model had said in the first of ``errors``."""
    for error in errors:
        await evidence.note_failure(error)
    first = errors[0]
    said = None if first.text is None else first.text[:KEPT]
    raw = {"trouble": first.trouble, "text": said}
    return Score(risk=None, raw=raw, status="failed", reason=failure(first))
