"""Tool calls checked against the tools' schemas and the conversation."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from veridical.core.evidence import Evidence
from veridical.core.prompt_text import message_text
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.tool_calls import ToolCall, tool_results
from veridical.core.tool_calls import tool_calls as calls_of
from veridical.errors import NotApplicable
from veridical.llm.asking import ask_all, request
from veridical.prompts import load_prompt
from veridical.scorers.grounding._tool_schemas import ArgumentValue, checked, tool_schemas
from veridical.text.display import shown
from veridical.text.passages import passages
from veridical.text.stems import content_stems
from veridical.text.values.compare import findings
from veridical.text.values.sources import source_values
from veridical.text.values.value import Value

_PROMPT = "statement_yes_no"
_FLAWS = ("unknown_tool", "invalid_arguments", "missing_argument", "extra_argument")
_BAD = (*_FLAWS, "wrong_type", "wrong_enum", "unstated")
_MIN_PROSE_WORDS = 4
_UNSURE_RISK = 0.5
_CLIP = 300
_RELATIVE = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|now|next|this|last|in an? (?:day|week|month)|heute|"
    r"morgen|gestern|demain|aujourd'hui|mañana|hoy)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?[\d.,]*\d")
_SIGNS = re.compile(r"[\W_]+")


def _costs(*, by: str, **_: object) -> set[str]:
    return {by}


@scorer(
    "tool_calls",
    level="response",
    source="Veridical: calls by JSON schema, values by the values module, text by NLI",
    cost="nli",
    uses={"llm"},
    costs_by=_costs,
    prompts=(_PROMPT,),
    auxiliary=True,
    raw_is="risk",
    raw_key="risk",
    presets={"all"},
)
async def tool_calls(
    record: Record,
    evidence: Evidence,
    *,
    by: Literal["nli", "llm"] = "nli",
    nli: str | None = None,
    llm: str | None = None,
) -> Score:
    """Estimate the risk that a tool call is wrong, by its schema and the conversation.

    Calls are those of the prompt's messages and of the column ``tool_calls`` (the answer's own
    calls, in OpenAI's form). Tool definitions of OpenAI or Anthropic are in the column ``tools``;
    the readers of conversations and traces keep them. Without definitions only values are checked.

    Labels of a call or an argument, with the risk:

    - ``unknown_tool``, ``invalid_arguments`` (not a JSON object), ``missing_argument``,
      ``extra_argument``, ``wrong_type``, ``wrong_enum``: 1;
    - ``unstated``: the value occurs in no message of users or tools and no context before the call.
      1 if the schema requires the argument, else 0.5;
    - ``relative``, 0.5: a date, and the conversation has only a relative one ("tomorrow");
    - ``unclear``: a text of several words, with its risk by NLI or by the LLM;
    - ``stated``, 0: the value occurs there, or the schema lists it.

    Figures and dates are compared by value ("3 May 2024" states "2024-05-03"); names and other
    short texts by their words. An assistant's message counts once a user has replied to it.

    Args:
        by: judge of texts of several words: the NLI model, or an LLM with one call each.
        nli: NLI model; the run's default if None.
        llm: LLM of ``by="llm"``; the run's default if None.

    ``raw`` has the largest ``risk``, the number of ``calls``, and their ``findings``. Each has its
    ``message`` (its index; null: the answer's own), tool ``name``, ``argument``, ``value``,
    ``label``, ``risk`` and ``why``. There are no units, as a call is not part of the answer's text.
    It does not affect the verdict.

    Raises:
        NotApplicable: the conversation has no tool call.
    """
    prompt = record.prompt
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt or []
    own = {"role": "assistant", "tool_calls": _decoded(record.meta.get("tool_calls"))}
    calls = calls_of([*messages, own])
    if not calls:
        raise NotApplicable("the prompt's messages have no tool call")
    schemas = tool_schemas(record.meta.get("tools"))
    found: list[_Finding] = []
    prose: list[tuple[_Finding, tuple[str, ...]]] = []
    for call in calls:
        made = checked(call, schemas)
        found += [_Finding(call, f.argument, None, f.label, 1.0, f.why) for f in made.flaws]
        earlier = _texts_before(record, messages, call.message) if made.values else ()
        for value in made.values:
            finding = _looked_up(call, value, earlier, schemas is not None)
            if finding.label == "unclear":
                prose.append((finding, earlier))
            else:
                found.append(finding)
    risks = await _judged(record, evidence, prose, by, nli, llm)
    found += [f._replace(risk=risk) for (f, _), risk in zip(prose, risks, strict=True)]
    return _score(found, calls, len(messages))


class _Finding(NamedTuple):
    call: ToolCall
    argument: str
    value: str | int | float | None
    label: str
    risk: float
    why: str


def _decoded(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


def _texts_before(
    record: Record, messages: Sequence[dict[str, Any]], place: int
) -> tuple[str, ...]:
    """Return the texts that a call may take its values from."""
    results = {(r.message, r.text) for r in tool_results(messages[:place])}
    later = {r.text for r in tool_results(messages) if r.message >= place}
    users = [i for i, m in enumerate(messages[:place]) if m.get("role") == "user"]
    earlier = [text for _, text in sorted(results)]
    for i, message in enumerate(messages[:place]):
        answered = message.get("role") != "assistant" or (users and i < users[-1])
        if answered and (text := message_text(message.get("content"))):
            earlier.append(text)
    earlier += [c.text for c in record.contexts if c.text and c.text not in later]
    return tuple(dict.fromkeys(earlier))


def _looked_up(
    call: ToolCall, value: ArgumentValue, earlier: tuple[str, ...], by_schema: bool
) -> _Finding:
    """Look up a value in the texts before the call."""
    text = str(value.value).strip()
    missing = 1.0 if value.required or not by_schema else _UNSURE_RISK
    plain = _SIGNS.sub(" ", text.casefold()).strip()
    if value.chosen or not plain:
        label, risk, why = "stated", 0.0, "the schema lists it"
    elif not _NUMBER.fullmatch(text) and any(
        f" {plain} " in f" {_SIGNS.sub(' ', t.casefold())} " for t in earlier
    ):
        label, risk, why = "stated", 0.0, "stated before the call"
    else:
        label, risk, why = _by_value(text, earlier, missing)
    return _Finding(call, value.argument, value.value, label, risk, why)


def _by_value(text: str, earlier: tuple[str, ...], missing: float) -> tuple[str, float, str]:
    values = findings(text, (0, len(text)), "", earlier)
    wrong = [
        v for v in values if v.status in ("wrong", "absent") and not _written(v.value, earlier)
    ]
    words = content_stems(text)
    if values and not wrong and len(words) < _MIN_PROSE_WORDS:
        known = {word for t in earlier for word in content_stems(t)}
        if known.issuperset(w for w in words if not w.isdecimal()):
            return "stated", 0.0, "equal to a value stated before the call"
    if wrong:
        value = wrong[0].value
        dated = value.kind in ("date", "time") and any(map(_RELATIVE.search, earlier))
        if dated:
            return "relative", _UNSURE_RISK, "the conversation has only a relative date"
        return "unstated", missing, "the value does not occur before the call"
    if len(text.split()) >= _MIN_PROSE_WORDS:
        return "unclear", missing, "judged as a text"
    known = {word for t in earlier for word in content_stems(t)}
    if words and known.issuperset(words):
        return "stated", 0.0, "its words occur before the call"
    return "unstated", missing, "the value does not occur before the call"


def _written(value: Value, earlier: tuple[str, ...]) -> bool:
    """Return True if a number is written before the call, with any unit."""
    if value.kind != "count" or value.written is None:
        return False
    return any(
        v.written == value.written and v.kind not in ("date", "time")
        for text in source_values(earlier).texts
        for v in text.values
    )


async def _judged(
    record: Record,
    evidence: Evidence,
    prose: Sequence[tuple[_Finding, tuple[str, ...]]],
    by: str,
    nli: str | None,
    llm: str | None,
) -> list[float]:
    """Judge the risks of texts of several words in one round."""
    if not prose:
        return []
    if by == "llm":
        prompt = load_prompt(_PROMPT)
        parts = [
            {
                "statement": f"The {f.argument} is: {f.value}",
                "document": "\n\n".join(earlier) or "(no text)",
            }
            for f, earlier in prose
        ]
        form: Literal["token", "text"] = "token" if evidence.tells_tokens(llm) else "text"
        verdicts = await ask_all(
            lambda requests: evidence.chat(requests, llm),
            [request(prompt, p, record, form=form) for p in parts],
            [prompt] * len(parts),
        )
        return [round(float(v.risk), 6) for v in verdicts]
    pairs = [
        [(p.text, str(f.value)) for text in earlier for p in passages(text)] for f, earlier in prose
    ]
    flat = list(dict.fromkeys(pair for some in pairs for pair in some))
    entailed: dict[tuple[str, str], float] = {}
    if flat:
        rows = (await evidence.nli(flat, nli)).probabilities
        entailed = {pair: float(row[0]) for pair, row in zip(flat, rows, strict=True)}
    risks = []
    for (finding, earlier), some in zip(prose, pairs, strict=True):
        words = set(content_stems(str(finding.value)))
        known = {word for text in earlier for word in content_stems(text)}
        share = len(words & known) / len(words) if words else 0.0
        best = max((entailed[pair] for pair in some), default=0.0)
        risks.append(round(finding.risk * (1 - max(best, share)), 6))
    return risks


def _score(found: Sequence[_Finding], calls: Sequence[ToolCall], own: int) -> Score:
    risk = max((f.risk for f in found), default=0.0)
    counts = Counter(f.label for f in found)
    raw = {
        "risk": risk,
        "calls": len(calls),
        **{label: counts[label] for label in _BAD},
        "findings": [
            {
                "message": None if f.call.message == own else f.call.message,
                "name": f.call.name[:_CLIP],
                "argument": f.argument[:_CLIP],
                "value": None if f.value is None else shown(f.value),
                "label": f.label,
                "risk": f.risk,
                "why": f.why[:_CLIP],
            }
            for f in sorted(found, key=lambda f: -f.risk)
        ],
    }
    return Score.of(risk, raw=raw)
