"""Values of the sources of a record, indexed by amount and by the words about them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import log
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.values.places import placed
from veridical.text.values.value import Value, equal, reversed_pair
from veridical.text.values.words import SPELT

_MAX_EQUAL = 40  # equal values of the sources looked at for their owners
_MAX_SENTENCES = 12  # sentences of the sources compared with a statement
_UNKNOWN_WORD = 0.4  # weight of a statement's word that no source has
_WINDOW = 0.25
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
    """The first word with a capital that is not at the start alone, in lower case."""
    for match in _NAME.finditer(text[:400]):
        if (word := match[1].lower()) not in SPELT:
            return word
    return ""


class Place(NamedTuple):
    """Value ``at`` of a source."""

    source: int
    at: int


class SourceValues:
    """The values of all sources of a record, indexed by amount and by the words about them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = [placed(t) for t in texts]
        self._amounts: dict[str, list[tuple[float, int, int]]] = {}
        self._dates: dict[object, list[Place]] = {}
        self.pairs: dict[tuple[Fraction, ...], list[Place]] = {}
        self._names: dict[str, list[Place]] = {}
        self.written: dict[Fraction, list[Place]] = {}
        self._spans: list[Place] = []
        self._ratios: list[Place] = []
        self._versions: list[Place] = []
        self.kinds: Counter[str] = Counter()
        self._index: dict[str, list[tuple[int, int]]] | None = None
        self._sentences: list[list[tuple[int, int]]] = []
        self._total = 1
        self.negates = False
        for s, text in enumerate(self.texts):
            for i, value in enumerate(text.values):
                self._add(Place(s, i), value)
        for entries in self._amounts.values():
            entries.sort()

    def _add(self, place: Place, value: Value) -> None:
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

    def value(self, place: Place) -> Value:
        return self.texts[place.source].values[place.at]

    def equals(self, value: Value, statement: str = "", cell: bool = False) -> list[Place]:
        """Places of equal values, in order of the sources.

        Args:
            value: of a statement.
            statement: what it stands in.
            cell: it stands in a cell or JSON leaf, whose header may name the unit.
        """
        found = [p for p in dict.fromkeys(self._near(value)) if equal(value, self.value(p))]
        if not found and value.readings and value.readings[0].dimension in ("share", "money", ""):
            found = self._of_other_sign(value, statement)
        if not found and value.written is not None:
            found = [
                p
                for p in self.written.get(value.written, ())[: 4 * _MAX_EQUAL]
                if self._headed(value, self.value(p), p, cell)
            ]
        return sorted(found)[:_MAX_EQUAL]

    def _headed(self, mine: Value, theirs: Value, place: Place, cell: bool) -> bool:
        """Return True if one is a bare number in a cell and the other the same with a unit."""
        if mine.dates or theirs.dates or mine.kind == "ordinal" or theirs.kind == "ordinal":
            return False
        if cell and not mine.dimension:
            return True
        if theirs.dimension or theirs.noun:
            return False
        return self.texts[place.source].leaf(place.at)

    def turned(self, value: Value, statement: str) -> tuple[Place, bool] | None:
        """A place of the same two numbers in the other order, and whether that is wrong.

        It is right where the statement is about the other side: "B lost 1-3" for "A won 3-1".
        """
        if len(value.parts) != 2 or value.kind == "version":
            return None
        for place in self.pairs.get(value.parts[::-1], ()):
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

    def around(self, place: Place) -> str:
        """The sentence of a place."""
        text = self.texts[place.source]
        start, end = text.sentence(self.value(place).start)
        return text.text[start:end]

    def _of_other_sign(self, value: Value, statement: str) -> list[Place]:
        low = value.readings[0].low
        if not low:
            return []
        entries = self._amounts.get(value.readings[0].dimension, ())
        other = float(-low)
        first = bisect_left(entries, (other,))
        found = []
        for amount, s, i in entries[first : first + _MAX_EQUAL]:
            if amount != other:
                break
            place = Place(s, i)
            about = statement if low > 0 else self.around(place)
            if _DECLINE.search(about):
                found.append(place)
        return found

    def _near(self, value: Value) -> list[Place]:
        found: list[Place] = []
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
                found += self._dates.get((month, day), ())
        if value.dates:
            found += self._spans[: 4 * _MAX_EQUAL]
        if len(value.parts) == 2:
            found += self.pairs.get(value.parts, ())
        for reading in value.readings:
            entries = self._amounts.get(reading.dimension)
            if not entries:
                continue
            low = float(reading.low)
            reach = abs(low) * (_WINDOW if value.bound else _WINDOW / 3)
            reach = max(reach, float(reading.step))
            if reading.dimension == "clock":
                reach = 10.0 if value.approx else 0.0
            if reading.dimension == "year":
                reach = float(reading.high) - low
            first = bisect_left(entries, (low - reach,))
            last = bisect_right(entries, (low + reach, len(self.texts)))
            near = entries[first:last]
            if len(near) > 8 * _MAX_EQUAL:  # the exact ones then
                exact = bisect_left(entries, (low,))
                near = entries[exact : exact + 8 * _MAX_EQUAL]
            found += [Place(s, i) for _, s, i in near]
        return found

    # words

    def index(self) -> dict[str, list[tuple[int, int]]]:
        """Sentences, by source and number, that have a stem."""
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
        """Weight of a word of a statement: rare ones in the sources count more."""
        if word[0] == "#":
            return 1.0
        held = len(self.index().get(word, ()))
        if not held:
            return _UNKNOWN_WORD
        return 1 - 0.7 * log(held) / log(self._total + 1) if held > 1 else 1.0

    def best_sentences(self, words: frozenset[str]) -> list[tuple[int, int, int]]:
        """Source, start and end of the sentences that share most of ``words``."""
        index = self.index()
        scores: Counter[tuple[int, int]] = Counter()
        for word in words:
            held = index.get(word, ())
            if len(held) > 2_000:
                continue
            weight = self.weight(word)
            for key in held:
                scores[key] += weight  # type: ignore[assignment]
        return [(s, *self._sentences[s][n]) for (s, n), _ in scores.most_common(_MAX_SENTENCES)]

    def coverage(self, words: frozenset[str], held: frozenset[str]) -> float:
        """Weighted share of ``words`` that are among ``held``."""
        total = sum(self.weight(w) for w in words)
        return sum(self.weight(w) for w in words & held) / total if total else 0.0


@kept
def source_values(texts: tuple[str, ...]) -> SourceValues:
    """The values of these sources, read once."""
    return SourceValues(texts)
