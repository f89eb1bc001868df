"""Asking a judge for verdicts: the parts a template takes from a record, requests, and results.

A reply that has no verdict is asked for once more, with the rule restated.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from veridical.core.evidence import failure
from veridical.core.messages import ChatRequest, LlmError, Reply
from veridical.core.prompt_text import images, question_text
from veridical.core.scores import Score
from veridical.errors import NotApplicable, UsageError
from veridical.llm.verdicts import ALTERNATIVES, JudgeVerdict, read_verdict
from veridical.prompts import Numbers, Prompt, load_prompt

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record

#: Tokens of a bare verdict, and of one with an explanation. A model that says more is cut, which
#: is a failure: so there is room for one that does not keep to the form.
BARE, EXPLAINED = 256, 1024
#: Characters of an unreadable answer that a failed score keeps.
KEPT = 2000
#: ``schema`` asks for JSON and has the server hold the answer to it where it can; ``text`` sends
#: what the template says; ``token`` does so too, and takes no more of the answer than tells its
#: first tokens' probabilities; ``published`` is ``text`` without fences and without asking for
#: token probabilities.
Form: TypeAlias = Literal["schema", "text", "token", "published"]
#: What makes calls, such as :meth:`veridical.core.evidence.Evidence.chat`.
Chat: TypeAlias = Callable[[Sequence[ChatRequest]], Awaitable[list[Reply]]]
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
    sources: dict[str, Literal["contexts", "reference", "samples"]]
    sources = {"context": "contexts", "reference": "reference", "samples": "samples"}
    return "\n\n".join(source.text for source in record.against(sources[name]))


def form_for(evidence: Evidence, llm: str | None, form: Form = "schema") -> Form:
    """How the endpoint ``llm`` is asked: a model that llama.cpp runs here by ``token`` in place of
    ``schema``, as its server surely tells token probabilities.

    Held to a schema, such a model writes a dozen tokens around its verdict, most of them ones that
    it would not choose, and each costs as much time as reading several.
    """
    return "token" if form == "schema" and evidence.tells_tokens(llm) else form


def request(
    prompt: Prompt,
    parts: dict[str, str],
    record: Record | None = None,
    *,
    explain: bool = False,
    fenced: bool = True,
    form: Form = "schema",
    temperature: float = 0.0,
    max_tokens: int | None = None,
    ordinal: int = 0,
) -> ChatRequest:
    """The call that asks for one verdict; the images of the record's question go with its text.

    Where token probabilities would tell nothing, as the verdict comes after an explanation or is a
    fraction, ``schema`` takes the place of the form ``token``.
    """
    published = form == "published"
    explained = explain or prompt.explains
    counts = not isinstance(prompt.scale, Numbers) or prompt.scale.whole
    by_token = form == "token" and counts and not explained
    as_json = form == "schema" or (form == "token" and not by_token)
    messages = prompt.messages(
        fenced=fenced and not published, explain=explain, as_json=as_json, **parts
    )
    if record is not None and "question" in prompt.parts and (shown := images(record.prompt)):
        *before, last = messages
        messages = (*before, {**last, "content": [_text(last["content"]), *shown]})
    usual = _telling(prompt) if by_token else EXPLAINED if explained else BARE
    return ChatRequest(
        messages,
        temperature=temperature,
        max_tokens=max_tokens or usual,
        logprobs=ALTERNATIVES if counts and not published else None,
        schema=prompt.schema(explain) if as_json else None,
        ordinal=ordinal,
        cut=by_token,
    )


def _telling(prompt: Prompt) -> int:
    """Tokens after which the probabilities of an answer are known: the first of a word; of a
    number as many as it may have digits, and one for a blank."""
    if isinstance(prompt.scale, Numbers):
        return len(f"{prompt.scale.high:g}") + 1
    return 1


async def ask_verdicts(
    chat: Chat,
    requests: Sequence[ChatRequest],
    prompts: Sequence[Prompt],
    *,
    explain: bool = False,
    again: bool = True,
) -> list[JudgeVerdict | LlmError]:
    """The verdict in the reply to each of ``requests``, or why it has none.

    Of a reply that states no verdict that is clearly the model's own, one more is asked for, by
    the same request with the form of the reply restated. It is a call like any other: journaled,
    counted, and held to the budget. What has no verdict then has none. A reply that is cut or
    blank is not asked for again, unless only its first tokens were wanted.

    Args:
        prompts: by which each was made.
        again: False takes the first reply for the last.

    Raises:
        LlmError: a call brought no reply.
    """
    pairs = list(zip(requests, prompts, strict=True))
    if again:
        requests = [
            replace(r, verdict="" if p.scale is None else p.scale.example()) for r, p in pairs
        ]
    replies = await chat(requests) if requests else []
    outcomes = [
        _read(reply, prompt, explain, cut=request.cut)
        for reply, (request, prompt) in zip(replies, pairs, strict=True)
    ]
    unread = [
        i
        for i, outcome in enumerate(outcomes)
        if again
        and isinstance(outcome, LlmError)
        and (outcome.trouble == "malformed" or (outcome.trouble == "empty" and pairs[i][0].cut))
    ]
    if unread:
        replies = await chat([restated(*pairs[i]) for i in unread])
        for i, reply in zip(unread, replies, strict=True):
            outcomes[i] = _read(reply, prompts[i], explain)
    return outcomes


async def ask_all(
    chat: Chat, requests: Sequence[ChatRequest], prompts: Sequence[Prompt], *, explain: bool = False
) -> list[JudgeVerdict]:
    """:func:`ask_verdicts`, where every reply must have one.

    Raises:
        LlmError: a call brought no reply, or one without a verdict.
    """
    verdicts, errors = _parted(await ask_verdicts(chat, requests, prompts, explain=explain))
    if errors:
        raise errors[0]
    return [verdict for verdict in verdicts if verdict is not None]


async def ask_each(
    evidence: Evidence,
    requests: Sequence[ChatRequest],
    prompt: Prompt,
    llm: str | None,
    form: Form = "schema",
    explain: bool = False,
) -> tuple[list[JudgeVerdict | None], list[LlmError]]:
    """Verdicts asked for by ``requests``, once more where there is none, and why there is none.

    Raises:
        LlmError: a call brought no reply.
    """
    outcomes = await ask_verdicts(
        lambda calls: evidence.chat(calls, llm),
        requests,
        [prompt] * len(requests),
        explain=explain,
        again=form != "published",
    )
    return _parted(outcomes)


def read_all(
    replies: Sequence[Reply], prompt: Prompt, explain: bool = False
) -> tuple[list[JudgeVerdict | None], list[LlmError]]:
    """Verdicts of ``replies``, None where there is none, and why there is none."""
    return _parted([_read(reply, prompt, explain) for reply in replies])


def _parted(
    outcomes: Sequence[JudgeVerdict | LlmError],
) -> tuple[list[JudgeVerdict | None], list[LlmError]]:
    verdicts = [None if isinstance(o, LlmError) else o for o in outcomes]
    return verdicts, [o for o in outcomes if isinstance(o, LlmError)]


def _read(
    reply: Reply, prompt: Prompt, explain: bool, *, cut: bool = False
) -> JudgeVerdict | LlmError:
    try:
        return read_verdict(reply, prompt, explain=explain, cut=cut)
    except LlmError as e:
        return e


def restated(request: ChatRequest, prompt: Prompt) -> ChatRequest:
    """``request`` with the form of its reply said again, the last reply having had no verdict.
    Where only the first tokens were wanted, they tell nothing: it is asked for as JSON now."""
    if request.cut:
        request = replace(request, schema=prompt.schema(), max_tokens=BARE, cut=False)
    fields = {} if request.schema is None else request.schema["properties"]
    rule = prompt.rule(as_json=request.schema is not None, explain="explanation" in fields)
    *before, last = request.messages
    content = last["content"]
    longer: Any = (
        f"{content.rstrip()}\n\n{rule}" if isinstance(content, str) else [*content, _text(rule)]
    )
    messages = (*before, {**last, "content": longer})
    return replace(request, messages=messages, verdict=None, again=True)


def _text(text: str) -> dict[str, str]:
    """A part of a message."""
    return {"type": "text", "text": text}


def report(verdict: JudgeVerdict, prompt: Prompt) -> dict[str, Any]:
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


async def failed(evidence: Evidence, *errors: LlmError) -> Score:
    """A failed score that keeps what the model had said in the first of ``errors``."""
    for error in errors:
        await evidence.note_failure(error)
    first = errors[0]
    said = None if first.text is None else first.text[:KEPT]
    raw = {"trouble": first.trouble, "text": said}
    return Score(risk=None, raw=raw, status="failed", reason=failure(first))
