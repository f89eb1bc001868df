"""Index of source values by amount and by surrounding words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from heapq import nsmallest
from math import fsum, log
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.values.places import placed
from veridical.text.values.quantities import currencies_in, names_unit, scales_in
from veridical.text.values.value import Value, equal, reversed_pair
from veridical.text.values.words import SPELT

_MAX_EQUAL = 40  # equal source values whose owners are compared
_MAX_NEAR = 64  # values near one; beyond, only equal and nearest ones are compared
_MAX_SIDE = 12  # nearest ones on each side
_MAX_SENTENCES = 12  # sentences of the sources compared with a statement
_MAX_OF_SENTENCE = 40  # values per sentence
_MAX_CELLS = 400  # cells per source compared with a statement
_MAX_HELD = 2_000  # sentences with a word; a more frequent word is not used for search
_MAX_LOOKED_AT = 10_000  # (sentence, word) pairs examined for a statement
_UNKNOWN_WORD = 0.4  # weight of a statement's word that no source has
_WINDOW = 0.25
#: Dimensions with amounts that a source may give with a minus sign: "a loss of 3 m".
_SIGNED = frozenset(["share", "money", "", "length", "mass", "volume", "energy"])
_DECLINE = re.compile(
    r"(?<![^\W_])(?:fell|fall\w*|drop\w*|down|decreas\w+|declin\w+|loss\w*|lost|lower|reduc\w+|cut|"
    r"shrank|shrink\w*|minus|negative|deficit|less|below zero|gesunken|sank|"
    r"verlust|baisse)(?![^\W_])",
    re.I,
)
_LOSES = re.compile(
    r"(?<![^\W_])(?:lost|loses?|losing|defeat(?:ed)? by|beaten by|were beaten|was beaten|conceded|"
    r"trail\w*|went down|fell|verlor\w*|perd\w+|perdi\w*)(?![^\W_])",
    re.I,
)
_NAME = re.compile(
    r"(?<![^\W_])(?!(?:The|A|An|In|On|At|It|Its|She|He|They|We|You|This|That|After|Before|Then|Final|Result|Score)\b)([A-Z][^\W\d_]+)"
)


def _first_name(text: str) -> str:
    """Return the first capitalised word not only at the start, in lower case."""
    for match in _NAME.finditer(text[:400]):
        if (word := match[1].lower()) not in SPELT:
            return word
    return ""


class ValuePlace(NamedTuple):
    """The place of value ``at`` of a source."""

    source: int
    at: int


class Words(NamedTuple):
    """Words of a statement with their weights, and the sum of the weights."""

    weights: dict[str, float]
    total: float

    def coverage(self, *held: frozenset[str]) -> float:
        """Return the weighted share of the words that are in any of ``held``."""
        if not self.total:
            return 0.0
        found = self.weights.keys() & held[0]
        for more in held[1:]:
            found |= self.weights.keys() & more
        return fsum([self.weights[word] for word in found]) / self.total


class SourceValues:
    """Values of all sources of a record, indexed by amount and words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [placed(t) for t in texts]
        self._amounts: dict[str, list[tuple[float, int, int]]] = {}
        self._dates: dict[object, list[ValuePlace]] = {}
        self.pairs: dict[tuple[Fraction, ...], list[ValuePlace]] = {}
        self._names: dict[str, list[ValuePlace]] = {}
        self.written: dict[Fraction, list[ValuePlace]] = {}
        self._spans: list[ValuePlace] = []
        self._versions: list[ValuePlace] = []
        self.kinds: Counter[str] = Counter()
        self._index: dict[str, list[tuple[int, int]]] | None = None
        self._sentences: list[list[tuple[int, int]]] = []
        self._total = 1
        self._weights: dict[str, float] = {}
        self._equals: dict[tuple[Value, bool], list[ValuePlace]] = {}
        self._declining: dict[tuple[int, int], bool] = {}
        self._about: dict[frozenset[str], list[ValuePlace]] = {}
        for s, text in enumerate(self.texts):
            for i, value in enumerate(text.values):
                self._add(ValuePlace(s, i), value)
        for entries in self._amounts.values():
            entries.sort()

    def _add(self, place: ValuePlace, value: Value) -> None:
        self.kinds[value.dimension] += 1
        for reading in value.readings:
            self._amounts.setdefault(reading.dimension, []).append((float(reading.low), *place))
        for year, month, day in value.dates:
            self._dates.setdefault(year, []).append(place)
            if month is not None:
                self._dates.setdefault((month, day), []).append(place)
        if value.dates and (
            len(value.dates) > 1
            or (value.readings and (value.readings[0].low != value.readings[0].high))
        ):
            self._spans.append(place)
        if len(value.parts) == 2:
            self.pairs.setdefault(value.parts, []).append(place)
        if value.written is not None:
            self.written.setdefault(value.written, []).append(place)
        if value.kind == "identifier":
            self._names.setdefault(value.key, []).append(place)
        if value.kind == "version":
            self._versions.append(place)

    def value(self, place: ValuePlace) -> Value:
        return self.texts[place.source].values[place.at]

    def equals(self, value: Value, statement: str = "", cell: bool = False) -> list[ValuePlace]:
        """Return places of equal values, in order of the sources.

        Args:
            value: value of a statement.
            statement: the statement that contains it.
            cell: True if it is in a cell or JSON leaf, whose header may name the unit.
        """
        key = replace(value, start=0, end=0), cell
        known = self._equals.get(key)
        if known is not None:
            return known
        found = self.same(value)
        dimension = value.readings[0].dimension if value.readings else None
        signed = not found and dimension in _SIGNED
        if signed:
            found = self._of_other_sign(value, statement)
        if not found and value.written is not None:
            found = [
                p
                for p in self.written.get(value.written, ())[: 4 * _MAX_EQUAL]
                if self._headed(value, self.value(p), p, cell)
            ]
        if not found and dimension in ("money", ""):
            found = self._scaled(value)
        places = sorted(found)[:_MAX_EQUAL]
        if not signed:  # the statement does not decide
            self._equals[key] = places
        return places

    def same(self, value: Value) -> list[ValuePlace]:
        """Return places of values equal as written, in no order."""
        return [p for p in dict.fromkeys(self._near(value)) if equal(value, self.value(p))]

    def _headed(self, mine: Value, theirs: Value, place: ValuePlace, cell: bool) -> bool:
        """Return True if one is a bare number in a cell and the other the same with a unit."""
        if any(v.kind in ("date", "ordinal") for v in (mine, theirs)):
            return False
        if cell and not mine.dimension:
            return True
        if theirs.dimension or theirs.noun:
            return False
        if self.texts[place.source].leaf(place.at):
            return True
        if theirs.label:
            return False
        if mine.kind == "money":
            return self._in_currency(mine, place)
        return names_unit(self.texts[place.source].low, mine)

    def _in_currency(self, value: Value, place: ValuePlace) -> bool:
        """Return True if the source of a bare number names the currency of ``value``."""
        return value.readings[0].unit in currencies_in(self.texts[place.source].low)

    def _scaled(self, value: Value) -> list[ValuePlace]:
        """Return places of a bare number whose scale its source names: "in thousand EUR"."""
        amount = value.amount
        if amount is None or abs(amount) < 1000 or value.kind not in ("money", "count"):
            return []
        found: list[ValuePlace] = []
        for scale in (10**3, 10**6, 10**9):
            for place in self.written.get(abs(amount) / scale, ())[:_MAX_EQUAL]:
                theirs = self.value(place)
                text = self.texts[place.source]
                if theirs.kind == "count" and not theirs.noun and not theirs.label:
                    in_money = value.kind == "count" or self._in_currency(value, place)
                    if in_money and scale in scales_in(text.low):
                        found.append(place)
        return found

    def turned(self, value: Value, statement: str) -> tuple[ValuePlace, bool] | None:
        """Return a place of the same two numbers in reverse order, and True if that is wrong.

        It is right if the statement is about the other side: "B lost 1-3" for "A won 3-1".
        """
        if len(value.parts) != 2 or value.kind == "version":
            return None
        for place in self.pairs.get(value.parts[::-1], ())[: 4 * _MAX_EQUAL]:
            theirs = self.value(place)
            if not reversed_pair(value, theirs) or (value.kind == "range") != (
                theirs.kind == "range"
            ):
                continue
            about = self.around(place)
            mine, yours = _first_name(statement), _first_name(about)
            other = mine != yours and mine in about.lower() if mine and yours else False
            loses = (_LOSES.search(statement) is None) != (_LOSES.search(about) is None)
            return place, not (other or (loses and value.kind != "range"))
        return None

    def around(self, place: ValuePlace) -> str:
        """Return the sentence of a place."""
        text = self.texts[place.source]
        start, end = text.sentence(self.value(place).start)
        return text.text[start:end]

    def _of_other_sign(self, value: Value, statement: str) -> list[ValuePlace]:
        low = value.readings[0].low
        if not low:
            return []
        entries = self._amounts.get(value.readings[0].dimension, ())
        other = float(-low)
        first = bisect_left(entries, (other,))
        found = [
            ValuePlace(s, i)
            for amount, s, i in entries[first : first + _MAX_EQUAL]
            if amount == other
        ]
        if low > 0:
            return found if found and _DECLINE.search(statement) else []
        return [place for place in found if self._declines(place)]

    def _declines(self, place: ValuePlace) -> bool:
        """Return True if the sentence of a place has a word that means a minus."""
        start = self.texts[place.source].sentence(self.value(place).start)[0]
        known = self._declining.get((place.source, start))
        if known is None:
            known = _DECLINE.search(self.around(place)) is not None
            self._declining[place.source, start] = known
        return known

    def _near(self, value: Value) -> list[ValuePlace]:
        found: list[ValuePlace] = []
        if value.kind == "identifier":
            return self._names.get(value.key, [])
        if value.kind == "version" or (value.key and value.kind == "count"):
            found += self._versions[: 4 * _MAX_EQUAL]
        if (
            value.kind == "version"
            and len(value.parts) <= 2
            and value.key[:1].isdigit()
            and value.key.replace(".", "", 1).isdigit()
        ):
            found += self.written.get(Fraction(value.key), ())[:_MAX_EQUAL]
        for year, month, day in value.dates:
            found += self._dates.get(year, ())[: 4 * _MAX_EQUAL] if year is not None else ()
            if month is not None:
                found += self._dates.get((month, day), ())[: 4 * _MAX_EQUAL]
        if value.dates:
            found += self._spans[: 4 * _MAX_EQUAL]
        if len(value.parts) == 2:
            found += self.pairs.get(value.parts, ())[: 4 * _MAX_EQUAL]
        for reading in value.readings:
            entries = self._amounts.get(reading.dimension)
            if not entries:
                continue
            low = float(reading.low)
            reach = abs(low) * (_WINDOW if value.bound else _WINDOW / 3)
            reach = max(reach, float(reading.step))
            if reading.dimension == "clock":
                reach = 10.0 if value.approx else 1.0
            if reading.dimension == "year":
                reach = float(reading.high) - low
            first = bisect_left(entries, (low - reach,))
            last = bisect_right(entries, (low + reach, len(self.texts)))
            if last - first > _MAX_NEAR:
                exact = bisect_left(entries, (low,))
                above = bisect_right(entries, (low, len(self.texts)), exact)
                first = max(first, exact - _MAX_SIDE)
                last = min(last, min(above, exact + 4 * _MAX_EQUAL) + _MAX_SIDE)
            near = entries[first:last]
            found += [ValuePlace(s, i) for _, s, i in near]
        return found

    # words

    def index(self) -> dict[str, list[tuple[int, int]]]:
        """Return sentences, by source and number, for each stem."""
        if self._index is None:
            index: dict[str, list[tuple[int, int]]] = {}
            total = 0
            for s, text in enumerate(self.texts):
                spans = text.sentences()
                self._sentences.append(spans)
                total += len(spans)
                for n, (start, end) in enumerate(spans):
                    for word in text.stems(start, end) | text.marks(start, end):
                        index.setdefault(word, []).append((s, n))
            self._index = index
            self._total = max(total, 1)
        return self._index

    def weight(self, word: str) -> float:
        """Return the weight of a statement's word; words rare in the sources weigh more."""
        known = self._weights.get(word)
        if known is None:
            known = self._weights[word] = self._weight(word)
        return known

    def _weight(self, word: str) -> float:
        if word[0] == "#":
            return 1.0
        held = len(self.index().get(word, ()))
        if not held:
            return _UNKNOWN_WORD
        return 1 - 0.7 * log(held) / log(self._total + 1) if held > 1 else 1.0

    def weighted(self, words: frozenset[str]) -> Words:
        """Return ``words`` of a statement with their weights."""
        weights = {word: self.weight(word) for word in words}
        return Words(weights, fsum(weights.values()))

    def best_sentences(self, words: frozenset[str]) -> list[tuple[int, int, int]]:
        """Return source, start and end of the sentences that share most of ``words``."""
        index = self.index()
        scores: Counter[tuple[int, int]] = Counter()
        looked_at = 0
        for held, word in sorted((len(index.get(word, ())), word) for word in words):
            looked_at += held
            if held > _MAX_HELD or looked_at > _MAX_LOOKED_AT:
                break
            weight = self.weight(word)
            for key in index.get(word, ()):
                scores[key] += weight  # type: ignore[assignment]
        best = nsmallest(_MAX_SENTENCES, scores, key=lambda key: (-scores[key], key))
        return [(s, *self._sentences[s][n]) for s, n in best]

    def about(self, words: frozenset[str]) -> list[ValuePlace]:
        """Return values of the sentences that share most of ``words``, and those in cells."""
        known = self._about.get(words)
        if known is None:
            places: list[ValuePlace] = []
            for s, start, end in self.best_sentences(words):
                within = self.texts[s].within(start, end)
                places += [ValuePlace(s, i) for i in within[:_MAX_OF_SENTENCE]]
            known = self._about[words] = list(dict.fromkeys([*places, *self._in_cells]))
        return known

    @cached_property
    def _in_cells(self) -> list[ValuePlace]:
        places: list[ValuePlace] = []
        for s, text in enumerate(self.texts):
            places += [ValuePlace(s, i) for i in text.in_cells[:_MAX_CELLS]]
        return places


@kept
def source_values(texts: tuple[str, ...]) -> SourceValues:
    """Index the values of these sources, with a cache."""
    return SourceValues(texts)
