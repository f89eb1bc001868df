"""Checkable facts of a text: numbers, dates, names and negation.

No model is used. Numbers and dates are values (:mod:`veridical.text.values`). One regular
expression splits a text into tokens, and tables classify them. Names are found in any script with
upper and lower case, negation in several European languages. :mod:`veridical.text.fact_sources`
looks up these facts in other texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Literal, NamedTuple

from veridical.text.fact_words import ARTICLES, AUXILIARIES, CONNECTORS, FUNCTION_WORDS, NEGATIONS
from veridical.text.values.places import outer_values
from veridical.text.values.value import Value

TOKEN = re.compile(
    r"[a-z]+(?:(?=[ ,.])|(?![^\W\d_]|['’][tT]\b))"  # most words, for speed
    r"|[^\W\d_]+(?:['’][tT]\b)?"  # a word; "n't" stays with its verb
    r"|\d{4}-\d\d?-\d\d?(?!\d)"
    r"|\d\d?[./]\d\d?[./]\d{4}(?!\d)"
    r"|\d+(?:[,'’٬\u00a0\u2009\u202f]\d{1,3}(?!\d)|[.٫．]\d+)*"
    r"|[%٪％$€£¥₹°]"
)
_LINE_MARKS = re.compile(r"[^\w\n]*")
_LABEL_END = re.compile(r"[*_]{0,3}(?: \([^()\n]{1,40}\))?:(?:[*_]|\s|$)")
#: Text allowed between two words of one name.
_JOINTS = frozenset([" ", "\u00a0", "-", "‐", "'", "’", " & "])
_INITIAL_JOINTS = frozenset([".", ". "])  # after "J" or "St"
_MAX_NAME_ANSWER_WORDS = 6  # an answer without a lower-case word is one name up to this length
_MIN_TITLE_WORDS = 5  # in capitals
_SALUTATION = "dear"  # "Dear Ms Hill, your parcel ..."
#: Abbreviations that an answer may use without any source.
_NO_NAMES = frozenset([("id",), ("ids",), ("ok",), ("tv",), ("pc",), ("faq",), ("eta",), ("fyi",)])
_STEM_CHARACTERS = 5  # compared of content words: "attend" matches "attended"
_MIN_CONTENT_CHARACTERS = 4  # of a content word


class Fact(NamedTuple):
    """A checkable item at ``[start:end]`` of its text.

    ``content`` is the text to look up: for a name its lower-case words.
    """

    kind: Literal["number", "date", "name"]
    start: int
    end: int
    content: Value | tuple[str, ...]


class Facts:
    """The tokens of one text and its facts, computed on demand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._low = same_length_lower(text)
        #: Offsets of the tokens, and the tokens in lower case.
        self.spans = [m.span() for m in TOKEN.finditer(self._low)]
        self.tokens = [self._low[s:e] for s, e in self.spans]

    @cached_property
    def values(self) -> list[Value]:
        """Return all numbers, dates and other values, without nested ones."""
        return outer_values(self.text)

    def extent(self, first: int, last: int) -> tuple[int, int]:
        """Return the offsets of tokens ``first..last``."""
        return self.spans[first][0], self.spans[last][1]

    def token_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the tokens (first, one past the last) that begin inside ``[start:end]``."""
        return bisect_left(self.spans, (start,)), bisect_left(self.spans, (end,))

    def find(self, sentences: Sequence[tuple[int, int]]) -> list[list[Fact]]:
        """Return the facts of each sentence ``(start, end)`` in order.

        A single capitalised word that starts a sentence is a name only if it is part of a name
        elsewhere in the text.
        """
        spans = self.spans
        taken: set[int] = set()
        figures: list[Fact] = []
        for value in self.values:
            if value.kind == "identifier":  # "COVID-19" is not a name too
                taken.update(range(*self.token_range(value.start, value.end)))
                continue
            if value.kind == "label" or (value.kind == "ordinal" and value.label):
                continue
            if value.spelt or value.dates or value.kind in ("time", "money"):
                taken.update(range(*self.token_range(value.start, value.end)))
            year = value.is_year and not value.noun
            date = value.kind in ("date", "time") or year
            figures.append(Fact("date" if date else "number", value.start, value.end, value))
        starts = [f.start for f in figures]
        numbered = {v.start for v in self.values if v.label}  # "Clause 7" is no name
        low, text = self._low, self.text
        capital = [i for i, (s, _) in enumerate(spans) if text[s] != low[s] and i not in taken]
        facts: list[list[Fact]] = []
        doubtful: list[tuple[list[Fact], Fact]] = []
        known: set[str] = set()
        for start, end in sentences:
            here = figures[bisect_left(starts, start) : bisect_left(starts, end)]
            first, stop = self.token_range(start, end)
            inside = capital[bisect_left(capital, first) : bisect_left(capital, stop)]
            whole = len(inside) == stop - first  # no lower-case word
            if (whole and len(inside) > _MAX_NAME_ANSWER_WORDS) or self._in_title_case(
                inside, first, stop
            ):
                inside = []  # a heading, or all capitals: case has no meaning
            opening = next((i for i in range(first, stop) if self.tokens[i][0].isalpha()), first)
            for name in self._names(inside, opening, stop):
                words = name.content
                assert isinstance(words, tuple)
                if self._labels(name) or words[0] == _SALUTATION or words in _NO_NAMES:
                    continue
                if len(words) == 1 and name.end + 1 in numbered:
                    continue
                if len(words) == 1 and (
                    (name.start == spans[opening][0] and not whole) or self._opens_line(name)
                ):
                    doubtful.append((here, name))
                else:
                    known.update(words)
                    here.append(name)
            facts.append(here)
        for here, name in doubtful:
            if isinstance(name.content, tuple) and name.content[0] in known:
                here.append(name)
        for here in facts:
            here.sort(key=attrgetter("start"))
        return facts

    def _labels(self, name: Fact) -> bool:
        """Return True for the words of a heading, and of a label before a colon."""
        line = self.text.rfind("\n", 0, name.start) + 1
        before = self.text[line : name.start]
        if _LINE_MARKS.fullmatch(before) is None:
            return False
        if _LABEL_END.match(self.text, name.end):
            return True
        return before.lstrip().startswith("#") and not self.text[name.end :].split("\n")[0].strip()

    def _opens_line(self, name: Fact) -> bool:
        """Return True if only marks precede ``name`` in a line that does not open the text."""
        line = self.text.rfind("\n", 0, name.start) + 1
        return line > 0 and _LINE_MARKS.fullmatch(self.text, line, name.start) is not None

    def _in_title_case(self, capital: list[int], first: int, stop: int) -> bool:
        """Return True if small words are capitalised, and no long one is in lower case."""
        tokens = self.tokens
        if len(capital) < _MIN_TITLE_WORDS or not any(
            tokens[i] in FUNCTION_WORDS for i in capital[1:]
        ):
            return False
        capitals = frozenset(capital)
        return not any(
            i not in capitals
            and len(t) > _MIN_CONTENT_CHARACTERS
            and t.isalpha()
            and t not in FUNCTION_WORDS
            for i, t in enumerate(tokens[first:stop], first)
        )

    def _names(self, capital: list[int], first: int, stop: int) -> Iterator[Fact]:
        """Yield the names among tokens ``first..stop``, of which ``capital`` are capitalised."""
        tokens = self.tokens
        capitals = set(capital)
        done = first - 1
        for i in capital:
            if i <= done:
                continue
            last = done = self._name_end(i, stop, capitals)
            # A word may be capitalised only by position: at the start, or an article in a title.
            while i <= last and (
                tokens[i] in ARTICLES or (i == first and tokens[i] in FUNCTION_WORDS)
            ):
                first += i == first
                i += 1
            key = tuple(t for t in tokens[i : last + 1] if len(t) > 1 and t not in CONNECTORS)
            if not key and last > i:
                key = tuple(tokens[i : last + 1])  # "U.S."
            if key and not (len(key) == 1 and key[0] in FUNCTION_WORDS):
                yield Fact("name", *self.extent(i, last), key)

    def _name_end(self, i: int, stop: int, capitals: set[int]) -> int:
        """Return the last token of the name that begins at token ``i``.

        Connectors may occur inside it.
        """
        text, spans, tokens = self.text, self.spans, self.tokens
        last = i
        for j in range(i + 1, stop):
            before, gap_end = spans[j - 1], spans[j][0]
            gap = text[before[1] : gap_end]
            if gap not in _JOINTS and not (gap in _INITIAL_JOINTS and before[1] - before[0] <= 2):
                break
            if j in capitals:
                last = j
            elif tokens[j] not in CONNECTORS or j - last > 2:
                break
        return last

    def negation(self, first: int, stop: int) -> int | None:
        """Return the first negating token of ``first..stop``, or None."""
        tokens = self.tokens
        for i in range(first, stop):
            token = tokens[i]
            if token in NEGATIONS or token[-2:] in ("'t", "’t"):
                following = tokens[i + 1] if i + 1 < stop else ""
                end = self.spans[i][1]
                if i == first and self.text[end : end + 1] in (",", ".", ";", "!"):
                    continue  # "No, it is free from milk.": an answer
                number = token == "no" and following[:1].isdecimal()
                if following != "only" and not number and self.text[end : end + 1] != "-":
                    return i
        return None

    def stems(self, first: int, stop: int) -> frozenset[str]:
        """Return the content words of tokens ``first..stop``, truncated to five characters."""
        return frozenset(
            t[:_STEM_CHARACTERS]
            for t in self.tokens[first:stop]
            if len(t) >= _MIN_CONTENT_CHARACTERS and t not in AUXILIARIES and t not in NEGATIONS
        )


def same_length_lower(text: str) -> str:
    """Lower-case a text without changing offsets: "İ", whose lower case has two characters,
    stays.
    """
    low = text.lower()
    if len(low) == len(text):
        return low
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
