"""Explanations for units without evidence."""

from __future__ import annotations

import re
from functools import cached_property

from veridical.core.records import Record
from veridical.core.scores import Score, Unit
from veridical.core.verdict_cuts import verdict_of_label

#: A word that distinguishes passages: it has a digit, or at least four letters.
_TELLING = re.compile(r"\w*\d\w*|\w{4,}")
_AGAINST = re.compile(r"against:(samples|contexts|reference)")
#: Risk at or above which a unit counts as unsupported.
_EVEN = 0.5


class Unexplained:
    """Explanations for units of one record without evidence; its scores must outlive the object."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._fields: dict[int, list[str]] = {}  # by id() of the score

    def why(self, score: Score, unit: Unit) -> str:
        """Return one sentence for a unit of ``score`` without evidence."""
        if unit.risk is None:
            return "It was not judged."
        compared = self._fields.get(id(score))
        if compared is None:
            compared = self._fields[id(score)] = self._compared(score)
        if unit.level == "token" or not compared:
            return "It is judged by the answer's own probabilities, without a source."
        verdict = verdict_of_label(unit.label)
        if verdict in ("supported", "consistent") or (unit.label is None and unit.risk < _EVEN):
            return "This scorer reports no passages."
        return " ".join(self._absent(field, unit.text) for field in compared)

    def _compared(self, score: Score) -> list[str]:
        """Return the fields that the score compares with, where they can be determined."""
        record = self._record
        there = [f for f in ("contexts", "reference", "samples") if record.has(f)]
        declared = set(_AGAINST.findall(score.signature))
        cited = {
            {"context": "contexts", "sample": "samples"}.get(e.kind, e.kind)
            for u in score.units
            for e in u.evidence
        }
        names = declared | cited
        return [f for f in there if f in names] or there

    def _absent(self, field: str, text: str) -> str:
        words = set(_TELLING.findall(text.casefold()))
        if field == "samples":
            n = len(self._record.samples)
            return f"It is in none of the {n} samples." if n > 1 else "It is not in the sample."
        if words and not words & (
            self._context_words if field == "contexts" else self._reference_words
        ):
            what = "No passage" if field == "contexts" else "The reference does not"
            verb = "shares a word with it" if field == "contexts" else "share a word with it"
            return f"{what} {verb}, common words aside."
        if field == "reference":
            return "The reference does not support it."
        n = len(self._record.contexts)
        return (
            f"None of the {n} passages supports it."
            if n > 1
            else "The passage does not support it."
        )

    @cached_property
    def _context_words(self) -> set[str]:
        texts = [context.text for context in self._record.contexts]
        return {word for text in texts for word in _TELLING.findall(text.casefold())}

    @cached_property
    def _reference_words(self) -> set[str]:
        return {w for text in self._record.reference for w in _TELLING.findall(text.casefold())}
