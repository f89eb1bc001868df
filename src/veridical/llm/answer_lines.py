"""A prompt and the replies to it as a line that reads back as a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veridical.io.lines import LONGEST_LINE
from veridical.io.problems import RowProblem
from veridical.io.prompts import Unanswered
from veridical.llm.messages import Reply
from veridical.records import Record

_OF_AN_ANSWER = ("response", "samples", "logprobs", "given_sentences", "label", "unit_labels")


def text_of(reply: Reply) -> str:
    """What the model said; a refusal is an answer."""
    return reply.text or reply.refusal or ""


def answer_line(
    record: Record,
    response: Reply | None,
    samples: Sequence[Reply],
    told: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> bytes:
    """The JSON object of the answered record, without newline.

    Contexts, reference, label and meta of the row are kept. A response the row had, with all that
    belongs to it, goes to ``meta.sampling.given`` when another takes its place.

    Args:
        response: None keeps the row's own.
        told: how the answers came about; it goes to ``meta.sampling`` with finish reasons and
            token counts.
        columns: put into ``meta`` beside what the row had.

    Raises:
        RowProblem: the line would be longer than a reader takes.
        ValueError: a reply holds what no record can.
    """
    import pydantic_core

    own = {} if isinstance(record, Unanswered) else _own_answer(record)
    given = own if response is not None else {k: v for k, v in own.items() if k == "samples"}
    if "sampling" in record.meta:
        given = {**given, "sampling": record.meta["sampling"]}
    fields: dict[str, Any] = {"id": record.id, "prompt": record.prompt}
    if response is None:
        fields.update(own)
    else:
        fields["response"] = text_of(response)
        if response.logprobs is not None:
            fields["logprobs"] = _logprobs(response)
        if not own and record.label is not None:
            fields["label"] = record.label
    fields["samples"] = [_sample(r) for r in samples]
    if record.contexts:
        fields["contexts"] = [
            c.text if c.id is None else {"id": c.id, "text": c.text} for c in record.contexts
        ]
    if record.reference:
        fields["reference"] = list(record.reference)
    sampling = {**told, **_replies(response, samples), **({"given": given} if given else {})}
    fields["meta"] = {**record.meta, **columns, "sampling": sampling}
    Record.model_validate(fields)
    line = pydantic_core.to_json(fields, inf_nan_mode="constants")
    if len(line) > LONGEST_LINE:
        raise RowProblem(
            f"the record takes {len(line):,} bytes, and a line may have {LONGEST_LINE:,}: "
            "ask for fewer samples, tokens or log-probabilities"
        )
    return line


def _own_answer(record: Record) -> dict[str, Any]:
    """The row's response and what belongs to it."""
    kept = record.model_dump(by_alias=True, include=set(_OF_AN_ANSWER), exclude_none=True)
    return {k: v for k, v in kept.items() if v != ()}


def _replies(response: Reply | None, samples: Sequence[Reply]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    replies = [*samples] if response is None else [response, *samples]
    served = next((r.model for r in replies if r.model), None)
    if served is not None:
        told["served_model"] = served
    if response is not None:
        told["finish_reason"] = _finish_reason(response)
        told["usage"] = _usage(response)
    told["samples_usage"] = [_usage(r) for r in samples]
    return told


def _finish_reason(reply: Reply) -> str | None:
    return "refusal" if reply.refusal and not reply.text else reply.finish_reason


def _usage(reply: Reply) -> dict[str, int | None]:
    return {"prompt": reply.usage.prompt, "completion": reply.usage.completion}


def _logprobs(reply: Reply) -> list[dict[str, Any]]:
    found = []
    for t in reply.logprobs or ():
        token: dict[str, Any] = {"token": t.token, "logprob": t.logprob}
        if t.top:
            token["top"] = [{"token": a.token, "logprob": a.logprob} for a in t.top]
        found.append(token)
    return found


def _sample(reply: Reply) -> dict[str, Any]:
    made: dict[str, Any] = {"text": text_of(reply)}
    if reply.logprobs is not None:
        made["logprobs"] = _logprobs(reply)
    if _finish_reason(reply) is not None:
        made["finish_reason"] = _finish_reason(reply)
    return made
