"""What a judge's reply says: by JSON, by a strict reading of its text, by token probabilities."""

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

#: Alternatives to ask for at each token: the most that common servers give.
ALTERNATIVES = 20
#: Share of the probability that must be on the answers where no answer was written.
LEAST_UNWRITTEN = 0.5
#: What a verdict may be called besides the prompt's key.
_SAYERS = frozenset({"verdict", "answer", "score", "choice", "rating"})
_FENCE_OF_JSON = re.compile(
    r"```(?:json[a-z0-9]*[ \t]*\r?\n|[a-z]*[ \t]*\r?\n\s*\{)", re.IGNORECASE
)
_EXPLANATION = re.compile(r"(?<!\w)explanation[\"'*_`]*\s*[:=]\s*", re.IGNORECASE)


@dataclass(frozen=True)
class JudgeVerdict:
    """A judge's verdict.

    Attributes:
        answer: what was said, by the scale's name; where nothing clear was, the likeliest.
        value: its worth in the paper's numbers; with probabilities, the expected worth.
        risk: of that value, in [0, 1].
        how: whether token probabilities or the text decided ``value``.
        probabilities: of the answers, adding up to 1; None without token probabilities.
        outside: probability of everything that is none of the answers; None likewise.
        explanation: the judge's reasons, where it gave some.
        text: all it said.
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
    """The verdict of ``reply`` to ``prompt``.

    The text must state one verdict: as JSON under the prompt's key, or at its beginning or its
    end, as :mod:`veridical.llm.statements` says. Where the reply has token probabilities with
    alternatives, the value is the expected one over the answers' tokens at that place, unless more
    probability is on tokens that may become several answers than on those that are clear. A text
    that mentions no verdict at all has one still if its first token's probability is mostly on
    answers, and no explanation was to come first.

    Args:
        explain: an explanation was asked for besides.
        cut: only the first tokens of the reply were asked for. Where it is cut, a word that it ends
            with may have become anything, so that probabilities alone tell the verdict.

    Raises:
        LlmError: the reply is cut, refused or empty, or has no verdict (``malformed``); its
            ``text`` is what was said. Never a default in its place.
    """
    scale = prompt.scale
    if scale is None:
        raise ValueError(f"prompt {prompt.name} asks for no verdict")
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
    """Whether a text that was cut surely had its verdict before: a number that something follows.
    A word ("No") may be the beginning of another statement ("No doubt ...")."""
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
    value = min(max(value, min(scale.best, scale.worst)), max(scale.best, scale.worst))  # rounding
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
    """The JSON object that the text is after its reasoning; None where it does not look like one.

    Raises:
        LlmError: it looks like one and cannot be read.
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
    """The verdict that the value of a JSON field is, and nothing besides."""
    if isinstance(value, (int, float)) and isinstance(scale, Numbers):
        on_scale = not isinstance(value, bool) and scale.low <= value <= scale.high
        return number(float(value), scale) if on_scale else None
    if not isinstance(value, str):
        return None
    return statement_of(value.strip(OPENING + ".)]}!"), scale)


def _explained(text: str) -> str | None:
    label = _EXPLANATION.search(text)
    return None if label is None else text[label.end() :].strip()
