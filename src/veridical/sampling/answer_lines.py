"""A prompt and its replies as a line of JSON records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from veridical.core.messages import Reply
from veridical.core.records import Record
from veridical.io.lines import LONGEST_LINE
from veridical.io.problems import RowProblem
from veridical.io.prompts import Unanswered

_OF_AN_ANSWER = ("response", "samples", "logprobs", "given_sentences", "label", "unit_labels")


def text_of(reply: Reply) -> str:
    """Return the text of a reply; a refusal is an answer."""
    return reply.text or reply.refusal or ""


def answer_line(
    record: Record,
    response: Reply | None,
    samples: Sequence[Reply],
    origin: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> bytes:
    """Return the JSON object of the answered record, without newline.

    Contexts, reference, label and meta of the row are kept. A replaced response of the row, with
    all that belongs to it, moves to ``meta.sampling.given``.

    Args:
        response: the new response; None keeps the row's own.
        origin: origin of the answers, for ``meta.sampling``, with finish reasons and token counts.
        columns: added to the row's ``meta``.

    Raises:
        RowProblem: the line would exceed the readers' limit.
        ValueError: a reply has content that a record cannot hold.
    """
    import pydantic_core

    old = {} if isinstance(record, Unanswered) else _answer_of(record)
    replaced = old if response is not None else {k: v for k, v in old.items() if k == "samples"}
    if "sampling" in record.meta:
        replaced = {**replaced, "sampling": record.meta["sampling"]}
    fields: dict[str, Any] = {"id": record.id, "prompt": record.prompt}
    if response is None:
        fields.update(old)
    else:
        fields["response"] = text_of(response)
        if response.logprobs is not None:
            fields["logprobs"] = _logprobs(response)
        if not old and record.label is not None:
            fields["label"] = record.label
    fields["samples"] = [_sample(r) for r in samples]
    if record.contexts:
        fields["contexts"] = [
            c.text if c.id is None else {"id": c.id, "text": c.text} for c in record.contexts
        ]
    if record.reference:
        fields["reference"] = list(record.reference)
    sampling = {**origin, **_replies(response, samples)}
    if replaced:
        sampling["given"] = replaced
    fields["meta"] = {**record.meta, **columns, "sampling": sampling}
    Record.model_validate(fields)
    line = pydantic_core.to_json(fields, inf_nan_mode="constants")
    if len(line) > LONGEST_LINE:
        raise RowProblem(
            f"the record has {len(line):,} bytes, over the line limit of {LONGEST_LINE:,}; "
            "request fewer samples, tokens or log-probabilities"
        )
    return line


def _answer_of(record: Record) -> dict[str, Any]:
    """Return the row's response and the fields that belong to it."""
    fields = record.model_dump(by_alias=True, include=set(_OF_AN_ANSWER), exclude_none=True)
    return {k: v for k, v in fields.items() if v != ()}


def _replies(response: Reply | None, samples: Sequence[Reply]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    replies = [*samples] if response is None else [response, *samples]
    served = next((r.model for r in replies if r.model), None)
    if served is not None:
        fields["served_model"] = served
    if response is not None:
        fields["finish_reason"] = _finish_reason(response)
        fields["usage"] = _usage(response)
    fields["samples_usage"] = [_usage(r) for r in samples]
    return fields


def _finish_reason(reply: Reply) -> str | None:
    return "refusal" if reply.refusal and not reply.text else reply.finish_reason


def _usage(reply: Reply) -> dict[str, int | None]:
    return {"prompt": reply.usage.prompt, "completion": reply.usage.completion}


def _logprobs(reply: Reply) -> list[dict[str, Any]]:
    dumped = (t.model_dump() for t in reply.logprobs or ())
    return [t if t["top"] else {"token": t["token"], "logprob": t["logprob"]} for t in dumped]


def _sample(reply: Reply) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": text_of(reply)}
    if reply.logprobs is not None:
        fields["logprobs"] = _logprobs(reply)
    if _finish_reason(reply) is not None:
        fields["finish_reason"] = _finish_reason(reply)
    return fields
