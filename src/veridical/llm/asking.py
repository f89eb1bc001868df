"""Verdict requests to an LLM judge, and their results.

A reply without a verdict is requested once more, with the rule restated.
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

#: Maximum tokens of a bare verdict, and of a verdict with an explanation. A longer reply is cut,
#: which counts as a failure; the limits leave room for models that stray from the form.
BARE, EXPLAINED = 256, 1024
#: Maximum characters of an unreadable reply that a failed score keeps.
KEPT = 2000
#: ``schema`` requests JSON and has the server enforce the schema where it can. ``text`` sends the
#: template's own wording. ``token`` does so too, and requests only as many tokens as the verdict's
#: probabilities need. ``published`` is ``text`` without fences and without token probabilities.
Form: TypeAlias = Literal["schema", "text", "token", "published"]
#: Callable that makes the calls, such as :meth:`veridical.core.evidence.Evidence.chat`.
Chat: TypeAlias = Callable[[Sequence[ChatRequest]], Awaitable[list[Reply]]]
_OF_RECORD = frozenset({"question", "answer", "context", "reference", "samples"})


def judging(template: str, given: frozenset[str] = frozenset()) -> Prompt:
    """Return a template that requests a verdict on the record's parts and on ``given``.

    Args:
        template: the template's name.
        given: parts that the caller fills.

    Raises:
        UsageError: no template has this name, it requests no verdict, or it needs other parts.
    """
    prompt = load_prompt(template)
    if prompt.scale is None:
        raise UsageError(
            f"prompt {prompt.name} requests no verdict; choose a template with a scale"
        )
    check_parts(prompt, given)
    return prompt


def check_parts(prompt: Prompt, given: frozenset[str] = frozenset()) -> None:
    """Check that every part of the template can be filled.

    Raises:
        UsageError: neither the record nor the caller fills a part of the template.
    """
    known = _OF_RECORD | given
    for name in sorted(prompt.parts - known):
        raise UsageError(
            f"prompt {prompt.name} has the part {{{name}}}, which this scorer does not fill; "
            f"it fills {', '.join(sorted(known))}"
        )


def parts_of(record: Record, prompt: Prompt, given: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the parts of ``prompt`` that the record fills.

    These are the question (the record's prompt), answer (its response), context, reference and
    samples. Several texts are joined by blank lines.

    Args:
        given: parts that the caller fills, left out here.

    Raises:
        NotApplicable: the record lacks a part.
        UsageError: the template has an unknown part.
    """
    check_parts(prompt, given)
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
    """Return the reply form to use for the endpoint ``llm``.

    A model that llama.cpp runs locally is asked by ``token`` instead of ``schema``, because its
    server always returns token probabilities. Under a schema, such a model writes a dozen tokens
    around its verdict. Each takes as long as reading several.
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
    """Build the request for one verdict, with the images of the record's question.

    ``schema`` replaces the form ``token`` where token probabilities carry no signal: after an
    explanation, or for verdicts with fractions.
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
    usual = _tokens_to_request(prompt) if by_token else EXPLAINED if explained else BARE
    return ChatRequest(
        messages,
        temperature=temperature,
        max_tokens=max_tokens or usual,
        logprobs=ALTERNATIVES if counts and not published else None,
        schema=prompt.schema(explain) if as_json else None,
        ordinal=ordinal,
        cut=by_token,
    )


def _tokens_to_request(prompt: Prompt) -> int:
    """Return the number of tokens after which a verdict's probabilities are known.

    One token for a word; for a number, its maximum digits plus one for a blank.
    """
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
    """Return the verdict in the reply to each request, or the error that explains its absence.

    If a reply has no verdict that is clearly the model's own, the request is sent once more with
    the reply form restated. That call is journaled, counted and held to the budget like any other.
    A reply that is cut or blank is not requested again, unless only its first tokens were
    requested.

    Args:
        prompts: the template of each request.
        again: whether to request a missing verdict once more.

    Raises:
        LlmError: a call returned no reply.
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
    """Return a verdict for every request; see :func:`ask_verdicts`.

    Raises:
        LlmError: a call returned no reply, or a reply without a verdict.
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
    """Request verdicts, once more where one is missing; return verdicts and errors.

    Raises:
        LlmError: a call returned no reply.
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
    """Read the verdicts of ``replies`` (None where missing), and the errors that explain gaps."""
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
    """Return ``request`` with its reply form restated, after a reply without a verdict.

    If only the first tokens were requested, JSON is requested now.
    """
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
    """Return a text part of a message."""
    return {"type": "text", "text": text}


def report(verdict: JudgeVerdict, prompt: Prompt) -> dict[str, Any]:
    """Return a verdict in the form of a raw value; ``confidence`` is 1 - risk."""
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
    """Return a failed score that keeps the model's text from the first of ``errors``."""
    for error in errors:
        await evidence.note_failure(error)
    first = errors[0]
    said = None if first.text is None else first.text[:KEPT]
    raw = {"trouble": first.trouble, "text": said}
    return Score(risk=None, raw=raw, status="failed", reason=failure(first))
