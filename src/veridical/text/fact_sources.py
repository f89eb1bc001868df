"""Looking facts of one text up in others, without tokenising the others.

Sources are searched for what is asked, by substring, and only the surroundings of a figure that
matches are read closely. That is several times faster than finding all facts of every source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property, lru_cache
from itertools import accumulate, chain, groupby, islice, pairwise, product
from typing import NamedTuple

from veridical.text.fact_numbers import Date, DateParts, Number, canonical, numbers_and_dates
from veridical.text.fact_words import NEGATIONS, NUMBER_WORDS, ORDINAL_WORDS, SCALES
from veridical.text.facts import TOKEN, Fact, Facts, same_length_lower

#: Stands between sources: part of no fact, neither letter nor digit nor white space.
_SEPARATOR = "\0"
# "\d\d*" and the blank before "\s" change nothing but the speed, by a third each.
_FIGURE = re.compile(r"\d\d*(?:[.,'’/٬٫．\u00a0\u2009\u202f-]\d+)*")
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
#: Look-ups of a kind that read all sources; for more of them an index is made.
_MANY_WORDS = 256
_MANY_SENTENCES = 64
_NEAR = 2_000  # characters in which one of many names is looked for as a whole
_JOINTS = 4  # numerals within a word, at which a part of it may stand alone
_RUN = re.compile(r"[^\W\d_]+(['’]t(?![^\W\d_]))?")
#: Sentences compared with one of many, those that share rare words first, and negations looked at.
_COMPARED = 150
_CUES = 256
#: By first letter, which is all that is looked at after most blanks.
_NEGATING = "|".join(
    f"{letter}(?:{'|'.join(w[1:] for w in words)})"
    for letter, words in groupby(sorted({*NEGATIONS, "t"}), key=lambda w: w[0])
)
_NEGATION = re.compile(rf"[ \s'’](?:{_NEGATING})\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।؟])|\n+")


#: A place, after its turn among others.
_Placed = tuple[int, int, int]


class _Sentence(NamedTuple):
    stems: frozenset[str]
    negative: bool
    start: int
    end: int


class Mentions(NamedTuple):
    """How many ``sources`` mention a fact; the ``first`` of them does so at ``[start:end]``."""

    sources: int
    first: int
    start: int
    end: int


class Match(NamedTuple):
    """A sentence ``[start:end]`` that says the same, with the same or the other polarity."""

    agrees: bool
    start: int
    end: int


class FactSources:
    """Texts in which facts are looked up, all of them at once: they are searched as one text."""

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
        self._at: dict[int, list[tuple[Number, int, int]]] = {}
        self._dates: dict[str, dict[DateParts, dict[int, _Placed]]] = {}
        self._matches: dict[tuple[frozenset[str], bool], dict[int, Match]] = {}
        self._phrases = 0

    def find(self, fact: Fact) -> Mentions | None:
        """Mentions of ``fact``, or None.

        A number must have the value, and the unit where both have one; a decade also holds for
        its years. A date must have all known parts in one mention. A name needs its last word and
        half of its words: "Obama" speaks for "Barack Obama", "Barack" does not.
        """
        content = fact.content
        # not where it stands
        key: object = content[2:] if isinstance(content, (Number, Date)) else content
        if key not in self._mentions:
            self._mentions[key] = self._find(content)
        return self._mentions[key]

    def _find(self, content: Number | Date | tuple[str, ...]) -> Mentions | None:
        if isinstance(content, Number):
            mentions = self._number(content)
        elif isinstance(content, Date):
            mentions = self._date(content)
        else:
            return self._name(content)
        if not mentions:
            return None
        source = min(mentions)
        start, end = mentions[source]
        offset = self._starts[source]
        return Mentions(len(mentions), source, start - offset, end - offset)

    def _name(self, name: tuple[str, ...]) -> Mentions | None:
        """A name's mentions: first where its words stand together, else its last word."""
        places = self._word(name[-1])
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
                last = min(last, first + _NEAR)
            together = self._low.find(phrase, first, last)
            if together >= 0:
                start, end = together, together + len(phrase)
        return Mentions(len(places), source, start - offset, end - offset)

    def _word(self, word: str) -> dict[int, int]:
        """Offset of the first ``word`` standing alone, by source, in order."""
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
        """What :meth:`_searched` finds, of every word."""
        index: dict[str, dict[int, int]] = {}
        for match in _RUN.finditer(self._low):
            source = bisect_left(self._ends, match.start())
            for start, end in _parts(match):
                index.setdefault(self._low[start:end], {}).setdefault(source, start)
        return index

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], dict[int, int]]:
        """The first place of every two words with a space between, by source."""
        index: dict[tuple[str, str], dict[int, int]] = {}
        for one, other in pairwise(_RUN.finditer(self._low)):
            if other.start() - one.end() == 1 and self._low[one.end()] == " ":
                source = bisect_left(self._ends, one.start())
                index.setdefault((one[0], other[0]), {}).setdefault(source, one.start())
        return index

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

    def _number(self, number: Number) -> dict[int, tuple[int, int]]:
        """Offsets of a mention of ``number``, by source."""
        number, year, anchors = _prepared(number.values, number.unit)
        figures = self._figures
        mentions: dict[int, tuple[int, int]] = {}
        for value in anchors:
            for at in figures.get(value, ()):
                source = bisect_left(self._ends, at)
                if source in mentions:
                    continue
                if year and self._low.startswith(value, at):
                    place: tuple[int, int] | None = (at, at + len(value))
                else:
                    place = self._equal(number, at)
                if place is not None:
                    mentions[source] = place
        if not year and len(mentions) < len(self._texts):
            self._spelt(number, mentions)
        return mentions

    def _spelt(self, number: Number, mentions: dict[int, tuple[int, int]]) -> None:
        """Add mentions in words, of the sources that have none in ``mentions`` yet."""
        words = [w for value in number.values for w in _SPELT.get(value, ())]
        for word in words:
            for at in _places(self._low, word):
                source = bisect_left(self._ends, at)
                place = self._equal(number, at) if source not in mentions else None
                if place is not None:
                    mentions[source] = place
        if words:
            return
        by_value, compounds = self._compounds_by_value, self._compounds
        for i in sorted({i for value in number.values for i in by_value.get(value, ())}):
            other, source, start, end = compounds[i]
            if source not in mentions and number.equals(other):
                mentions[source] = start, end

    @cached_property
    def _compounds_by_value(self) -> dict[str, list[int]]:
        index: dict[str, list[int]] = {}
        for i, (number, *_) in enumerate(self._compounds):
            for value in number.values:
                index.setdefault(value, []).append(i)
        return index

    @cached_property
    def _compounds(self) -> list[tuple[Number, int, int, int]]:
        """Numbers of several words, with their sources and offsets."""
        compounds: list[tuple[Number, int, int, int]] = []
        if not any(w in self._low for w in _COMPOUND):
            return compounds
        for i, (start, end) in enumerate(zip(self._starts, self._ends, strict=True)):
            if any(self._low.find(w, start, end) >= 0 for w in _COMPOUND):
                facts = Facts(self._texts[i])
                for n in facts.numbers_and_dates[0]:
                    if n.last > n.first:
                        first, last = facts.extent(n.first, n.last)
                        compounds.append((n, i, start + first, start + last))
        return compounds

    def _equal(self, number: Number, at: int) -> tuple[int, int] | None:
        """Offsets of the number that includes offset ``at``, if it equals ``number``."""
        here = self._at.get(at)
        if here is None:
            offset, spans, numbers, _ = self._around(at)
            placed = ((n, offset + spans[n.first][0], offset + spans[n.last][1]) for n in numbers)
            here = self._at[at] = [p for p in placed if p[1] <= at < p[2]]
        for other, start, end in here:
            if number.equals(other):
                return start, end
        return None

    def _date(self, date: Date) -> dict[int, tuple[int, int]]:
        """Offsets of a mention of ``date``, by source."""
        mentions: dict[int, tuple[int, int]] = {}
        for year, _, day in date.readings:
            dates = self._dates_about(str(day if year is None else year))
            earliest: dict[int, _Placed] = {}
            for reading in date.readings:
                for source, placed in dates.get(reading, {}).items():
                    earliest[source] = min(earliest.get(source, placed), placed)
            for source, (_, start, end) in earliest.items():
                mentions.setdefault(source, (start, end))
        return mentions

    def _dates_about(self, figure: str) -> dict[DateParts, dict[int, _Placed]]:
        """The first place in each source of what the dates about a figure say, whole or in part."""
        places = self._dates.get(figure)
        if places is None:
            places = self._dates[figure] = {}
            turn = 0
            for at in self._figures.get(figure, ()):
                source = bisect_left(self._ends, at)
                offset, spans, _, dates = self._around(at)
                for date in dates:
                    turn += 1
                    start, end = offset + spans[date.first][0], offset + spans[date.last][1]
                    for year, month, day in date.readings:
                        for parts in product((year, None), (month, None), (day, None)):
                            places.setdefault(parts, {}).setdefault(source, (turn, start, end))
        return places

    def _around(self, at: int) -> tuple[int, list[tuple[int, int]], list[Number], list[Date]]:
        """Where a window about ``at`` begins, its tokens' spans, numbers and dates."""
        low = self._low
        source = bisect_left(self._ends, at)
        first = self._starts[source]
        offset = max(first, at - _BEFORE)
        while first < offset < at and low[offset - 1].isalnum():
            offset += 1
        window = low[offset : min(at + _AFTER, self._ends[source])]
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

    def _sentences_of(self, source: int) -> list[_Sentence]:
        """The sentences of a source (a rough split serves here)."""
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
        """By source, the sentence most like one with these ``stems``, where it shares most of them.

        "Most": more than half of the stems of the two taken together (Jaccard), and at least two.
        None too where neither text negates anything near those words, for then nothing differs.
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
        windows: list[tuple[int, int, int]] = []  # source, start, end: to hold enough stems
        bounds = zip(self._starts, self._ends, strict=True)
        if negative:
            windows = [(i, start, end) for i, (start, end) in enumerate(bounds)]
        else:
            for at in self._cues:
                i = bisect_left(self._ends, at)
                start, end = max(self._starts[i], at - _AROUND), min(self._ends[i], at + _AROUND)
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
        """:meth:`_compared` by an index of the sentences."""
        index = self._by_stem
        # most stems must be shared, so one at least of the rarer half
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
        """Sentences, by source and place, that hold a stem."""
        index: dict[str, list[tuple[int, int]]] = {}
        for source in range(len(self._texts)):
            for i, sentence in enumerate(self._sentences_of(source)):
                for stem in sentence.stems:
                    index.setdefault(stem, []).append((source, i))
        return index

    def _denied_near(self, source: int, match: Match, stems: frozenset[str]) -> bool:
        """Whether enough of ``stems`` stand about a negation of the source, those nearest to the
        match looked at."""
        cues, begin, stop = self._cues, self._starts[source], self._ends[source]
        first, last = bisect_left(cues, begin), bisect_left(cues, stop)
        middle = bisect_left(cues, begin + match.start, first, last)
        for at in cues[max(first, middle - _CUES // 2) : min(last, middle + _CUES // 2)]:
            text = self._low[max(begin, at - _AROUND) : min(stop, at + _AROUND)]
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
    """Places of the word found and of what in it stands alone, being beside a numeral."""
    start, end = match.span()
    first, last = start, match.start(1) if match[1] else end
    run = match[0][: last - first]
    joints = [] if run.isalpha() else [i for i, c in enumerate(run) if not c.isalpha()]
    if len(joints) > _JOINTS:
        joints = []
    ends = [*(first + i for i in joints), last]
    for begin in (first, *(first + i + 1 for i in joints)):
        yield from ((begin, stop) for stop in ends if begin < stop)
        if match[1] and begin < last:
            yield begin, end


def _places(low: str, word: str) -> Iterator[int]:
    """Offsets where ``word`` stands alone."""
    at = low.find(word)
    while at >= 0:
        end = at + len(word)
        if not (low[at - 1 : at].isalpha() or low[end : end + 1].isalpha()):
            yield at
        at = low.find(word, end)


@lru_cache(maxsize=1024)
def _prepared(values: tuple[str, ...], unit: str) -> tuple[Number, bool, tuple[str, ...]]:
    """What to accept, whether any figure alone will do (years), and which figures to look at.

    Those are the number's values (for a decade its years too), and what stands before "thousand",
    "million" ... in them.
    """
    number = Number(0, 0, values, unit)
    if number.is_year:
        if values[0][-1] == "s":
            values = (*values, *(f"{values[0][:3]}{year}" for year in range(10)))
        return number._replace(values=values), True, values
    figures = list(values)
    for value in values:
        if value.replace(".", "", 1).isdecimal() and len(value) >= 4:
            for scale in set(SCALES.values()):
                if Decimal(value) >= scale:
                    figures.append(canonical(format(Decimal(value) / scale, "f")))
    return number, False, tuple(figures)
