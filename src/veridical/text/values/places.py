"""Owners of values in a text: sentence, clause, row and column."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS
from veridical.text.memo import kept
from veridical.text.values.folding import folded, lowered
from veridical.text.values.read import values_of
from veridical.text.values.tables import Cell, cells_of
from veridical.text.values.value import Value

_STEM = 6
_MAX_SENTENCE = 600  # characters; a longer one without a full stop is split
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_SENTENCE_END = re.compile(
    r"(?<=[^\W\d_]{3}[.!?])(?=[\s\"')\]]+\S)|(?<=\d[.!?])(?=\s+[A-Z(\"'])|(?<=[)\]%\"'][.!?])(?=\s)"
    r"|(?<=\d [a-z]{2}[.!?])(?=\s+[A-Z])|(?<=\d [a-z][.!?])(?=\s+[A-Z])"  # "8 kg. The", "8 m. The"
    r"|(?<=[。！？।؟])|\n+"
)
#: A figure alone in parentheses belongs to the clause before it: "headed in a corner (15')".
_CLAUSE_END = re.compile(
    r"[,;)\n]|(?<!\d{4}):|\((?![^()\n]{0,16}\d[\d.,]{0,12}\W{0,2}\))|[–—]| - |"
    r"(?<![^\W_])(?:and|but|while|whereas|or|und|aber|et|y|e|mais|whilst|"
    r"against|versus|vs)(?![^\W_])",
    re.I,
)
_TWO_WORDS = re.compile(r"[ -][^\W\d_]+[ -][^\W\d_]+(?![^\W_])")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_MAX_KEY = 80  # characters before a value that may be its key
_ITEMS = re.compile(r" ?[,;/] ?| and | or ")
_KEY_LINE = re.compile(r"[\s*#-]*[^\n:]{1,60}: *['\"]?")
_LINE_REST = re.compile(r"['\"]? *,? *(?:\n|$)")
#: A letter that names one of several things: "plan A", 'group "B"'. "I" is a pronoun, and "A"
#: before a capital is an article in a title.
_LETTERED = re.compile(
    r"(?<![^\W_])([^\W\d_]{2,30})[ -]{1,4}[\"'(]?([B-HJ-Z]|A(?! [A-Z]))(?![\w-])"
)
_SUFFIXES = ("ings", "ing", "edly", "ed", "es", "ly", "s", "en")
_GENERIC = frozenset(
    [
        "according",
        "context",
        "document",
        "source",
        "answer",
        "figure",
        "value",
        "number",
        "question",
        "passage",
        "text",
        "provided",
        "stated",
        "states",
        "total",
        "about",
        "around",
        "almost",
        "nearly",
        "approximately",
        "roughly",
        "approx",
        "circa",
        "some",
        "just",
        "close",
        "exactly",
        "only",
        "also",
        "well",
        "kind",
        "exact",
        "per",
        "each",
        "every",
        "said",
        "says",
        "say",
        "year",
        "years",
        "percent",
        "percentage",
        "point",
        "points",
        "degrees",
        "degree",
    ]
)
_STOP = FUNCTION_WORDS | AUXILIARIES | _GENERIC | frozenset(["it's", "is", "are", "be", "has"])


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """Return ``word`` in lower case, roughly without its inflection."""
    if len(word) > 3:
        if word[-2:] in ("'s", "’s"):
            word = word[:-2]
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3:
                word = word[: -len(suffix)]
                break
        if len(word) > 3 and word[-1] in "ey":
            word = word[:-1]
    return word[:_STEM]


@lru_cache(maxsize=16_384)
def _stems_of(word: str) -> tuple[str, ...]:
    if word in _STOP:
        return ()
    if word[0] >= "\u2e80":
        return tuple(word[i : i + 2] for i in range(max(1, len(word) - 1)))
    if len(word) < 2:
        return ()
    return (stem(word),)


def _lettered(text: str, start: int, end: int) -> Iterator[str]:
    """Yield stems of nouns in ``[start:end]`` with the letters after them, as "plan a"."""
    for match in _LETTERED.finditer(text, start, end):
        for noun in _stems_of(lowered(match[1])):
            yield f"{noun} {match[2].lower()}"


class Owner(NamedTuple):
    """Words about a value: of its clause or row, sentence or table, and names."""

    near: frozenset[str]
    wide: frozenset[str]
    names: frozenset[str]


class Text:
    """A text with its values and, on demand, their owners."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.cells: tuple[Cell, ...] = cells_of(text)
        plain = _without_marks(text, self.cells)
        self.values = values_of(plain)
        self.starts = [v.start for v in self.values]
        self._folded = folded(plain)
        self.low = lowered(self._folded)
        self._cell_starts = [c.start for c in self.cells]
        self._bounds: list[int] | None = None
        self._owners: dict[int, Owner] = {}
        self._words: dict[tuple[int, int], frozenset[str]] = {}
        self._names: dict[tuple[int, int], frozenset[str]] = {}
        self._marks: dict[tuple[int, int], Counter[str]] = {}
        self._held: dict[tuple[int, int], frozenset[str]] = {}
        self._clauses: dict[tuple[int, int, bool], Clauses] = {}
        self._cell_words: dict[str, frozenset[str]] = {}

    @property
    def bounds(self) -> list[int]:
        """Return the offsets of sentence starts, and the end of the text."""
        if self._bounds is None:
            bounds = [0]
            for match in _SENTENCE_END.finditer(self._folded):
                end = match.end()
                i = bisect_left(self.starts, end) - 1
                inside = i >= 0 and self.values[i].start < end < self.values[i].end
                if end > bounds[-1] and not inside:
                    _cut(bounds, end)
            _cut(bounds, len(self.text))
            if bounds[-1] != len(self.text) or len(bounds) == 1:
                bounds.append(len(self.text))
            self._bounds = bounds
        return self._bounds

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the sentence around offset ``at``."""
        i = max(1, min(bisect_right(self.bounds, at), len(self.bounds) - 1))
        return self.bounds[i - 1], self.bounds[i]

    def sentences(self) -> list[tuple[int, int]]:
        """Return all sentences in order."""
        return list(zip(self.bounds, self.bounds[1:], strict=False))

    def within(self, start: int, end: int) -> list[int]:
        """Return the indices of the values in ``[start:end]``."""
        first, last = bisect_left(self.starts, start), bisect_left(self.starts, end)
        return list(range(first, last))

    def is_stamp(self, i: int) -> bool:
        """Return True if value ``i`` is the time of a message: "[09:41] Ann: at noon"."""
        value = self.values[i]
        before = self.text[max(0, value.start - 2) : value.start]
        return value.kind == "time" and before in ("[", "\n[")

    def stems(self, start: int, end: int) -> frozenset[str]:
        """Return the stems of the content words in ``[start:end]``, without those of values."""
        key = start, end
        known = self._words.get(key)
        if known is None:
            taken = [(self.values[i].start, self.values[i].end) for i in self.within(start, end)]
            found: list[str] = []
            at = 0
            for match in _WORD.finditer(self.low, start, end):
                while at < len(taken) and taken[at][1] <= match.start():
                    at += 1
                if at < len(taken) and taken[at][0] <= match.start():
                    continue
                found += _stems_of(match[0])
            found += _lettered(self._folded, start, end)
            known = self._words[key] = frozenset(found)
        return known

    def names(self, start: int, end: int) -> frozenset[str]:
        """Return the stems of capitalised words in ``[start:end]``, except a common first word."""
        known = self._names.get((start, end))
        if known is None:
            known = self._names[start, end] = frozenset(self._capitals(start, end))
        return known

    def _capitals(self, start: int, end: int) -> Iterator[str]:
        text = self._folded
        first = True
        for match in _WORD.finditer(text, start, end):
            word = match[0]
            if word[0].isupper() and lowered(word) not in _STOP:
                following = text[match.end() : match.end() + 2]
                if not first or (following[:1] == " " and following[1:].isupper()):
                    yield from _stems_of(lowered(word))
            first = False

    def phrase(self, value: Value) -> frozenset[str]:
        """Return the two content words after a count as one phrase, or nothing."""
        words = _TWO_WORDS.match(self.low, value.end) if value.noun else None
        if words is None or len(self.stems(*words.span())) != 2:
            return frozenset()
        return frozenset([words[0].strip()])

    def cell(self, at: int) -> Cell | None:
        """Return the table cell or JSON leaf around offset ``at``."""
        i = bisect_right(self._cell_starts, at) - 1
        if i < 0 or self.cells[i].end <= at:
            return None
        return self.cells[i]

    @cached_property
    def in_cells(self) -> list[int]:
        """Return the indices of the values in cells."""
        if not self.cells:
            return []
        return [i for i, start in enumerate(self.starts) if self.cell(start) is not None]

    def beside(self, i: int, most: int) -> list[int]:
        """Return the indices of the values in the row and the column of value ``i``.

        Value ``i`` is in a cell. Of more than ``most``, those of the row precede those of the
        column.
        """
        cell = self.cell(self.starts[i])
        assert cell is not None
        columns, lines = self._lined_up
        row = lines.get((cell.table, cell.line), [])[: most + 1] if cell.header else []
        column = columns.get((cell.table, cell.column, cell.header), [])
        together = {*row, *column[: most + 1 - len(row)]} - {i}
        return sorted(together)[:most]

    @cached_property
    def _lined_up(
        self,
    ) -> tuple[dict[tuple[int, int, str], list[int]], dict[tuple[int, int], list[int]]]:
        """Return the values of each column, and of each row's cells with a header, in order."""
        columns: dict[tuple[int, int, str], list[int]] = {}
        lines: dict[tuple[int, int], list[int]] = {}
        for i in self.in_cells:
            cell = self.cell(self.starts[i])
            assert cell is not None
            columns.setdefault((cell.table, cell.column, cell.header), []).append(i)
            if cell.header:
                lines.setdefault((cell.table, cell.line), []).append(i)
        return columns, lines

    @cached_property
    def row_names(self) -> list[Cell]:
        """Return the cells of first columns with a header."""
        return [c for c in self.cells if c.column == 0 and c.header]

    @cached_property
    def headers(self) -> frozenset[str]:
        """Return the headers of all cells, in lower case."""
        return frozenset(cell.header.lower() for cell in self.cells)

    def leaf(self, i: int) -> bool:
        """Return True if value ``i`` fills a cell, a JSON leaf or the rest of a "key:" line."""
        value = self.values[i]
        if self.cell(value.start) is not None:
            return True
        start = self.low.rfind("\n", 0, value.start) + 1
        if value.start - start > _MAX_KEY:
            return False
        if not _KEY_LINE.fullmatch(self.low, start, value.start):
            return False
        return _LINE_REST.match(self.low, value.end) is not None

    def owner(self, i: int) -> Owner:
        """Return the owner of value ``i``."""
        known = self._owners.get(i)
        if known is None:
            known = self._owners[i] = self._owner(i)
        return known

    def _owner(self, i: int) -> Owner:
        value = self.values[i]
        cell = self.cell(value.start)
        if cell is not None:
            words = self._words_of(cell.row) | self._words_of(cell.header)
            words |= self.stems(cell.start, cell.end)
            return Owner(words, words, self._words_of(cell.name))
        start, end = self.sentence(value.start)
        near = self.clause(i, start, end)
        return Owner(self.held(*near, i), self.held(start, end, i), self.names(start, end))

    def row_items(self, i: int) -> list[frozenset[str]]:
        """Return the words of each item in the name of a value's row: "Crowns, bridges"."""
        cell = self.cell(self.starts[i])
        items = _ITEMS.split(cell.name) if cell is not None else []
        return [words for item in items if (words := self._words_of(item))] if items[1:] else []

    def _words_of(self, label: str) -> frozenset[str]:
        """Return the stems and years of a row's labels or a header."""
        known = self._cell_words.get(label)
        if known is None:
            plain = folded(label)
            stems = [s for w in _WORD.findall(lowered(plain)) for s in _stems_of(w)]
            known = _marks(label).union(stems, _lettered(plain, 0, len(plain)))
            self._cell_words[label] = known
        return known

    def held(self, start: int, end: int, but: int) -> frozenset[str]:
        """Return the stems and marks in ``[start:end]``, without the marks of value ``but``."""
        known = self._held.get((start, end))
        if known is None:
            known = self.stems(start, end).union(self._marked(start, end))
            self._held[start, end] = known
        count = self._marked(start, end)
        own = [m for m in _marks_of(self.values[but]) if count[m] == 1]
        return known.difference(own) if own and start <= self.starts[but] < end else known

    def marks(self, start: int, end: int) -> frozenset[str]:
        """Return years and labels in ``[start:end]`` as words, as they own other values."""
        return frozenset(self._marked(start, end))

    def _marked(self, start: int, end: int) -> Counter[str]:
        known = self._marks.get((start, end))
        if known is None:
            values = (self.values[j] for j in self.within(start, end))
            known = Counter(mark for value in values for mark in set(_marks_of(value)))
            self._marks[start, end] = known
        return known

    def clause(self, i: int, start: int, end: int) -> tuple[int, int]:
        """Return the clause of value ``i`` inside the sentence ``[start:end]``."""
        key = start, end, bool(mark_of(self.values[i]))
        clauses = self._clauses.get(key)
        if clauses is None:
            inside = [
                value
                for j in self.within(start, end)
                if not mark_of(value := self.values[j]) or key[2]
            ]
            found = [m.span() for m in _CLAUSE_END.finditer(self._folded, start, end)]
            clauses = self._clauses[key] = Clauses(found, inside, start, end)
        return clauses.around(self.values[i])


class Clauses:
    """Clauses of the sentence ``[start:end]``, split at ``ends`` outside its ``values``."""

    def __init__(
        self, ends: Sequence[tuple[int, int]], values: Sequence[Value], start: int, end: int
    ) -> None:
        begins = [v.start for v in values]
        reach = list(accumulate((v.end for v in values), max))  # of each and those before it
        self._ends: list[tuple[int, int]] = []
        #: Start of the clause after each number of ends.
        self._lefts = [start]
        self._end = end
        self._last = begins[-1] if begins else start - 1
        for first, last in ends:
            i = bisect_right(begins, first)
            if i and reach[i - 1] > first:
                continue
            # clauses without a value of their own belong to the next one
            left = self._lefts[-1]
            own = bisect_left(begins, left) < bisect_left(begins, first)
            self._ends.append((first, last))
            self._lefts.append(last if own else left)

    def around(self, value: Value) -> tuple[int, int]:
        """Return the clause of ``value``, up to the last mark before the next value."""
        left = self._lefts[bisect_right(self._ends, value.start, key=itemgetter(1))]
        i = bisect_left(self._ends, value.end, key=itemgetter(0))
        if i < len(self._ends) and self._last >= self._ends[i][1]:
            return left, self._ends[i][0]
        return left, self._end


def _without_marks(text: str, cells: tuple[Cell, ...]) -> str:
    """Replace tags and the commas between cells by blanks, keeping the length."""
    if "<" in text:
        text = _TAG.sub(lambda m: " " * len(m[0]), text)
    commas = [c.end for c in cells if text[c.end : c.end + 1] == ","]
    if commas:
        chars = list(text)
        for at in commas:
            chars[at] = "\t"
        text = "".join(chars)
    return text


def mark_of(value: Value) -> str:
    """Return a word for a naming value: a year, a label, an identifier."""
    if value.kind == "identifier":
        return "#" + value.key
    if value.kind == "version":
        return "#v" + value.key
    if value.label and value.amount is not None:
        return f"#{value.amount}"
    if value.kind == "date" and value.is_year and len(value.dates) == 1 and value.dates[0][0]:
        return f"#{value.dates[0][0]}"
    return ""


def _marks_of(value: Value) -> list[str]:
    if value.kind == "date" and len(value.dates) > 1 and value.is_year:
        return [f"#{year}" for year, _, _ in value.dates]
    mark = mark_of(value)
    return [mark] if mark else []


def _marks(text: str) -> frozenset[str]:
    """Return years and labels in the names of a row."""
    years = re.findall(r"(?<!\d)(?:1\d|20)\d\d(?!\d)", text[:400])
    labels = [mark for value in values_of(text[:400]) for mark in _marks_of(value)]
    return frozenset(f"#{year}" for year in years).union(labels)


def _cut(bounds: list[int], end: int) -> None:
    """Add ``end`` to ``bounds``, with further places if the stretch is too long."""
    while end - bounds[-1] > _MAX_SENTENCE:
        bounds.append(bounds[-1] + _MAX_SENTENCE)
    if end > bounds[-1]:
        bounds.append(end)


@kept
def placed(text: str) -> Text:
    """Parse ``text`` with its values and their places, with a cache."""
    return Text(text)


def outer_values(text: str) -> list[Value]:
    """Return the values of ``text`` that are not nested in another."""
    found: list[Value] = []
    for value in placed(text).values:
        if not found or value.start >= found[-1].end:
            found.append(value)
    return found
