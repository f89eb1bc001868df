"""A result as other tools take one: a number, a label and a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.io.names import ALIASES, CONTEXT_TEXT
from veridical.text.display import cut
from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from veridical.core.scores import Result
    from veridical.core.verdict_cuts import Verdict

#: The verdicts that are good news. What was not checked is none.
GOOD: tuple[Verdict, ...] = ("supported", "consistent")
_LONGEST = 240  # characters of a sentence, and of its evidence


class Judgement(NamedTuple):
    """What is told of an answer.

    Attributes:
        value: the risk, in [0, 1], 1 is worst; None where there is none.
        label: the verdict.
        reason: one line: the worst sentence with its evidence, or why nothing was found out.
    """

    value: float | None
    label: Verdict
    reason: str

    @property
    def passed(self) -> bool:
        """Whether the answer was checked and found good."""
        return self.label in GOOD

    @property
    def checked(self) -> bool:
        """Whether anything was found out."""
        return self.label != "unchecked"

    @property
    def score(self) -> float:
        """1 - risk, for tools whose scores are better the higher they are: at most 0 where the
        answer did not pass for want of a check."""
        return 0.0 if self.value is None or not self.checked else 1.0 - self.value


def judgement(result: Result) -> Judgement:
    """The number, the label and the reason of a result."""
    return Judgement(result.risk, result.verdict, _reason(result))


def _reason(result: Result) -> str:
    shown = result.shown()
    if shown.why is not None:
        return f"unchecked: {shown.why}"
    if shown.worst is None:
        return result.verdict
    text = f'{result.verdict}: "{short(shown.worst.text)}"'
    for item in shown.evidence[:1]:
        if item.kind != "token":
            text += f'; {item.place}: "{short(item.text)}"'
    return text


def short(text: str) -> str:
    """A foreign text in one harmless line, cut."""
    return cut(harmless(text), _LONGEST)


def texts_of(value: object) -> list[str]:
    """The texts in what another tool calls its contexts: a text, a list of texts, or of objects
    that have one; nothing where there is none."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    found: list[str] = []
    for item in value if isinstance(value, Sequence) and not isinstance(value, bytes) else ():
        text = item
        for name in (*CONTEXT_TEXT, "context"):
            if not isinstance(text, str):
                text = item.get(name) if isinstance(item, Mapping) else getattr(item, name, None)
        if isinstance(text, str) and text.strip():
            found.append(text)
    return found


def fields_of(*several: object) -> dict[str, Any]:
    """The arguments ``question``, ``contexts``, ``samples`` and ``reference`` of
    :func:`veridical.check_one` that stand in mappings, under the names that columns of an input
    may have; what an earlier mapping has counts."""
    found: dict[str, Any] = {}
    for values in several:
        for field in ("prompt", "contexts", "samples", "reference"):
            argument = "question" if field == "prompt" else field
            for name in (field, *ALIASES[field]):
                value = values.get(name) if isinstance(values, Mapping) else None
                if argument == "question":
                    given: Any = value if isinstance(value, str) else None
                else:
                    given = texts_of(value)
                if given and argument not in found:
                    found[argument] = given
    return found
