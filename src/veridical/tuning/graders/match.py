"""Exact and containment graders for short answers (NQ-Open, PopQA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from veridical.text.normal_form import contains, tokens
from veridical.tuning.graders.grade import Chat, Grade, by_rule, quoted

if TYPE_CHECKING:
    from veridical.core.records import Record


@dataclass(frozen=True)
class Exact:
    """The whole response is one of the gold answers, both in normal form (NQ-Open's metric)."""

    name: str = "exact"
    rule: ClassVar[str] = "the response equals a gold answer, case, punctuation and articles aside"
    needs_llm: ClassVar[bool] = False
    whole: ClassVar[bool] = True

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """Grade a record; see :class:`veridical.tuning.graders.Grader`."""
        settled = by_rule(record)
        if settled is not None:
            return settled
        golds = [(gold, words) for gold in record.reference if (words := tokens(gold))]
        if not golds:
            return Grade(None, "no gold answer has a letter or a digit")
        answer = tokens(record.response)
        for gold, words in golds:
            if answer == words or (not self.whole and contains(answer, words)):
                return Grade(1.0, f"{'equals' if self.whole else 'contains'} {quoted(gold)}")
        first = quoted(golds[0][0]) + (f" and {len(golds) - 1} more" if len(golds) > 1 else "")
        return Grade(0.0, f"{'is none' if self.whole else 'contains none'} of {first}")


@dataclass(frozen=True)
class Contains(Exact):
    """A gold answer occurs in the response, word for word in normal form (PopQA's metric).

    The match is literal: "not Paris" contains Paris, and so does a list of guesses.
    """

    name: str = "contains"
    rule: ClassVar[str] = (
        "a gold answer occurs in the response word for word, case, punctuation and articles aside"
    )
    whole: ClassVar[bool] = False
