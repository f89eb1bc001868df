"""Readers of observability and evaluation exports: OpenTelemetry, Langfuse, Inspect, promptfoo.

One row may be a whole export; each answer in it is a record. An error costs only its own answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from veridical.io.chat_readers import decoded, fields_of
from veridical.io.conversations import Context, Message, contexts_of, documents_of, from_chat
from veridical.io.names import ALIASES
from veridical.io.problems import RowProblem
from veridical.text.display import named, shown

Row = dict[str, Any]

_EMPTY: Mapping[str, Any] = {}
#: Without any of these, an object is not a span: exporters omit empty attributes and events.
_OF_SPANS = frozenset(
    ("attributes", "events", "name", "spanId", "span_id", "traceId", "trace_id", "context")
)


def otel(row: Row, index: int, *, system: bool = False) -> Iterable[Row | RowProblem]:
    """Read OpenTelemetry spans with GenAI messages, as OTLP JSON or one span per row.

    Supported are messages in the attributes ``gen_ai.input.messages`` and
    ``gen_ai.output.messages``, or events with these names. Older events per message are supported
    too (``gen_ai.user.message``, ``gen_ai.choice``), and the numbered attributes of OpenLLMetry and
    OpenInference. Spans without an answer yield no records.
    """
    for where, span in _spans(row):
        yield from _each(partial(_span, span, where, system))


def _spans(row: Row) -> Iterator[tuple[str, Any]]:
    """Yield the spans of an export, with their locations."""
    if not any(key in row for key in ("resourceSpans", "resource_spans", "scopeSpans", "spans")):
        yield "", row
        return
    waiting: list[tuple[str, Any]] = [("", row)]
    nested = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans")
    while waiting:
        where, value = waiting.pop(0)
        keys = [k for k in nested if isinstance(value, dict) and k in value]
        if not keys:
            yield where, value
        for key in keys:
            place = f"{where}.{key}" if where else key
            inner = value[key]
            if isinstance(inner, list):
                waiting += [(f"{place}[{i}]", item) for i, item in enumerate(inner)]
            else:
                waiting.append((place, inner))


def _span(span: Any, where: str, system: bool) -> Iterator[Row]:
    inside = f"{where}." if where else ""
    if not isinstance(span, dict):
        raise RowProblem(f"must be a span (an object), got {shown(span)}", where or None)
    if not _OF_SPANS.intersection(span):
        raise RowProblem("must be a span, with attributes or events", where or None)
    attributes = _attributes(span.get("attributes"), f"{inside}attributes")
    events = span.get("events") or []
    if not isinstance(events, list):
        raise RowProblem(f"must be a list, got {shown(events)}", f"{inside}events")
    one_by_one: list[Message] = []
    for i, event in enumerate(events):
        place = f"{inside}events[{i}]"
        if not isinstance(event, dict):
            raise RowProblem(f"must be an object, got {shown(event)}", place)
        event_values = _attributes(event.get("attributes"), f"{place}.attributes")
        body = event.get("body")
        if isinstance(body, dict):
            event_values = {**event_values, **_attributes(body, f"{place}.body")}
        for key in ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt"):
            if key in event_values:
                attributes.setdefault(key, event_values[key])
        for key in ("gen_ai.system_instructions", "gen_ai.completion"):
            if key in event_values:
                attributes.setdefault(key, event_values[key])
        one_by_one += _event_message(str(event.get("name", "")), event_values)
    found = _of_attributes(attributes, f"{inside}attributes") or one_by_one
    if not any(m.get("role") == "assistant" for m in found):
        return
    ids = (span.get(k) for k in ("spanId", "span_id"))
    context = span.get("context")
    within = context.get("span_id") if isinstance(context, dict) else None
    name = next((i for i in (*ids, within) if isinstance(i, str)), None)
    sources = [
        {"text": text}
        for key, text in attributes.items()
        if re.fullmatch(r"retrieval\.documents\.\d+\.document\.content", key)
        and isinstance(text, str)
    ]
    meta = {
        "span": span.get("name"),
        "trace": span.get("traceId", span.get("trace_id")),
        "model": attributes.get("gen_ai.response.model", attributes.get("gen_ai.request.model")),
    }
    holder = {"id": name, "documents": sources or None, "tools": _tool_definitions(attributes)}
    fields = fields_of(from_chat(found, where or "messages"), holder, holder, system)
    fields["meta"] = {k: v for k, v in (fields["meta"] | meta).items() if v is not None}
    yield fields


def _tool_definitions(attributes: Mapping[str, Any]) -> Any:
    """Return the tools that a span names, by the conventions, OpenInference or OpenLLMetry."""
    defined = decoded(attributes.get("gen_ai.tool.definitions"))
    if defined is not None:
        return defined
    tools: list[Any] = []
    for key in sorted(attributes):
        if re.fullmatch(r"llm\.tools\.\d+\.tool\.json_schema", key):
            tools.append(decoded(attributes[key]))
        elif match := re.fullmatch(r"(llm\.request\.functions\.\d+)\.name", key):
            parameters = decoded(attributes.get(f"{match[1]}.parameters"))
            tools.append({"name": attributes[key], "parameters": parameters})
    return tools or None


def _attributes(value: Any, where: str) -> dict[str, Any]:
    """Return attributes by name, from a plain object or OTLP's list of keys and typed values."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return {str(k): v for k, v in value.items()}
    if not isinstance(value, list):
        raise RowProblem(
            f"must be an object or a list of keys and values, got {shown(value)}", where
        )
    found = {}
    for i, pair in enumerate(value):
        if not isinstance(pair, dict) or not isinstance(pair.get("key"), str):
            raise RowProblem(
                f"must be an object with 'key' and 'value', got {shown(pair)}", f"{where}[{i}]"
            )
        found[pair["key"]] = _value(pair.get("value"))
    return found


def _value(value: Any) -> Any:
    """Convert a typed OTLP value to a plain one."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind in ("arrayValue", "array_value") and isinstance(inner, dict):
        items = inner.get("values", [])
        return [_value(v) for v in items] if isinstance(items, list) else []
    if kind in ("kvlistValue", "kvlist_value") and isinstance(inner, dict):
        pairs = inner.get("values", [])
        pairs = pairs if isinstance(pairs, list) else []
        return {str(p.get("key")): _value(p.get("value")) for p in pairs if isinstance(p, dict)}
    return inner if kind.endswith(("Value", "_value")) else value


def _of_attributes(attributes: Mapping[str, Any], where: str) -> list[Message]:
    """Return the messages in a span's attributes, by any supported convention."""
    asked = decoded(attributes.get("gen_ai.input.messages", attributes.get("gen_ai.prompt")))
    said = decoded(attributes.get("gen_ai.output.messages", attributes.get("gen_ai.completion")))
    found: list[Message] = []
    instructions = decoded(attributes.get("gen_ai.system_instructions"))
    if instructions is not None:
        found += _of_parts({"role": "system", "parts": instructions}, f"{where}.system")
    if asked is not None or said is not None:
        for value, key, role in (
            (asked, "gen_ai.input.messages", "user"),
            (said, "gen_ai.output.messages", "assistant"),
        ):
            place = f"{where}.{key}"
            if isinstance(value, str):
                found.append({"role": role, "content": value})
            elif value is not None and not isinstance(value, list):
                raise RowProblem(f"must be a list of messages, got {shown(value)}", place)
            for i, message in enumerate(value if isinstance(value, list) else ()):
                found += _of_parts(message, f"{place}[{i}]", role)
        return found
    for prefix, role in (
        ("gen_ai.prompt", "user"),
        ("llm.input_messages", "user"),
        ("gen_ai.completion", "assistant"),
        ("llm.output_messages", "assistant"),
    ):
        found += _numbered(attributes, prefix, role)
    return found


def _of_parts(message: Any, where: str, role: str = "user") -> Iterator[Message]:
    """Convert a conventions message (``role`` and ``parts``) to chat messages."""
    if not isinstance(message, dict):
        raise RowProblem(f"must be a message (an object), got {shown(message)}", where)
    parts = message.get("parts", message.get("content"))
    whose = message.get("role", role)
    if not isinstance(parts, list):
        yield {**message, "role": whose, "content": parts}
        return
    content: list[Any] = []
    calls: list[Any] = []
    results: list[Message] = []
    for i, part in enumerate(parts):
        if not isinstance(part, (str, dict)):
            raise RowProblem(f"must be an object, got {shown(part)}", f"{where}.parts[{i}]")
        kind = part.get("type") if isinstance(part, dict) else "text"
        if isinstance(part, str):
            content.append(part)
        elif kind == "tool_call":
            function = {"name": part.get("name"), "arguments": part.get("arguments")}
            calls.append({"id": part.get("id"), "type": "function", "function": function})
        elif kind == "tool_call_response":
            result = part.get("response", part.get("result"))
            results.append({"role": "tool", "tool_call_id": part.get("id"), "content": result})
        elif kind == "text":
            content.append({"type": "text", "text": part.get("content", part.get("text"))})
        else:
            content.append(part)
    if content or calls or not results:
        own: Message = {"role": "assistant" if whose == "model" else whose, "content": content}
        yield {**own, "tool_calls": calls} if calls else own
    for result in results:
        name = message.get("name")
        yield {**result, "name": name} if isinstance(name, str) else result


_EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}


def _event_message(name: str, event_values: Mapping[str, Any]) -> Iterator[Message]:
    role = _EVENTS.get(name)
    if role is None:
        return
    inner = decoded(event_values.get("message"))
    body = inner if isinstance(inner, dict) else event_values
    message: Message = {"role": role, "content": decoded(body.get("content"))}
    if role != "tool" and isinstance(message["content"], dict):
        message["content"] = [message["content"]]
    if role == "tool":
        message["tool_call_id"] = event_values.get("id")
        message["name"] = event_values.get("name")
    calls = decoded(body.get("tool_calls"))
    if isinstance(calls, list):
        message["tool_calls"] = calls
    yield message


def _numbered(attributes: Mapping[str, Any], prefix: str, role: str) -> list[Message]:
    """Return the messages of numbered attributes, such as ``gen_ai.prompt.0.content``."""
    pattern = re.compile(
        rf"{re.escape(prefix)}\.(\d{{1,6}})\.(?:message\.)?"
        r"(role|content|name|tool_call_id|tool_calls\.(\d{1,4})\.(?:tool_call\.)?"
        r"(?:function\.)?(id|name|arguments))"
    )
    messages: dict[int, Message] = {}
    calls: dict[int, dict[int, Row]] = {}
    for key, value in attributes.items():
        match = pattern.fullmatch(key)
        if match is None:
            continue
        number = int(match[1])
        message = messages.setdefault(number, {"role": role, "content": None})
        if match[3] is None:
            message[match[2]] = decoded(value) if match[2] == "content" else value
        else:
            call = calls.setdefault(number, {}).setdefault(int(match[3]), {"function": {}})
            (call if match[4] == "id" else call["function"])[match[4]] = value
    for number, some in calls.items():
        messages[number]["tool_calls"] = [some[i] for i in sorted(some)]
    for message in messages.values():
        if isinstance(message["content"], dict) and message["role"] != "tool":
            message["content"] = [message["content"]]
    return [messages[i] for i in sorted(messages)]


def langfuse(row: Row, index: int, *, system: bool = False) -> Iterable[Row | RowProblem]:
    """Read Langfuse traces with their observations, or single observations, one per row.

    A trace is answered by its output, or else by its last generation; outputs of its tools and
    retrievers are contexts. Of single observations, the generations are records.
    """
    observations = decoded(row.get("observations"))
    if observations is None and isinstance(row.get("type"), str):
        if row["type"].upper() != "GENERATION":
            return
        observations = []
    elif observations is not None and not isinstance(observations, list):
        raise RowProblem(f"must be a list, got {shown(observations)}", "observations")
    steps: list[Row] = []
    for i, step in enumerate(observations or []):
        if isinstance(step, str):  # an API that only names them
            continue
        if not isinstance(step, dict):
            raise RowProblem(f"must be an object, got {shown(step)}", f"observations[{i}]")
        steps.append(step)
    steps.sort(key=lambda s: str(s.get("startTime", "")))
    generations = [s for s in steps if str(s.get("type", "")).upper() == "GENERATION"]
    asked, answer = decoded(row.get("input")), decoded(row.get("output"))
    if answer is None and generations:
        asked, answer = (
            decoded(generations[-1].get("input")),
            decoded(generations[-1].get("output")),
        )
    messages = _turns(asked, "user", "input")
    answers = _turns(answer, "assistant", "output")
    if not any(m.get("role") == "assistant" for m in answers):
        raise RowProblem(f"has no answer, got {shown(answer)}", "output")
    sources: list[Context] = []
    for step in steps:
        if str(step.get("type", "")).upper() in ("TOOL", "RETRIEVER"):
            name = step.get("name")
            texts = documents_of(_documents(decoded(step.get("output"))), "observations.output")
            sources += [{"id": name, "text": d["text"]} if name else d for d in texts]
    holder = {"id": row.get("id"), "documents": sources or None}
    fields = fields_of([*messages, *answers], holder, holder, system)
    inside = [c for g in generations for c in _tool_contexts(g, system)]
    fields["contexts"] = _distinct([*fields["contexts"], *inside])
    used = ("id", "input", "output", "observations", "scores")
    fields["meta"] = {k: v for k, v in row.items() if k not in used}
    yield fields


def _turns(value: Any, role: str, where: str) -> list[Message]:
    """Return a logged input or output as messages: a text, a message, several, or an object with
    them."""
    if value is None:
        return []
    if isinstance(value, dict):
        inner = decoded(value.get("messages"))
        if isinstance(inner, list):
            return from_chat([_with_role(m, role) for m in inner], f"{where}.messages")
        if "role" in value or isinstance(value.get("content"), (str, list)):
            return from_chat([_with_role(value, role)], where)
        for key in ("question", "query", "input", "prompt", "answer", "output", "text", "response"):
            if isinstance(value.get(key), str):
                return [{"role": role, "content": value[key]}]
        raise RowProblem(f"must be text or messages, got {shown(value)}", where)
    if isinstance(value, list):
        return from_chat([_with_role(m, role) for m in value], where)
    if not isinstance(value, str):
        raise RowProblem(f"must be text or messages, got {shown(value)}", where)
    return [{"role": role, "content": value}]


def _with_role(message: Any, role: str) -> Any:
    if isinstance(message, str):
        return {"role": role, "content": message}
    if not isinstance(message, dict):
        return message
    roles = {"human": "user", "ai": "assistant", "model": "assistant"}
    given = message.get("role", message.get("type", role))
    return {**message, "role": roles.get(given, given) if isinstance(given, str) else given}


def _documents(value: Any) -> Any:
    """Return the output of a tool or retriever as documents."""
    if isinstance(value, dict) and isinstance(value.get("documents"), list):
        value = value["documents"]
    if isinstance(value, (int, float)):
        return [str(value)]
    if isinstance(value, dict) and not any(k in value for k in ("text", "content", "page_content")):
        return [json.dumps(value, ensure_ascii=False)]
    return value


def _tool_contexts(generation: Row, system: bool) -> list[Context]:
    return contexts_of(_turns(decoded(generation.get("input")), "user", "input"), system=system)


def _distinct(contexts: Sequence[Context]) -> list[Context]:
    seen: dict[tuple[Any, str], Context] = {}
    texts = set()
    for context in contexts:
        key = (context.get("id"), context["text"])
        if context["text"] in texts and key not in seen:
            continue
        texts.add(context["text"])
        seen.setdefault(key, context)
    return list(seen.values())


def inspect(row: Row, index: int, *, system: bool = False) -> Iterable[Row | RowProblem]:
    """Read Inspect evaluation logs (JSON; for an .eval file: inspect log convert), whole or one
    sample per row.

    A sample's target is its reference.
    """
    samples = row.get("samples") if "eval" in row or "samples" in row else [row]
    if not isinstance(samples, list):
        raise RowProblem(f"must be a list of samples, got {shown(samples)}", "samples")
    for i, sample in enumerate(samples):
        where = "" if samples == [row] else f"samples[{i}]."
        yield from _each(partial(_inspect_sample, sample, where, system))


def _inspect_sample(sample: Any, where: str, system: bool) -> Iterator[Row]:
    if not isinstance(sample, dict):
        raise RowProblem(f"must be a sample (an object), got {shown(sample)}", where[:-1] or None)
    given = sample.get("messages") or sample.get("input")
    messages = _turns(
        decoded(given), "user", f"{where}{'messages' if 'messages' in sample else 'input'}"
    )
    output = sample.get("output")
    if not any(m.get("role") == "assistant" for m in messages):
        completion = output.get("completion") if isinstance(output, dict) else output
        if not isinstance(completion, str):
            if sample.get("error"):
                raise RowProblem("the sample ended in an error", f"{where}error")
            raise RowProblem(f"has no answer, got {shown(completion)}", f"{where}output")
        messages = [*messages, {"role": "assistant", "content": completion}]
    metadata = sample.get("metadata")
    sources = metadata if isinstance(metadata, dict) else _EMPTY
    holder = {"id": sample.get("id"), "documents": _among(sources)}
    fields = fields_of(messages, holder, holder, system, f"{where}messages")
    target = sample.get("target")
    if target:
        fields["reference"] = target
    kept = ("epoch", "scores", "metadata")
    fields["meta"] = {k: sample[k] for k in kept if sample.get(k) is not None}
    yield fields


def promptfoo(row: Row, index: int, *, system: bool = False) -> Iterable[Row | RowProblem]:
    """Read promptfoo results: the JSON or JSONL of its --output, whole or one result per row.

    Contexts are variables with these names (``context``, ``documents`` ...) and tool messages of
    the prompt.
    """
    results: Any = row.get("results", [row] if "response" in row or "prompt" in row else None)
    where = "results"
    if isinstance(results, dict):
        results, where = results.get("results"), "results.results"
    if not isinstance(results, list):
        raise RowProblem(f"must hold results; the row has {named(row) or 'no columns'}", where)
    for i, result in enumerate(results):
        place = "" if results == [row] else f"{where}[{i}]."
        yield from _each(partial(_promptfoo_result, result, place, system))


def _promptfoo_result(result: Any, where: str, system: bool) -> Iterator[Row]:
    if not isinstance(result, dict):
        raise RowProblem(f"must be a result (an object), got {shown(result)}", where[:-1] or None)
    response = decoded(result.get("response"))
    answer = response.get("output") if isinstance(response, dict) else response
    if answer is None:
        cause = result.get("error")
        cause = response.get("error", cause) if isinstance(response, dict) else cause
        raise RowProblem(f"has no output ({shown(cause)})", f"{where}response")
    prompt = result.get("prompt")
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    messages = _turns(decoded(raw), "user", f"{where}prompt.raw")
    if not isinstance(answer, (str, dict)):
        raise RowProblem(f"must be text, got {shown(answer)}", f"{where}response.output")
    answers = _turns(answer, "assistant", f"{where}response.output")
    test = result.get("testCase")
    given = result.get("vars", test.get("vars") if isinstance(test, dict) else None)
    variables = given if isinstance(given, dict) else _EMPTY
    holder = {"id": result.get("id"), "documents": _among(variables)}
    fields = fields_of([*messages, *answers], holder, holder, system, f"{where}prompt.raw")
    reference = next((variables[k] for k in ALIASES["reference"] if k in variables), None)
    if isinstance(reference, (str, list)):
        fields["reference"] = reference
    kept = ("success", "score", "namedScores", "vars", "provider", "promptIdx", "testIdx")
    fields["meta"] = {k: result[k] for k in kept if result.get(k) is not None}
    yield fields


def _among(variables: Mapping[str, Any]) -> Any:
    """Return the sources among the variables of a test, or in a sample's metadata."""
    for name in ("contexts", *ALIASES["contexts"]):
        value = decoded(variables.get(name))
        if isinstance(value, (str, list)) and value:
            return value
    return None


def _each(read: Callable[[], Iterator[Row]]) -> Iterator[Row | RowProblem]:
    """Yield the records of one answer of an export, or its problem."""
    try:
        yield from list(read())
    except RowProblem as e:
        yield e
