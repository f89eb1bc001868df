"""Lookup of facts in other texts, without tokenising those.

Sources are searched by substring, and only the text around a matching figure is parsed. This is
several times faster than finding all facts of every source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, chain, groupby, islice, pairwise
from typing import NamedTuple

from veridical.text.fact_words import COUNTRY_WORDS, NEGATIONS
from veridical.text.facts import Fact, Facts, same_length_lower
from veridical.text.values.sources import source_values
from veridical.text.values.value import Value

#: Separator of sources: part of no fact, neither letter nor digit nor white space.
_SEPARATOR = "\0"
_NEGATION_CONTEXT_CHARACTERS = 80
#: Look-ups of a kind by search in all sources; for more of them an index is built.
_MANY_WORDS = 256
_MANY_SENTENCES = 64
_NAME_SEARCH_CHARACTERS = 2_000  # around its last word, for the whole name
_MAX_NUMERALS_IN_WORD = 4  # at which it may be divided
_RUN = re.compile(r"[^\W\d_]+(['’]t(?![^\W\d_]))?")
#: Maximum sentences compared with one of many, by shared rare words, and maximum negations.
_COMPARED = 150
_CUES = 256
#: By first letter, which decides after most blanks.
_NEGATING = "|".join(
    f"{letter}(?:{'|'.join(w[1:] for w in words)})"
    for letter, words in groupby(sorted({*NEGATIONS, "t"}), key=lambda w: w[0])
)
_NEGATION = re.compile(rf"[ \s'’](?:{_NEGATING})\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟])|\n+")


class _Sentence(NamedTuple):
    stems: frozenset[str]
    negative: bool
    start: int
    end: int


class Mentions(NamedTuple):
    """The number of ``sources`` that mention a fact, and its ``first`` place, ``[start:end]``."""

    sources: int
    first: int
    start: int
    end: int


class Match(NamedTuple):
    """A sentence ``[start:end]`` with the same content, of equal or opposite polarity."""

    agrees: bool
    start: int
    end: int


class FactSources:
    """Texts for looking up facts, searched as one joined text."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        lows = [same_length_lower(text) for text in texts]
        self._low = _SEPARATOR.join(lows)
        ends = list(accumulate(len(low) + 1 for low in lows))
        self._starts = [0, *ends[:-1]]
        self._ends = [end - 1 for end in ends]  # exclusive
        self._words: dict[str, dict[int, int]] = {}
        self._sentences: dict[int, list[_Sentence]] = {}
        self._mentions: dict[object, Mentions | None] = {}
        self._matches: dict[tuple[frozenset[str], bool], dict[int, Match]] = {}
        self._phrases = 0

    def find(self, fact: Fact) -> Mentions | None:
        """Return the mentions of ``fact``, or None.

        A value must be equal in some form; a more precise one includes a less precise one (see
        :func:`veridical.text.values.value.equal`). A name needs its last word and half of its
        words: "Obama" supports "Barack Obama", "Barack" does not.
        """
        content = fact.content
        # without its place
        key: object = replace(content, start=0, end=0) if isinstance(content, Value) else content
        if key not in self._mentions:
            self._mentions[key] = (
                self._value(content) if isinstance(content, Value) else self._name(content)
            )
        return self._mentions[key]

    def _value(self, value: Value) -> Mentions | None:
        read = source_values(tuple(self._texts))
        places = read.equals(value)
        if not places:
            return None
        first = read.value(places[0])
        sources = len({place.source for place in places})
        return Mentions(sources, places[0].source, first.start, first.end)

    def _name(self, name: tuple[str, ...]) -> Mentions | None:
        """Return a name's mentions: its adjacent words if any, else its last word."""
        places = self._word(name[-1]) or self._word_of_country(name[-1])
        if len(name) > 2 and places:
            others = [self._word(word) for word in name]
            places = {
                i: at for i, at in places.items() if 2 * sum(i in o for o in others) >= len(name)
            }
        if not places:
            return None
        source, start = next(iter(places.items()))
        end = start + len(name[-1])
        offset = self._starts[source]
        if len(name) > 1:
            phrase = " ".join(name)
            self._phrases += 1
            first, last = offset, self._ends[source]
            if self._phrases > _MANY_WORDS:
                first = self._pairs.get((name[0], name[1]), {}).get(source, start)
                last = min(last, first + _NAME_SEARCH_CHARACTERS)
            together = self._low.find(phrase, first, last)
            if together >= 0:
                start, end = together, together + len(phrase)
        return Mentions(len(places), source, start - offset, end - offset)

    def _word_of_country(self, word: str) -> dict[int, int]:
        """Return the places of a country's adjective for its name, and the reverse."""
        for form in COUNTRY_WORDS.get(word, ()):
            if places := self._word(form):
                return places
        return {}

    def _word(self, word: str) -> dict[int, int]:
        """Return the offset of the first separate ``word`` in each source, in order."""
        places = self._words.get(word)
        if places is None:
            few = len(self._words) < _MANY_WORDS
            places = self._words[word] = (
                self._searched(word) if few else self._standing.get(word, {})
            )
        return places

    def _searched(self, word: str) -> dict[int, int]:
        places: dict[int, int] = {}
        low, ends = self._low, self._ends
        at = low.find(word)
        while at >= 0:
            end = at + len(word)
            if not (low[at - 1 : at].isalpha() or low[end : end + 1].isalpha()):
                source = bisect_left(ends, at)
                places[source] = at
                end = ends[source]
            at = low.find(word, end)
        return places

    @cached_property
    def _standing(self) -> dict[str, dict[int, int]]:
        """Index the results of :meth:`_searched` for every word."""
        index: dict[str, dict[int, int]] = {}
        for match in _RUN.finditer(self._low):
            source = bisect_left(self._ends, match.start())
            for start, end in _parts(match):
                index.setdefault(self._low[start:end], {}).setdefault(source, start)
        return index

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], dict[int, int]]:
        """Index the first place of every two words separated by a space, by source."""
        index: dict[tuple[str, str], dict[int, int]] = {}
        for one, other in pairwise(_RUN.finditer(self._low)):
            if other.start() - one.end() == 1 and self._low[one.end()] == " ":
                source = bisect_left(self._ends, one.start())
                index.setdefault((one[0], other[0]), {}).setdefault(source, one.start())
        return index

    @cached_property
    def _cues(self) -> list[int]:
        """Return the offsets of negating words."""
        return [m.start() for m in _NEGATION.finditer(self._low)]

    @property
    def negates(self) -> bool:
        """Return True if any source has a negation."""
        return bool(self._cues)

    def _sentences_of(self, source: int) -> list[_Sentence]:
        """Split a source roughly into sentences."""
        sentences = self._sentences.get(source)
        if sentences is None:
            text = self._texts[source]
            facts = Facts(text)
            ends = [m.end() for m in _SENTENCE_END.finditer(text)]
            sentences = self._sentences[source] = []
            for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
                first, stop = facts.token_range(start, end)
                if stop > first:
                    negative = facts.negation(first, stop) is not None
                    place = facts.extent(first, stop - 1)
                    sentences.append(_Sentence(facts.stems(first, stop), negative, *place))
        return sentences

    def counterparts(self, stems: frozenset[str], negative: bool) -> dict[int, Match]:
        """Return, for each source, the sentence that shares most of ``stems``, if any.

        "Most": more than half of the stems of the two taken together (Jaccard), and at least two.
        Without a negation near those words in either text, nothing differs and there is no match.
        """
        if len(stems) < 2:
            return {}
        matches = self._matches.get((stems, negative))
        if matches is None:
            few = len(self._matches) < _MANY_SENTENCES
            compared = self._compared if few else self._compared_by_stems
            matches = self._matches[stems, negative] = compared(stems, negative)
        return matches

    def _compared(self, stems: frozenset[str], negative: bool) -> dict[int, Match]:
        enough = max(2, len(stems) / 2)
        windows: list[tuple[int, int, int]] = []  # source, start, end: with enough stems
        bounds = zip(self._starts, self._ends, strict=True)
        if negative:
            windows = [(i, start, end) for i, (start, end) in enumerate(bounds)]
        else:
            for at in self._cues:
                i = bisect_left(self._ends, at)
                start, end = (
                    max(self._starts[i], at - _NEGATION_CONTEXT_CHARACTERS),
                    min(self._ends[i], at + _NEGATION_CONTEXT_CHARACTERS),
                )
                windows.append((i, start, end))
        matches: dict[int, Match] = {}
        tried: set[int] = set()
        for source, start, end in windows:
            if source in tried:
                continue
            text = self._low[start:end]
            if sum([stem in text for stem in stems]) >= enough:
                tried.add(source)
                match = self._most_like(source, stems, negative)
                if match is not None:
                    matches[source] = match
        return matches

    def _compared_by_stems(self, stems: frozenset[str], negative: bool) -> dict[int, Match]:
        """Do :meth:`_compared` by an index of the sentences."""
        index = self._by_stem
        # most stems must be shared, so at least one of the rarer half
        rarest = sorted(stems, key=lambda stem: len(index.get(stem, ())))[: len(stems) // 2 + 1]
        held = chain.from_iterable(index.get(stem, ()) for stem in rarest)
        best: dict[int, tuple[float, Match]] = {}
        for source, i in sorted(set(islice(held, _COMPARED))):
            theirs, polarity, start, end = self._sentences_of(source)[i]
            shared = len(stems & theirs)
            likeness = shared / (len(stems) + len(theirs) - shared)
            if shared >= 2 and likeness > best.get(source, (0.5,))[0]:
                best[source] = likeness, Match(polarity == negative, start, end)
        return {
            source: match
            for source, (_, match) in best.items()
            if negative or self._denied_near(source, match, stems)
        }

    @cached_property
    def _by_stem(self) -> dict[str, list[tuple[int, int]]]:
        """Index the sentences, by source and place, by stem."""
        index: dict[str, list[tuple[int, int]]] = {}
        for source in range(len(self._texts)):
            for i, sentence in enumerate(self._sentences_of(source)):
                for stem in sentence.stems:
                    index.setdefault(stem, []).append((source, i))
        return index

    def _denied_near(self, source: int, match: Match, stems: frozenset[str]) -> bool:
        """Return True if enough of ``stems`` occur around a negation of the source.

        Negations nearest to the match are tested first.
        """
        cues, begin, stop = self._cues, self._starts[source], self._ends[source]
        first, last = bisect_left(cues, begin), bisect_left(cues, stop)
        middle = bisect_left(cues, begin + match.start, first, last)
        for at in cues[max(first, middle - _CUES // 2) : min(last, middle + _CUES // 2)]:
            text = self._low[
                max(begin, at - _NEGATION_CONTEXT_CHARACTERS) : min(
                    stop, at + _NEGATION_CONTEXT_CHARACTERS
                )
            ]
            if sum([stem in text for stem in stems]) >= max(2, len(stems) / 2):
                return True
        return False

    def _most_like(self, source: int, stems: frozenset[str], negative: bool) -> Match | None:
        best: Match | None = None
        highest = 0.5
        for theirs, polarity, start, end in self._sentences_of(source):
            shared = len(stems & theirs)
            likeness = shared / (len(stems) + len(theirs) - shared)
            if shared >= 2 and likeness > highest:
                highest = likeness
                best = Match(polarity == negative, start, end)
        return best


def _parts(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of the found word and of its parts next to a numeral."""
    start, end = match.span()
    first, last = start, match.start(1) if match[1] else end
    run = match[0][: last - first]
    joints = [] if run.isalpha() else [i for i, c in enumerate(run) if not c.isalpha()]
    if len(joints) > _MAX_NUMERALS_IN_WORD:
        joints = []
    ends = [*(first + i for i in joints), last]
    for begin in (first, *(first + i + 1 for i in joints)):
        yield from ((begin, stop) for stop in ends if begin < stop)
        if match[1] and begin < last:
            yield begin, end
