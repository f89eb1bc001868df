"""Numeric grader, as for GSM8K and SVAMP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from veridical.text.final_number import Number, final_number
from veridical.tuning.graders.grade import Chat, Grade, by_rule, quoted

if TYPE_CHECKING:
    from veridical.core.records import Record


@dataclass(frozen=True)
class Numeric:
    """The response ends with a gold number.

    Thousands separators, currency signs, units, fractions, percent, scale words and LaTeX are
    parsed; units are not compared. Numbers in words count if there are no digits.
    """

    name: str = "numeric"
    rule: ClassVar[str] = (
        "the number after the answer's mark (####, \\boxed, 'the answer is', 'A:'), else the last "
        "number, equals a gold number; units aside"
    )
    needs_llm: ClassVar[bool] = False

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """Grade a record; see :class:`veridical.tuning.graders.Grader`."""
        settled = by_rule(record)
        if settled is not None:
            return settled
        golds = [n for gold in record.reference if (n := final_number(gold)[0]) is not None]
        if not golds:
            return Grade(None, f"no number in the reference {quoted(record.reference[0])}")
        number, how = final_number(record.response)
        if number is None:
            return Grade(0.0, how)
        right = any(number.equals(gold) for gold in golds)
        answer = f"{_shown(number)} ({how})"
        return Grade(float(right), answer if right else f"{answer}, not {_shown(golds[0])}")


def _shown(number: Number) -> str:
    value = number.value
    whole = value.denominator == 1
    text = str(value.numerator) if whole else f"{float(value):.6g}"
    return text + "%" * number.percent
