"""Looking facts of one text up in another, without tokenising the other.

A source is searched for what is asked, by substring, and only the surroundings of a figure that
matches are read closely. That is several times faster than finding all facts of every source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import NamedTuple

from veridical.text.fact_numbers import Date, Number, canonical, numbers_and_dates
from veridical.text.fact_words import NEGATIONS, NUMBER_WORDS, ORDINAL_WORDS, SCALES
from veridical.text.facts import TOKEN, Fact, Facts, same_length_lower

_FIGURE = re.compile(r"\d+(?:[.,'’/٬٫．\u00a0\u2009\u202f-]\d+)*")
#: Words for small numbers, by canonical value.
_SPELT: dict[str, tuple[str, ...]] = {
    str(value): tuple(w for t in (NUMBER_WORDS, ORDINAL_WORDS) for w, v in t.items() if v == value)
    for value in {*NUMBER_WORDS.values(), *ORDINAL_WORDS.values()}
}
#: A number of several words has one of these.
_COMPOUND = (
    *(w for w, v in NUMBER_WORDS.items() if v >= 20 or w == "dozen"),
    "thousand",
    "million",
    "billion",
)
_BEFORE, _AFTER = 24, 48  # characters read around a figure: "the twenty-third of September 1942"
_AROUND = 80  # characters read around a negation
_NEGATION = re.compile(rf"[\s'’](?:{'|'.join(sorted(NEGATIONS))}|t)\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟])|\n+")


class Match(NamedTuple):
    """A sentence ``[start:end]`` that says the same, with the same or the other polarity."""

    agrees: bool
    start: int
    end: int


class FactSource:
    """A text in which facts are looked up."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._low = same_length_lower(text)
        self._words: dict[str, int] = {}

    def find(self, fact: Fact) -> tuple[int, int] | None:
        """Offsets of a mention of ``fact``, or None.

        A number must have the value, and the unit where both have one; a decade also holds for
        its years. A date must have all known parts in one mention. A name needs its last word and
        half of its words: "Obama" speaks for "Barack Obama", "Barack" does not.
        """
        content = fact.content
        if isinstance(content, Number):
            return self._number(content)
        if isinstance(content, Date):
            return self._date(content)
        at = self._word(content[-1])
        if at < 0:
            return None
        if len(content) > 2 and 2 * sum(self._word(w) >= 0 for w in content) < len(content):
            return None
        return self._widest(content, at)

    def _widest(self, name: tuple[str, ...], at: int) -> tuple[int, int]:
        """The name where its words stand together, else its last word, at ``at``."""
        if len(name) > 1:
            together = self._low.find(" ".join(name))
            if together >= 0:
                return together, together + sum(map(len, name)) + len(name) - 1
        return at, at + len(name[-1])

    def _word(self, word: str) -> int:
        """Offset of ``word`` standing alone, or -1."""
        at = self._words.get(word)
        if at is None:
            at = self._low.find(word)
            if at >= 0:
                at = next(_places(self._low, word), -1)
            self._words[word] = at
        return at

    @cached_property
    def _figures(self) -> dict[str, list[int]]:
        """Offsets of the figures in digits, by each value they may have ("1990s": the decade)."""
        index: dict[str, list[int]] = {}
        low = self._low
        for match in _FIGURE.finditer(low):
            token = match[0]
            start = match.start()
            if token.isdigit() and token.isascii() and token[0] != "0":
                if token[-1] == "0" and len(token) == 4 and low[start + 4 : start + 5] == "s":
                    token += "s"
                index.setdefault(token, []).append(start)
                continue
            pieces = list(TOKEN.finditer(token))
            numbers, _ = numbers_and_dates([p[0] for p in pieces], token.isascii())
            for number in numbers:
                for value in number.values:
                    index.setdefault(value, []).append(start + pieces[number.first].start())
        return index

    def _number(self, number: Number) -> tuple[int, int] | None:
        number, year, anchors = _prepared(number)
        figures = self._figures
        for value in anchors:
            if value in figures:
                for at in figures[value]:
                    if year and self._low.startswith(value, at):
                        return at, at + len(value)
                    found = self._equal(number, at)
                    if found is not None:
                        return found
        return None if year else self._spelt(number)

    def _spelt(self, number: Number) -> tuple[int, int] | None:
        words = [w for value in number.values for w in _SPELT.get(value, ())]
        for word in words:
            if self._word(word) >= 0:
                for at in _places(self._low, word):
                    found = self._equal(number, at)
                    if found is not None:
                        return found
        if words:
            return None
        for other, start, end in self._compounds:
            if number.equals(other):
                return start, end
        return None

    @cached_property
    def _compounds(self) -> list[tuple[Number, int, int]]:
        """Numbers of several words, with their offsets."""
        if not any(w in self._low for w in _COMPOUND):
            return []
        facts = Facts(self._text)
        found = [n for n in facts.numbers_and_dates[0] if n.last > n.first]
        return [(n, *facts.extent(n.first, n.last)) for n in found]

    def _equal(self, number: Number, at: int) -> tuple[int, int] | None:
        """Offsets of the number that includes offset ``at``, if it equals ``number``."""
        offset, spans, numbers, _ = self._around(at)
        for other in numbers:
            start, end = offset + spans[other.first][0], offset + spans[other.last][1]
            if start <= at < end and number.equals(other):
                return start, end
        return None

    def _date(self, date: Date) -> tuple[int, int] | None:
        for year, _, day in date.readings:
            for at in self._figures.get(str(day if year is None else year), ()):
                offset, spans, _, dates = self._around(at)
                for other in dates:
                    if date.within(other):
                        return offset + spans[other.first][0], offset + spans[other.last][1]
        return None

    def _around(self, at: int) -> tuple[int, list[tuple[int, int]], list[Number], list[Date]]:
        """Where a window about ``at`` begins, its tokens' spans, numbers and dates."""
        low = self._low
        offset = max(0, at - _BEFORE)
        while 0 < offset < at and low[offset - 1].isalnum():
            offset += 1
        window = low[offset : at + _AFTER]
        spans = [m.span() for m in TOKEN.finditer(window)]
        return offset, spans, *numbers_and_dates([window[s:e] for s, e in spans], window.isascii())

    @cached_property
    def _cues(self) -> list[int]:
        """Offsets of words that negate."""
        return [m.start() for m in _NEGATION.finditer(self._low)]

    @property
    def negates(self) -> bool:
        """Whether there is a negation anywhere."""
        return bool(self._cues)

    @cached_property
    def _sentences(self) -> list[tuple[frozenset[str], bool, int, int]]:
        """Stems, polarity and offsets of each sentence (a rough split serves here)."""
        facts = Facts(self._text)
        ends = [m.end() for m in _SENTENCE_END.finditer(self._text)]
        found = []
        for start, end in zip([0, *ends], [*ends, len(self._text)], strict=True):
            first, stop = facts.token_range(start, end)
            if stop > first:
                negative = facts.negation(first, stop) is not None
                place = facts.extent(first, stop - 1)
                found.append((facts.stems(first, stop), negative, *place))
        return found

    def counterpart(self, stems: frozenset[str], negative: bool) -> Match | None:
        """The sentence most like one with these ``stems``, if it shares most content words.

        "Most": more than half of the stems of the two taken together (Jaccard), and at least two.
        None too where neither text negates anything near those words, for then nothing differs.
        """
        enough = max(2, len(stems) / 2)
        if negative:
            near = [self._low]
        else:
            near = [self._low[max(0, at - _AROUND) : at + _AROUND] for at in self._cues]
        if not any(sum(stem in text for stem in stems) >= enough for text in near):
            return None
        best: Match | None = None
        highest = 0.5
        for theirs, polarity, start, end in self._sentences:
            shared = len(stems & theirs)
            likeness = shared / (len(stems) + len(theirs) - shared)
            if shared >= 2 and likeness > highest:
                highest = likeness
                best = Match(polarity == negative, start, end)
        return best


def _places(low: str, word: str) -> Iterator[int]:
    """Offsets where ``word`` stands alone."""
    at = low.find(word)
    while at >= 0:
        end = at + len(word)
        if not (low[at - 1 : at].isalpha() or low[end : end + 1].isalpha()):
            yield at
        at = low.find(word, end)


@lru_cache(maxsize=1024)
def _prepared(number: Number) -> tuple[Number, bool, tuple[str, ...]]:
    """What to accept, whether any figure alone will do (years), and which figures to look at.

    Those are the number's values (for a decade its years too), and what stands before "thousand",
    "million" ... in them.
    """
    values = number.values
    if number.is_year:
        if values[0][-1] == "s":
            values = (*values, *(f"{values[0][:3]}{year}" for year in range(10)))
        return number._replace(values=values), True, values
    found = list(values)
    for value in values:
        if value.replace(".", "", 1).isdecimal() and len(value) >= 4:
            for scale in set(SCALES.values()):
                if Decimal(value) >= scale:
                    found.append(canonical(format(Decimal(value) / scale, "f")))
    return number, False, tuple(found)
