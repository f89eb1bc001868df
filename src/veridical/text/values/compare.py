"""Comparison of a statement's values with those of its sources."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import pairwise, takewhile

from veridical.text.values.arithmetic import own_result
from veridical.text.values.calendar import from_dates, is_exact_age
from veridical.text.values.comparatives import turned_than
from veridical.text.values.compute import BESIDE, Operand, Stated, derivation, operands_of
from veridical.text.values.cues import DENIED, cues_of
from veridical.text.values.finding import Status, ValueFinding
from veridical.text.values.groups import other_group
from veridical.text.values.listed import counted, line_items, names_listed, single
from veridical.text.values.numbered import numbered
from veridical.text.values.places import Text, mark_of, placed
from veridical.text.values.sources import SourceValues, ValuePlace, source_values
from veridical.text.values.value import Value, equal, same_digits, same_noun
from veridical.text.values.without_unit import both_years, priced, without_unit

_MAX_VALUES = 100  # of a statement; a longer one is compared in pieces
_MAX_LENGTH = 2_000  # characters
_MAX_DERIVED = 1_000  # values of an answer with a search for computations
_MAX_PLACES = 160  # of a number, searched for another one next to it
_MAX_RIVALS = 400  # cells of a value's row and column
_MAX_NEIGHBOURS = 60
_NOUN_WITHIN = 30  # characters after a count
_COVERED = 0.62
_COVERED_UNIT = 0.6
_COVERED_ALONE = 0.34  # if the sources have only one value of the kind
_CELL_WORDS = 4  # of a table cell; a longer one is a text
_MAX_ALL_OPERANDS = 30  # source values that are all used as operands
_MAX_WRITTEN = 12  # places of a number
_MAX_OWN = 8  # values of a statement that are operands of others in it
_OWN = 5.0  # weight of such an operand: before those of the sources
_NONE: frozenset[str] = frozenset()
_MAX_AMBIGUOUS_NUMBER = 4  # numbers in words up to this are often not figures
_CONTRAST = re.compile(
    r"(?<![^\W_])(?:unlike|than(?! [$€£]?\d)|compared|versus|vs|instead|rather|other|not|both|"
    r"respectively)"
    r"(?![^\W_])",
    re.I,
)
_FACTOR = re.compile(r" ?[x×] ?[€$£]")
_AGE = re.compile(r"-olds?(?![^\W_])", re.I)
_PRONOUN = re.compile(r"(?<![^\W_])(?:he|she|they|his|her|their|who|whose)(?![^\W_])", re.I)
#: Text before the number of a source: "according to document 1".
_SOURCE_NUMBER = re.compile(
    r"(?<![^\W_])(?:documents?|sources?|passages?|contexts?|docs?|references?|excerpts?)"
    r"(?: (?:no\.?|number))? ?[\[(#]?$",
    re.I,
)


def findings(
    answer: str, sentence: tuple[int, int], question: str, texts: tuple[str, ...]
) -> list[ValueFinding]:
    """Look up each value in ``answer[start:end]`` in the sources, in order.

    Args:
        answer: the whole answer.
        sentence: offsets of the statement in the answer.
        question: the question, whose words identify a bare value.
        texts: the sources.
    """
    text, sources = placed(answer), source_values(texts)
    found: list[ValueFinding] = []
    for piece in _pieces(text, *sentence):
        found += _Statement(text, piece, question, sources).findings()
    return found


def _pieces(text: Text, start: int, end: int) -> list[tuple[int, int]]:
    """Split a statement that is too long into pieces."""
    if end - start <= _MAX_LENGTH and len(text.within(start, end)) <= _MAX_VALUES:
        return [(start, end)]
    bounds = text.bounds[bisect_right(text.bounds, start) : bisect_left(text.bounds, end)]
    cuts = [start]
    for bound in (*bounds, end):
        within = text.within(cuts[-1], bound)
        cuts += [text.starts[i] for i in within[_MAX_VALUES::_MAX_VALUES]]
        cuts.append(bound)
    return list(pairwise(cuts))


class _Statement:
    def __init__(
        self, text: Text, span: tuple[int, int], question: str, sources: SourceValues
    ) -> None:
        self.text = text
        self.start, self.end = span
        self.string = text.text[self.start : self.end]
        self.sources = sources
        self.indices = text.within(*span)
        self.question = placed(question[:2_000]) if question else None
        self.words = text.stems(*span) | text.marks(*span)
        self._asked = (
            self.question.stems(0, len(self.question.text)) if self.question else frozenset()
        )
        self._cues: frozenset[str] | None = None
        self._operands: list[Operand] | None = None

    @cached_property
    def _contrasts(self) -> bool:
        return _CONTRAST.search(self.string) is not None

    @cached_property
    def _denied(self) -> bool:
        return DENIED.search(self.string) is not None

    @cached_property
    def _stated(self) -> dict[ValuePlace, list[int]]:
        """Map places of equal source values to the statement's values."""
        found: dict[ValuePlace, list[int]] = {}
        for j in self.indices:
            for place in self.sources.equals(self.text.values[j], self.string):
                found.setdefault(place, []).append(j)
        return found

    def findings(self) -> list[ValueFinding]:
        found: list[ValueFinding] = []
        skip = -1
        for i in self.indices:
            value = self.text.values[i]
            if i <= skip:
                continue
            inner = self._inside(i)
            finding = self._one(i)
            if (
                inner
                and finding.status in ("absent", "open", "wrong")
                and not self._reversed(value)
            ):
                parts = [self._one(j) for j in inner]
                if (value.kind == "range" and all(p.status == "found" for p in parts)) or (
                    value.kind == "ratio" and all(p.status == "found" for p in parts)
                ):
                    finding = parts[0]._replace(value=value)
                elif finding.status != "wrong":
                    found += parts
                    skip = inner[-1]
                    continue
            found.append(finding)
            skip = inner[-1] if inner else i
        return self._operands_used(found)

    def _inside(self, i: int) -> list[int]:
        """Return the values nested in value ``i``."""
        values, end = self.text.values, self.text.values[i].end
        following = takewhile(lambda j: values[j].start < end, range(i + 1, self.indices[-1] + 1))
        return [j for j in following if values[j].end <= end]

    def _reversed(self, value: Value) -> bool:
        return bool(value.parts) and bool(self.sources.pairs.get(value.parts[::-1]))

    def _operands_used(self, found: list[ValueFinding]) -> list[ValueFinding]:
        """Drop numbers of the statement that are only operands of a derivation."""
        used = " ".join(f.computed for f in found)
        if not used:
            return found
        return [
            f._replace(status="computed", computed=next(g.computed for g in found if g.computed))
            if f.status in ("absent", "open") and self._text(f.value) in used
            else f
            for f in found
        ]

    def _text(self, value: Value) -> str:
        return self.text.text[value.start : value.end].strip()

    def _one(self, i: int) -> ValueFinding:
        value = self.text.values[i]
        sources = self.sources
        if self._question_has(value) and not sources.equals(value, self.string):
            return ValueFinding(value, "open")
        if _FACTOR.match(self.text.text, value.end):
            return ValueFinding(value, "open")  # its product is checked
        if _SOURCE_NUMBER.search(self.text.text, max(0, value.start - 24), value.start):
            return ValueFinding(value, "open")
        places = sources.equals(value, self.string, self.text.leaf(i))
        places = places or priced(value, self.string, sources)
        turned = sources.turned(value, self.string) if not places else None
        if turned is not None:
            return self._at(value, "wrong" if turned[1] else "found", turned[0])
        if not places and len(value.dates) == 2 and value.is_year:
            places = both_years(value, self.string, sources)
        if not places and value.kind == "pair" and (apart := self._apart(value)):
            return self._at(value, "found", apart)
        if places:
            if self._question_has(value):
                return self._at(value, "found", places[0])
            owner = self._owner(i)
            owned = self._rival_owner(i, places, owner)
            if owned is not None:
                derived = None if self._grouped(i, places, owned) else self._derive(i, value)
                if derived:
                    return self._computed(value, derived)
                return self._at(value, "wrong", owned)
            best = max(places, key=lambda p: self._affinity(p, owner))
            return self._at(value, "found", best)
        if (number := numbered(value, self.text, self.string, self.sources.texts)) is not None:
            return number
        if value.kind == "ordinal" and value.spelt:
            rival = self._instead(i, value)
            return self._at(value, "wrong", rival[0]) if rival else ValueFinding(value, "open")
        if (own := own_result(self.text, value)) is not None:
            return ValueFinding(value, "computed" if own else "wrong")
        if (number := counted(value, self.string, self.sources.texts)) is not None:
            return number
        derived = self._derive(i, value)
        if derived:
            return self._computed(value, derived)
        for s, text in enumerate(self.sources.texts):
            if (place := names_listed(value, text, self.words)) is not None:
                listed = f"count of names = {value.amount}"
                return ValueFinding(value, "computed", s, *place, listed)
        rival = self._instead(i, value)
        if _AGE.match(self.text.text, value.end) and (rival is None or not self._aged(rival[0])):
            return ValueFinding(value, "open")  # an age names whom the rest is about
        if rival is not None:
            return self._at(value, "wrong", rival[0])._replace(unit=rival[1])
        if value.kind == "money" and value.written == 0:
            return ValueFinding(value, "open")  # free
        if place := without_unit(value, sources):
            return self._at(value, "found", place)
        if value.spelt and value.kind == "count" and not value.per:
            amount = value.amount
            if amount is not None and amount <= _MAX_AMBIGUOUS_NUMBER:
                return self._of_one(value) or ValueFinding(value, "open")
        return ValueFinding(value, "absent")

    def _aged(self, place: ValuePlace) -> bool:
        text = self.sources.texts[place.source]
        return _AGE.match(text.text, text.values[place.at].end) is not None

    def _of_one(self, value: Value) -> ValueFinding | None:
        """Return the finding that sources have one of what the statement has several of."""
        if not value.noun or self._denied or self._contrasts:
            return None
        for s, text in enumerate(self.sources.texts):
            if (found := single(text, value.noun, self.words | self._asked)) is not None:
                return ValueFinding(value, "wrong", s, *found)
        return None

    def _apart(self, value: Value) -> ValuePlace | None:
        """Return a place of a pair's first number, with the second in the same sentence."""
        sources = self.sources
        first, second = (sources.written.get(n, [])[:_MAX_PLACES] for n in value.parts)
        held: dict[tuple[int, int], list[ValuePlace]] = {}
        for b in second:
            held.setdefault(self._sentence_of(b), []).append(b)
        for a in first:
            if any(b != a for b in held.get(self._sentence_of(a), ())):
                return a
        return None

    def _sentence_of(self, place: ValuePlace) -> tuple[int, int]:
        """Return the source of a place, and the start of its sentence."""
        text = self.sources.texts[place.source]
        return place.source, text.sentence(text.starts[place.at])[0]

    def _computed(self, value: Value, derived: str) -> ValueFinding:
        turned = turned_than(self.text, (self.start, self.end), derived, self.sources)
        if turned is not None:
            return self._at(value, "wrong", turned)
        for operand in self._operands or []:
            if operand.text in derived:
                for place in self.sources.equals(operand.value):
                    return self._at(value, "computed", place)._replace(computed=derived)
        return ValueFinding(value, "computed", computed=derived)

    def _at(self, value: Value, status: Status, place: ValuePlace) -> ValueFinding:
        theirs = self.sources.value(place)
        return ValueFinding(value, status, place.source, theirs.start, theirs.end)

    def _question_has(self, value: Value) -> bool:
        if self.question is None:
            return False
        if len(self.question.values) > _MAX_ALL_OPERANDS:
            return bool(source_values((self.question.text,)).same(value))
        return any(equal(value, asked) for asked in self.question.values)

    # owners

    def _owner(self, i: int) -> frozenset[str]:
        """Return the words about value ``i`` in its clause of the statement, or its row."""
        text = self.text
        value = text.values[i]
        cell = text.cell(value.start)
        if cell is not None:
            return text.owner(i).near
        return text.held(*text.clause(i, self.start, self.end), i)

    def _affinity(self, place: ValuePlace, owner: frozenset[str]) -> float:
        theirs = self.sources.texts[place.source].owner(place.at)
        return len(owner & theirs.near) + 0.5 * len(owner & theirs.wide)

    def _rival_owner(
        self, i: int, places: list[ValuePlace], owner: frozenset[str]
    ) -> ValuePlace | None:
        """Return a source value that the words about value ``i`` belong to instead.

        All ``places`` of the value itself then belong to others.
        """
        if not owner or self._contrasts or len(places) > 6:
            return None
        value = self.text.values[i]
        if any(self._of_pair(i, place) for place in places):
            return None
        cell = self.text.cell(value.start)
        if cell is not None and len(self.text.text[cell.start : cell.end].split()) > _CELL_WORDS:
            return None
        if value.kind in ("identifier", "version") or (mark_of(value) and value.kind != "date"):
            return None
        result: ValuePlace | None = None
        for place in places:
            rival = self._swapped(i, place, owner)
            if rival is None or not self._mutual(i, place, rival):
                return None
            result = result or rival
        return result

    def _of_pair(self, i: int, place: ValuePlace) -> bool:
        """Return True for a number of "198 to 236" that both are in one row of a table."""
        values, text = self.text.values, self.sources.texts[place.source]
        around = [v for v in values[max(0, i - 2) : i] if v.parts and v.end >= values[i].end]
        home = text.cell(text.starts[place.at])
        if not around or home is None:
            return False
        for number in around[0].parts:
            places = self.sources.written.get(number, ())[:_MAX_WRITTEN]
            cells = [text.cell(text.starts[p.at]) for p in places if p.source == place.source]
            if not any(c and (c.table, c.line) == (home.table, home.line) for c in cells):
                return False
        return True

    def _mutual(self, i: int, place: ValuePlace, rival: ValuePlace) -> bool:
        """Return False if the statement also has the rival's value, for another owner.

        It then does not give it to the owner of ``place`` in a separate clause.
        """
        number = self.sources.value(rival).written
        stated = self._stated.get(rival) or [
            j for j in self.indices if number and self.text.values[j].written == number
        ]
        if not stated:
            return True
        text = self.sources.texts[place.source]
        lost = text.owner(place.at).near - text.owner(rival.at).near
        span = self.text.clause(i, self.start, self.end)
        return any(
            self.text.clause(j, self.start, self.end) != span and lost & self._owner(j)
            for j in stated
        )

    def _swapped(self, at: int, place: ValuePlace, owner: frozenset[str]) -> ValuePlace | None:
        value = self.text.values[at]
        text = self.sources.texts[place.source]
        home = text.owner(place.at)
        here = text.values[place.at]
        context = owner | (self._asked if len(owner) < 2 else frozenset())
        unlabelled = (cell := text.cell(here.start)) is not None and not cell.row.strip()
        # "nine heron species" or "two costly seasons" in both
        phrase = self.text.phrase(value) & text.phrase(here) or self._counted(value, text, here)
        # in a record, words of its other fields are among those of the owner
        in_record = self.text.cell(value.start) is not None
        for j in self._rivals(text, place.at):
            theirs = text.owner(j)
            gained, lost = theirs.near - home.near, home.near - theirs.near
            if not (
                (
                    gained
                    and gained <= context
                    and (not lost <= context if lost else unlabelled)
                    and not (in_record and lost & context)
                )
                or self._other_name(text, place.at, j, home.names & lost, theirs.names & gained)
                or self._grouped(at, [place], ValuePlace(place.source, j))
            ):
                continue
            rival = text.values[j]
            if equal(value, rival) or equal(here, rival):
                continue
            if phrase and rival.noun[:5] != here.noun[:5]:
                continue
            own_kind = not here.dimension and value.comparable(rival)
            if not (own_kind or here.comparable(rival)):
                continue
            if rival.start < here.end and here.start < rival.end:
                continue
            return ValuePlace(place.source, j)
        return None

    def _counted(self, value: Value, text: Text, theirs: Value) -> frozenset[str]:
        """Return the noun of a source's count, if it follows ``value`` too."""
        if not theirs.noun:
            return _NONE
        noun = text.stems(theirs.end, min(theirs.end + len(theirs.noun) + 1, len(text.text)))
        return noun & self.text.stems(value.end, min(value.end + _NOUN_WITHIN, self.end))

    def _grouped(self, at: int, places: list[ValuePlace], rival: ValuePlace) -> bool:
        """Return True if value ``at`` is for the days or ages of ``rival``, not of ``places``."""
        question = self.question.text if self.question else ""
        text, span = self.sources.texts[rival.source], (self.start, self.end)
        return any(
            other_group(self.text, span, at, question, text, place.at, rival.at)
            for place in places
            if place.source == rival.source
        )

    def _other_name(
        self, text: Text, i: int, j: int, mine: frozenset[str], other: frozenset[str]
    ) -> bool:
        """Return True if the statement names ``other``, the owner of the rival ``j``, not ``mine``.

        One item of a row's name is enough: "a crown" for "Crowns, bridges".
        """
        if not mine or not other or mine & (self.words | self._asked):
            return False
        if not other <= self.words and not any(n <= self.words for n in text.row_items(j)):
            return False
        if text.cell(text.starts[i]) is not None:
            return True
        start, end = text.sentence(text.starts[i])
        return not (_PRONOUN.search(text.text[start:end]) or other & text.stems(start, end))

    def _rivals(self, text: Text, i: int) -> list[int]:
        """Return values near value ``i``: of its table, or of its and the neighbouring
        sentences.
        """
        value = text.values[i]
        if text.cell(value.start) is not None:
            return text.beside(i, _MAX_RIVALS)
        start, end = text.sentence(value.start)
        before = text.sentence(max(0, start - 1))[0]
        after = text.sentence(min(len(text.text) - 1, end))[1] if end < len(text.text) else end
        near = [j for j in text.within(before, after) if j != i]
        if not text.is_stamp(i):
            near = [j for j in near if not text.is_stamp(j)]
        return near[:_MAX_NEIGHBOURS]

    # another value in its place

    def _about(self, i: int) -> frozenset[str]:
        """Return words that identify value ``i``: of its clause, else of the sentence or
        question.
        """
        words = self._owner(i)
        if len(words) < 2:
            words = words | self.words
        mark = mark_of(self.text.values[i])
        words = words - {mark}
        if len(words) < 2:
            words = words | self._asked
        return words

    def _instead(self, i: int, value: Value) -> tuple[ValuePlace, bool] | None:
        """Return the source's value instead of ``value``, and True if only its unit differs."""
        sources = self.sources
        words = self._about(i)
        if not words:
            return self._lone(value)
        if self._denied and not value.bound:
            return None
        weighted = sources.weighted(words)
        best: tuple[float, float, ValuePlace, bool] | None = None
        for place in sources.about(words):
            owner = sources.texts[place.source].owner(place.at)
            mark = mark_of(sources.value(place))
            held = frozenset([mark]) if mark in words else _NONE
            cover = weighted.coverage(owner.near, owner.wide, held)
            if cover < _COVERED_ALONE or (best is not None and cover < best[0]):
                continue
            theirs = sources.value(place)
            comparable = value.comparable(theirs) and not equal(value, theirs)
            unit = not comparable and same_digits(value, theirs)
            if not comparable and not unit:
                continue
            if any(j != i for j in self._stated.get(place, ())):
                continue
            if (
                value.label != theirs.label
                and value.kind != "ordinal"
                and not (value.label and theirs.label)
            ):
                continue
            if comparable and not unit and not same_noun(value, theirs):
                continue
            near = weighted.coverage(owner.near)
            if best is None or (cover, near) > best[:2]:
                best = (cover, near, place, unit)
        if best is None:
            return None
        cover, near, place, unit = best
        if unit:
            return (place, True) if cover >= _COVERED_UNIT else None
        if self._announced(value, place):
            return None
        alone = sources.kinds[sources.value(place).dimension] == 1
        needed = _COVERED_ALONE if alone and value.dimension not in ("", "ordinal") else _COVERED
        if cover < needed:
            return None
        same = value.written is not None and value.written == sources.value(place).written
        return place, same and value.readings[0] != sources.value(place).readings[0]

    def _lone(self, value: Value) -> tuple[ValuePlace, bool] | None:
        """Return the only value of the sources, if neither text states anything else."""
        texts = [t for t in self.sources.texts if t.values]
        if len(texts) != 1 or len(texts[0].values) != 1 or texts[0].stems(0, len(texts[0].text)):
            return None
        theirs = texts[0].values[0]
        place = ValuePlace(self.sources.texts.index(texts[0]), 0)
        return (place, False) if value.comparable(theirs) else None

    def _announced(self, value: Value, place: ValuePlace) -> bool:
        """Return True if the statement announces an operation that the source lacks there."""
        mine = cues_of(self.string) - {"count", "product", "quotient", "shift"}
        text = self.sources.texts[place.source]
        start, end = text.sentence(self.sources.value(place).start)
        claimed = {"sum", "mean"} | ({"change"} if value.kind == "percent" else set())
        return bool(mine - cues_of(text.text[start:end])) and not mine & claimed

    # computation

    def _derive(self, i: int, value: Value) -> str | None:
        if value.kind in ("identifier", "version", "pair", "coordinate", "ordinal", "range"):
            return None
        if i < _MAX_DERIVED and value.kind in ("date", "duration", "time"):
            texts = [t.text for t in self.sources.texts]
            if found := from_dates(value, self._relevant, self.text.text, texts):
                return found
            if is_exact_age(value, self._relevant):
                return None
        if (
            i >= _MAX_DERIVED
            or value.label
            or not value.readings
            or (value.kind == "ratio" and value.parts)
        ):
            return None
        if self._cues is None:
            asked = self.question.text if self.question else ""
            self._cues = cues_of(self.string) | (cues_of(asked) - {"count"})
        cell = self.text.cell(value.start)
        cues = self._cues if cell is None else cues_of(f"{cell.row} {cell.header}")
        if self._operands is None:
            self._operands = operands_of(self._relevant)
        others = [s for s in self._factors if s.value is not value]
        factors = [o for o in operands_of(others) if o.dimension in ("", "share")]
        operands = [o for o in self._operands if o.value is not value]
        return derivation(value, operands, cues, factors, self.string)

    @cached_property
    def _factors(self) -> list[Stated]:
        """Return counts of the statement and values of the question, as possible factors."""
        counts = [v for j in self.indices if (v := self.text.values[j]).kind == "count"]
        found = [Stated(v, self._text(v), 1.0, (-2, 0)) for v in counts[:_MAX_ALL_OPERANDS]]
        if self.question is not None:
            text = self.question.text
            found += [
                Stated(v, text[v.start : v.end], 0.9, (-1, 0))
                for v in self.question.values[:_MAX_ALL_OPERANDS]
            ]
        return found

    @cached_property
    def _relevant(self) -> list[Stated]:
        """Return values of the sources related to the statement, the nearest first."""
        sources = self.sources
        words = self.words | self._asked
        found: list[Stated] = []
        places = sources.about(words)
        if sum(len(t.values) for t in sources.texts) <= _MAX_ALL_OPERANDS:
            everywhere = [
                ValuePlace(s, i) for s, t in enumerate(sources.texts) for i in range(len(t.values))
            ]
            places = list(dict.fromkeys([*places, *everywhere]))
        weighted = sources.weighted(words)
        for place in places:
            text = sources.texts[place.source]
            value, owner = text.values[place.at], text.owner(place.at)
            weight = weighted.coverage(owner.wide) + weighted.coverage(owner.near)
            cell = text.cell(value.start)
            sentence = text.sentence(value.start)[0]
            where = (place.source, -1 - cell.table if cell is not None else sentence)
            found.append(Stated(value, text.text[value.start : value.end], weight + 0.01, where))
        for s, text in enumerate(sources.texts):
            found += line_items(text, s)
        for j in self.indices[:_MAX_OWN]:  # values that the statement itself sets side by side
            value = self.text.values[j]
            if value.kind != "ordinal" and sources.equals(value, self.string):
                found.append(Stated(value, self._text(value), _OWN, BESIDE))
        if self.question is not None:
            for value in self.question.values:
                shown = self.question.text[value.start : value.end]
                found.append(Stated(value, shown, 0.6, (-1, 0)))
        return found
