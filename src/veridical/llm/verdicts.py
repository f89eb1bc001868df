"""What a judge's reply says: by JSON, by a strict reading of its text, by token probabilities."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from veridical.llm.messages import LlmError, Reply
from veridical.llm.prompts import Numbers, Prompt, Scale
from veridical.llm.statements import OPENING, Statement, number, stated, statement_at
from veridical.llm.structured import read_json
from veridical.llm.verdict_tokens import Spread, spread

__all__ = ["ALTERNATIVES", "Verdict", "read_json", "read_verdict"]

#: Alternatives to ask for at each token: the most that common servers give.
ALTERNATIVES = 20
#: Share of the probability that must be on the answers where no answer was written.
LEAST_UNWRITTEN = 0.5
_EXPLANATION = re.compile(r"(?<!\w)explanation[\"'*_`]*\s*[:=]\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Verdict:
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


def read_verdict(reply: Reply, prompt: Prompt, *, explain: bool = False) -> Verdict:
    """The verdict of ``reply`` to ``prompt``.

    The text must state one verdict: as JSON under the prompt's key, at its beginning, or behind
    the key ("Score: 5"). Where the reply has token probabilities with alternatives, the value is
    the expected one over the answers' tokens at that place, unless more probability is on
    tokens that may become several answers than on those that are clear. A text without a clear
    verdict has one still if its first token's probability is mostly on answers, and no
    explanation was to come first.

    Raises:
        LlmError: the reply is cut, refused or empty, or has no verdict (``malformed``); its
            ``text`` is what was said. Never a default in its place.
    """
    scale = prompt.scale
    if scale is None:
        raise ValueError(f"prompt {prompt.name} asks for no verdict")
    text = reply.whole()
    as_json = _object(text)
    if as_json is None:
        found = stated(text, scale, prompt.key)
        explanation = _explained(text)
    else:
        found = _of_json(as_json, text, prompt.key, scale)
        explanation = as_json.get("explanation")
    masses = None
    if reply.logprobs:
        may_open = as_json is None and not (explain or prompt.explains)
        place = found.start if found is not None else 0 if may_open else -1
        masses = (
            spread(reply.logprobs, text, place, scale, found is not None) if place >= 0 else None
        )
    explanation = explanation if isinstance(explanation, str) and explanation.strip() else None
    if found is None:
        if masses is None or masses.total < LEAST_UNWRITTEN:
            said = "" if masses is None else f" (answers have probability {masses.total:.2g})"
            raise LlmError("malformed", f"no clear verdict in the answer{said}", text=text)
        return _expected(masses, None, scale, explanation, text)
    if masses is not None and masses.total >= masses.undecided:
        return _expected(masses, found.name, scale, explanation, text)
    return Verdict(
        found.name, found.value, scale.risk(found.value), "text", None, None, explanation, text
    )


def _expected(
    masses: Spread, name: str | None, scale: Scale, explanation: str | None, text: str
) -> Verdict:
    total = masses.total
    shares = {n: masses.mass[n] / total for n in _ordered(masses.mass, scale)}
    value = sum(p * _worth(n, scale) for n, p in shares.items())
    value = min(max(value, min(scale.best, scale.worst)), max(scale.best, scale.worst))  # rounding
    return Verdict(
        name if name is not None else max(shares, key=lambda n: shares[n]),
        value,
        scale.risk(value),
        "probability",
        shares,
        max(0.0, 1.0 - total),
        explanation,
        text,
    )


def _ordered(mass: dict[str, float], scale: Scale) -> list[str]:
    if isinstance(scale, Numbers):
        return sorted(mass, key=float)
    return [c.name for c in scale.choices if c.name in mass]


def _worth(name: str, scale: Scale) -> float:
    return float(name) if isinstance(scale, Numbers) else scale.named(name).value


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object that the text is; None where it does not look like one.

    Raises:
        LlmError: it looks like one and cannot be read.
    """
    if not text.strip().startswith(("{", "```")):
        return None
    found: dict[str, Any] = read_json(text, {"type": "object"})
    return found


def _of_json(fields: dict[str, Any], text: str, key: str, scale: Scale) -> Statement:
    value = fields.get(key)
    found = None
    if isinstance(value, str):
        found = statement_at(value, 0, scale)
        if found is not None and value[found.end :].strip(OPENING + ".)]}!%"):
            found = None  # a field of the verdict holds the verdict alone
    elif isinstance(scale, Numbers) and isinstance(value, (int, float)):
        on_scale = not isinstance(value, bool) and scale.low <= value <= scale.high
        found = number(float(value), scale) if on_scale else None
    if found is None:
        raise LlmError("malformed", f"no clear verdict under {key!r} in the answer", text=text)
    places = [m.end() for m in re.finditer(rf'(?<!\\)"{re.escape(key)}"\s*:\s*"?', text)]
    return found._replace(start=places[0] if len(places) == 1 else -1)


def _explained(text: str) -> str | None:
    found = _EXPLANATION.search(text)
    return None if found is None else text[found.end() :].strip()
