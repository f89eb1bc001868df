"""Result for other tools: a number, a label and a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.io.names import ALIASES, CONTEXT_TEXT
from veridical.text.display import cut
from veridical.text.wrap import harmless

if TYPE_CHECKING:
    from veridical.core.scores import Result
    from veridical.core.verdict_cuts import Verdict

#: Verdicts that pass. Unchecked answers do not.
GOOD: tuple[Verdict, ...] = ("supported", "consistent")
_LONGEST = 240  # maximum characters of a sentence, and of its evidence


class Judgement(NamedTuple):
    """Judgement of an answer.

    Attributes:
        value: the risk, in [0, 1], 1 is worst; None if there is no risk.
        label: the verdict.
        reason: one line: the worst sentence with its evidence, or the reason that nothing was
            checked.
    """

    value: float | None
    label: Verdict
    reason: str

    @property
    def passed(self) -> bool:
        """Return True if the answer was checked and passed."""
        return self.label in GOOD

    @property
    def checked(self) -> bool:
        """Return True if the answer was checked."""
        return self.label != "unchecked"

    @property
    def score(self) -> float:
        """Return 1 - risk, for tools whose higher scores are better.

        It is at most 0 if the answer failed because it was not checked.
        """
        return 0.0 if self.value is None or not self.checked else 1.0 - self.value


def judgement(result: Result) -> Judgement:
    """Convert a result to a number, a label and a reason."""
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
    """Return an untrusted text as one harmless line, cut if long."""
    return cut(harmless(text), _LONGEST)


def texts_of(value: object) -> list[str]:
    """Return the texts of another tool's contexts.

    Accepts a text, or a list of texts or of objects with a text; otherwise empty.
    """
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
    """Return the arguments of :func:`veridical.check_one` found in mappings.

    These are ``question``, ``contexts``, ``samples`` and ``reference``, under the column names of
    inputs. Earlier mappings take precedence.
    """
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
