"""Verdicts in judges' replies: JSON, free text and token probabilities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from veridical.core.messages import LlmError, Reply
from veridical.llm.statements import (
    OPENING,
    StatedVerdict,
    VerdictStatement,
    number,
    stated,
    statement_of,
)
from veridical.llm.structured import read_json
from veridical.llm.verdict_tokens import Spread, spread
from veridical.llm.visible import reasoned
from veridical.prompts import Numbers, Prompt, Scale

#: Alternatives requested at each token: the maximum of common servers.
ALTERNATIVES = 20
#: Minimum probability of the answers where no answer was written.
LEAST_UNWRITTEN = 0.5
#: Names that a verdict may have in addition to the prompt's key.
_SAYERS = frozenset({"verdict", "answer", "score", "choice", "rating"})
_FENCE_OF_JSON = re.compile(
    r"```(?:json[a-z0-9]*[ \t]*\r?\n|[a-z]*[ \t]*\r?\n\s*\{)", re.IGNORECASE
)
_EXPLANATION = re.compile(r"(?<!\w)explanation[\"'*_`]*\s*[:=]\s*", re.IGNORECASE)


@dataclass(frozen=True)
class JudgeVerdict:
    """Verdict of a judge.

    Attributes:
        answer: the stated answer, by the scale's name; if none is clear, the most probable one.
        value: its value in the paper's numbers; with probabilities, the expected value.
        risk: of that value, in [0, 1].
        how: whether token probabilities or the text determined ``value``.
        probabilities: of the answers, with sum 1; None without token probabilities.
        outside: probability of everything that is not an answer; None likewise.
        explanation: the judge's reasons, if it gave any.
        text: the whole reply.
    """

    answer: str
    value: float
    risk: float
    how: Literal["probability", "text"]
    probabilities: dict[str, float] | None
    outside: float | None
    explanation: str | None
    text: str


def read_verdict(
    reply: Reply, prompt: Prompt, *, explain: bool = False, cut: bool = False
) -> JudgeVerdict:
    """Read the verdict of ``reply`` to ``prompt``.

    The text must state one verdict: as JSON under the prompt's key, or at its beginning or end (see
    :mod:`veridical.llm.statements`). If the reply has token probabilities with alternatives, the
    value is the expected value over the answers' tokens at that place. This does not apply if
    ambiguous tokens have more probability than clear ones. A text without any mention of a verdict
    still has one if its first token's probability is mostly on answers. This does not apply if an
    explanation was to come first.

    Args:
        explain: True if an explanation was requested too.
        cut: only the first tokens of the reply were requested. If it is cut, its last word may have
            become anything, so only probabilities determine the verdict.

    Raises:
        LlmError: the reply is cut, refused or empty, or has no verdict (``malformed``); its
            ``text`` is the reply. No default is ever returned instead.
    """
    scale = prompt.scale
    if scale is None:
        raise ValueError(
            f"prompt {prompt.name} requests no verdict; choose a template with a scale"
        )
    text = reply.whole(cut=cut)
    cut = cut and reply.finish_reason == "length"
    as_json = _object(text)
    if as_json is None:
        read = stated(text, scale, prompt.key)
        if cut and not _ended(read, text, scale):
            read = StatedVerdict(None)
        explanation = _explained(text)
    else:
        read = StatedVerdict(_of_json(as_json, text, prompt.key, scale))
        explanation = as_json.get("explanation")
    verdict = read.statement
    may_open = as_json is None and read.why is None and not (explain or prompt.explains)
    place = verdict.start if verdict is not None else 0 if may_open else -1
    masses = None
    if reply.logprobs and place >= 0:
        masses = spread(reply.logprobs, text, place, scale, verdict is not None, cut=cut)
    explanation = explanation if isinstance(explanation, str) and explanation.strip() else None
    if verdict is None:
        if masses is None or masses.total < LEAST_UNWRITTEN:
            why = read.why
            if why is None and masses is not None:
                why = f"answers have probability {masses.total:.2g}"
            shown = "" if why is None else f" ({why})"
            raise LlmError("malformed", f"no clear verdict in the answer{shown}", text=text)
        return _expected(masses, None, scale, explanation, text)
    if masses is not None and masses.total >= masses.undecided:
        return _expected(masses, verdict.name, scale, explanation, text)
    name, value = verdict.name, verdict.value
    return JudgeVerdict(name, value, scale.risk(value), "text", None, None, explanation, text)


def _ended(read: StatedVerdict, text: str, scale: Scale) -> bool:
    """Return True if a cut text surely ended its verdict: a number with text after it.

    A word ("No") may begin another statement ("No doubt ...").
    """
    return isinstance(scale, Numbers) and (
        read.statement is not None and read.statement.end < len(text)
    )


def _expected(
    masses: Spread, name: str | None, scale: Scale, explanation: str | None, text: str
) -> JudgeVerdict:
    total = masses.total
    if isinstance(scale, Numbers):
        worths = {n: float(n) for n in sorted(masses.mass, key=float)}
    else:
        worths = {c.name: c.value for c in scale.choices if c.name in masses.mass}
    shares = {n: masses.mass[n] / total for n in worths}
    value = sum(p * worths[n] for n, p in shares.items())
    value = min(
        max(value, min(scale.best, scale.worst)), max(scale.best, scale.worst)
    )  # rounding errors
    return JudgeVerdict(
        name if name is not None else max(shares, key=lambda n: shares[n]),
        value,
        scale.risk(value),
        "probability",
        shares,
        max(0.0, 1.0 - total),
        explanation,
        text,
    )


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that is the text after its reasoning; None if it is not JSON-like.

    Raises:
        LlmError: it is JSON-like and cannot be parsed.
    """
    said = text[reasoned(text) or 0 :].strip()
    fenced = _FENCE_OF_JSON.match(said)
    if not said.startswith("{") and fenced is None:
        return None
    try:
        fields: dict[str, Any] = read_json(said, {"type": "object"})
    except LlmError as e:
        raise LlmError(e.trouble, str(e), text=text) from None
    return fields


def _of_json(fields: dict[str, Any], text: str, key: str, scale: Scale) -> VerdictStatement:
    verdict = _field(fields.get(key), scale)
    others = (_field(fields[name], scale) for name in fields if name.lower() in _SAYERS)
    if verdict is None or any(o is not None and o.name != verdict.name for o in others):
        raise LlmError("malformed", f"no clear verdict under {key!r} in the answer", text=text)
    begin = reasoned(text) or 0
    label = re.compile(rf'(?<!\\)"{re.escape(key)}"\s*:\s*"?')
    places = [m.end() for m in label.finditer(text, begin)]
    return verdict._replace(start=places[0] if len(places) == 1 else -1)


def _field(value: Any, scale: Scale) -> VerdictStatement | None:
    """Return the verdict that is the whole value of a JSON field, or None."""
    if isinstance(value, (int, float)) and isinstance(scale, Numbers):
        on_scale = not isinstance(value, bool) and scale.low <= value <= scale.high
        return number(float(value), scale) if on_scale else None
    if not isinstance(value, str):
        return None
    return statement_of(value.strip(OPENING + ".)]}!"), scale)


def _explained(text: str) -> str | None:
    label = _EXPLANATION.search(text)
    return None if label is None else text[label.end() :].strip()
