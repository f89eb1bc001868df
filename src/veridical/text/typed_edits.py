"""Typed edits of a sentence: changed facts, and paraphrases.

An edit is a text, its changed characters, and two labels of natural-language inference. One labels
the edited text given the original, the other the original given the edited text. So each gives
pairs with either text as the truth, and marks the wrong words exactly. Each rule (:data:`KINDS`)
has edits that keep the meaning (``entailment`` in both directions) and edits that do not. Rules use
words only, without parsing; the caller supplies names.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from veridical.text.edit_words import (
    DATE_DMY,
    DATE_MDY,
    MONTHS,
    NUMBER_WORDS,
    OPPOSED,
    SAME,
    TABLE,
    Label,
    Labels,
    Rule,
    fix_article,
)
from veridical.text.spans import FindingKind

#: Kind of finding for each rule.
KINDS: dict[Rule, FindingKind] = {
    "figure": "figure",
    "date": "date",
    "unit": "unit",
    "name": "name",
    "negation": "negation",
    "relation": "relation",
    "list": "addition",
    "splice": "addition",
    "quantifier": "other",
    "modality": "other",
    "antonym": "other",
}


@dataclass(frozen=True)
class Edited:
    """An edited sentence.

    Attributes:
        rule: the rule; ``kind`` is its kind of finding.
        spans: [start, end) of the changed characters of ``text``.
        was: the replaced or omitted characters of the original.
        label: label of ``text`` given the original; None if undetermined.
        back: label of the original given ``text``.
    """

    rule: Rule
    text: str
    spans: tuple[tuple[int, int], ...]
    was: tuple[tuple[int, int], ...]
    label: Label | None
    back: Label | None

    @property
    def kind(self) -> FindingKind:
        """Return the kind of finding of a wrong edit by this rule."""
        return KINDS[self.rule]

    @property
    def keeps(self) -> bool:
        """Return True if it keeps the meaning in other words."""
        return (self.label, self.back) == SAME


class Name(NamedTuple):
    """A name in the text around a sentence, and its kind (``PERSON``, ``GPE``, ...)."""

    text: str
    kind: str


def edits(
    sentence: str,
    rng: random.Random,
    names: Sequence[Name] = (),
    others: Sequence[str] = (),
    foreign: Sequence[str] = (),
) -> list[Edited]:
    """Return every edit of a sentence by any rule, in the order of the rules.

    Args:
        names: names of the surrounding text, this sentence included.
        others: other sentences of the same text, which stay true when joined to this one.
        foreign: sentences of other texts, which make an unsupported statement when joined.
    """
    found = [e for rule in RULES for e in rule(sentence, rng)]
    found += [*_names(sentence, rng, names), *_relations(sentence, names)]
    found += [*_splices(sentence, others, SAME), *_splices(sentence, foreign, ("neutral", None))]
    good = {e.text: e for e in found if e.text != sentence}
    return list(good.values())


# --- replacing ------------------------------------------------------------------------------


def _replaced(
    rule: Rule,
    sentence: str,
    changes: Sequence[tuple[int, int, str]],
    labels: Labels,
) -> Edited:
    """Return ``sentence`` with each [start, end) of ``changes`` replaced by its text, in order."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    was: list[tuple[int, int]] = []
    at = length = 0
    for start, end, new in changes:
        before = sentence[at:start]
        parts += [before, new]
        length += len(before)
        if new:
            spans.append((length, length + len(new)))
        if start < end:
            was.append((start, end))
        length += len(new)
        at = end
    text = "".join([*parts, sentence[at:]])
    return Edited(rule, text, tuple(spans), tuple(was), *labels)


@lru_cache(maxsize=4096)
def _word(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-]){re.escape(text)}(?![\w-])", re.IGNORECASE)


def _cased(new: str, old: str) -> str:
    return new[:1].upper() + new[1:] if old[:1].isupper() else new


#: Words that compare amounts only before an amount: "under a bridge" is not "less than a bridge".
_OF_AMOUNTS = {
    *("over", "under", "more than", "less than", "at least", "at most", "no fewer than", "nearly")
}
_AMOUNT_FOLLOWS = re.compile(rf" (?:[\d$£€]|(?:{'|'.join(NUMBER_WORDS)})\b)")


def _words(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits by the tables of antonyms, quantifiers, modality and synonyms."""
    for row in TABLE:
        places = list(_word(row.old).finditer(sentence))
        if len(places) != 1:
            continue
        (place,) = places
        name = place.start() > 0 and place[0] != row.old  # May, not may
        counted = row.old not in _OF_AMOUNTS or _AMOUNT_FOLLOWS.match(sentence, place.end())
        if name or not counted:
            continue
        if _word(row.new).search(sentence[: place.start()] + sentence[place.end() :]):
            continue
        new = _cased(row.new, place[0])
        edited = _replaced(row.rule, sentence, [(place.start(), place.end(), new)], row.labels)
        if fix_article(edited.text) == edited.text:
            yield edited


# --- negation -------------------------------------------------------------------------------

_POSITIVE = re.compile(r"\b(is|was|are|were|can|could|will|would|should)\b(?! not\b|n't)")
_NEGATIVE = re.compile(r"\b(is|was|are|were|could|will|would|should|must) (not|never) ")
_SHORT = re.compile(
    r"\b(is|was|are|were|has|have|had|can|could|will|would|should|must|does|do|did) not\b(?! only)"
)


def _negations(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits that insert, remove or contract a negation."""
    lowered = sentence.lower()
    plain = not re.search(r"\b(not|never|no|none|neither|nor|without)\b|n't", lowered)
    positive = list(_POSITIVE.finditer(sentence))
    if plain and len(positive) == 1 and not sentence.endswith("?"):
        word = positive[0]
        start, new = (word.start(), "cannot") if word[1] == "can" else (word.end(), " not")
        yield _replaced("negation", sentence, [(start, word.end(), new)], OPPOSED)
    negative = list(_NEGATIVE.finditer(sentence))
    if len(negative) == 1 and not re.search(r"\b(but|only|until|any|yet|either)\b", lowered):
        word = negative[0]
        yield _replaced("negation", sentence, [(word.end(1), word.end(2), "")], OPPOSED)
    short = list(_SHORT.finditer(sentence))
    if len(short) == 1:
        word = short[0]
        new = {"can": "can't", "will": "won't"}.get(word[1], f"{word[1]}n't")
        yield _replaced("negation", sentence, [(word.start(), word.end(), new)], SAME)


# --- numbers, dates, units ------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?<![\w.,$£€/-])\d{1,3}(?:,\d{3})+(?![\w,.]?\d)|(?<![\w.,/-])\d+(?![\w,./-]*\d)"
)
_YEAR = re.compile(r"1[0-9]\d\d|20\d\d")


_BOUND = re.compile(
    r"\b(at least|at most|more than|less than|fewer than|over|under|up to|about|around|nearly"
    r"|almost|some|approximately|before|after|since|until|by) $",
    re.IGNORECASE,
)


def _exact(sentence: str, at: int) -> tuple[Label, Label]:
    """Return the labels of two numbers: contradiction unless one is a bound, or close enough."""
    return ("not_entailment",) * 2 if _BOUND.search(sentence[:at]) else OPPOSED


def _numbers(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits of numbers: a digit, a year, thousands marks, and spelling of small ones."""
    dated = [m.span() for p in (DATE_DMY, DATE_MDY) for m in p.finditer(sentence)]
    for place in _NUMBER.finditer(sentence):
        start, end = place.span()
        if any(a <= start < b for a, b in dated):
            continue
        value = place[0]
        if _YEAR.fullmatch(value):
            new = str(int(value) + rng.choice([-20, -10, -7, -3, -1, 1, 2, 5, 10, 30]))
            yield _replaced("date", sentence, [(start, end, new)], _exact(sentence, start))
            continue
        at = rng.choice([i for i, c in enumerate(value) if c.isdigit()][:2])
        digit = rng.choice([d for d in "123456789" if d != value[at]])
        new = value[:at] + digit + value[at + 1 :]
        yield _replaced("figure", sentence, [(start, end, new)], _exact(sentence, start))
        whole = int(value.replace(",", ""))
        if whole >= 1000:
            other = f"{whole:,}" if "," not in value else str(whole)
            yield _replaced("figure", sentence, [(start, end, other)], SAME)
        if 1 < whole < len(NUMBER_WORDS) and sentence[end : end + 1] == " ":
            yield _replaced("figure", sentence, [(start, end, NUMBER_WORDS[whole])], SAME)
    for number, word in list(enumerate(NUMBER_WORDS))[2:]:
        places = list(_word(word).finditer(sentence))
        if len(places) == 1:
            start, end = places[0].span()
            other = rng.choice([w for w in NUMBER_WORDS[2:] if w != word])
            new = _cased(other, places[0][0])
            yield _replaced("figure", sentence, [(start, end, new)], _exact(sentence, start))
            if start > 0:
                yield _replaced("figure", sentence, [(start, end, str(number))], SAME)


def _dates(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits of dates: another day, month or year; and the same date in the other order."""
    for pattern, day_first in ((DATE_DMY, True), (DATE_MDY, False)):
        for place in pattern.finditer(sentence):
            day, month, year = (place[1], place[2], place[3]) if day_first else (
                place[2], place[1], place[3],
            )  # fmt: skip
            which = rng.randrange(3)
            wrong = [day, month, year]
            if which == 0:
                wrong[0] = str(rng.choice([d for d in range(1, 29) if str(d) != day]))
            elif which == 1:
                wrong[1] = rng.choice([m for m in MONTHS if m != month])
            else:
                wrong[2] = str(int(year) + rng.choice([-9, -2, -1, 1, 3, 11]))
            at = place.start(which + 1 if day_first else (2, 1, 3)[which])
            size = len((day, month, year)[which])
            yield _replaced("date", sentence, [(at, at + size, wrong[which])], OPPOSED)
            same = f"{month} {day}, {year}" if day_first else f"{day} {month} {year}"
            yield _replaced("date", sentence, [(*place.span(), same)], SAME)


_FAMILIES = (
    ("millimetres", "centimetres", "metres", "kilometres", "miles", "feet", "inches"),
    ("millimeters", "centimeters", "meters", "kilometers", "miles", "feet", "inches"),
    ("mm", "cm", "km", "mi", "ft"),
    ("grams", "kilograms", "tonnes", "pounds", "ounces"),
    ("mg", "kg", "lb"),
    ("seconds", "minutes", "hours", "days", "weeks", "months", "years", "decades"),
    ("thousand", "million", "billion", "trillion"),
    ("litres", "millilitres", "gallons"),
    ("KB", "MB", "GB", "TB"),
    ("dollars", "euros", "pounds", "yen"),
    ("°C", "°F"),
)
_SPELLED = {
    "km": "kilometres", "mm": "millimetres", "cm": "centimetres", "kg": "kilograms",
    "mg": "milligrams", "ft": "feet", "GB": "gigabytes", "MB": "megabytes", "%": " per cent",
}  # fmt: skip
_EXACTLY = {
    "hours": (60, "minutes"), "minutes": (60, "seconds"), "weeks": (7, "days"),
    "days": (24, "hours"), "decades": (10, "years"), "kilometres": (1000, "metres"),
    "kilometers": (1000, "meters"), "metres": (100, "centimetres"), "meters": (100, "centimeters"),
    "kilograms": (1000, "grams"), "tonnes": (1000, "kilograms"), "feet": (12, "inches"),
    "km": (1000, "m"), "kg": (1000, "g"),
}  # fmt: skip
_AMOUNT = re.compile(r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)( ?)(%|°[CF]|[A-Za-z]+)(?![\w-])")


def _units(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits of units: another unit of the family, its full name, or a smaller unit."""
    for place in _AMOUNT.finditer(sentence):
        amount, unit = place[1], place[3]
        at = place.span(3)
        others = [u for family in _FAMILIES if unit in family for u in family if u != unit]
        if others:
            yield _replaced("unit", sentence, [(*at, rng.choice(others))], OPPOSED)
        if unit in _SPELLED:
            yield _replaced("unit", sentence, [(*at, _SPELLED[unit])], SAME)
        if unit in _EXACTLY and amount.isdigit() and 1 < int(amount) <= 30:
            times, smaller = _EXACTLY[unit]
            new = f"{int(amount) * times:,}{place[2]}{smaller}"
            yield _replaced("unit", sentence, [(*place.span(), new)], SAME)


# --- lists ----------------------------------------------------------------------------------

_ITEM = r"[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,2}"
LIST = re.compile(rf"\b((?:{_ITEM}, )+{_ITEM}),? and ({_ITEM})(?! [A-Z])")
_NO_ITEM = re.compile(r"(In|On|At|By|With|For|From|After|Before|The|When|While|As|To|Of)\b")


def _lists(sentence: str, rng: random.Random) -> Iterator[Edited]:
    """Yield edits of a list of names: one omitted, or another order.

    ``_names`` adds one.
    """
    for place in LIST.finditer(sentence):
        items = [*place[1].split(", "), place[2]]
        if any(_NO_ITEM.match(item) for item in items):
            continue
        out = rng.randrange(1, len(items) - 1)
        start = place.start() + sum(len(item) + 2 for item in items[:out])
        change = (start - 2, start + len(items[out]), "")  # with the comma before it
        yield _replaced("list", sentence, [change], (None, "neutral"))
        turned = [*items[1:], items[0]]
        joined = f"{', '.join(turned[:-1])} and {turned[-1]}"
        yield _replaced("list", sentence, [(*place.span(), joined)], SAME)


RULES: tuple[Callable[[str, random.Random], Iterator[Edited]], ...] = (
    _words,
    _negations,
    _numbers,
    _dates,
    _units,
    _lists,
)


# --- names and additions --------------------------------------------------------------------


def _names(sentence: str, rng: random.Random, names: Sequence[Name]) -> Iterator[Edited]:
    """Yield edits that replace a name by another of its kind, or add one to a list."""
    here = [n for n in dict.fromkeys(names) if len(_word(n.text).findall(sentence)) == 1]
    for name in here:
        others = [
            n.text
            for n in dict.fromkeys(names)
            if n.kind == name.kind
            and n.text not in sentence
            and not set(n.text.casefold().split()) & set(name.text.casefold().split())
        ]
        if not others:
            continue
        other = rng.choice(others)
        place = _word(name.text).search(sentence)
        assert place is not None
        yield _replaced("name", sentence, [(*place.span(), other)], ("not_entailment",) * 2)
        row = LIST.search(sentence)
        if row and name.text in row[0] and not _NO_ITEM.match(row[0]):
            at = row.start() + len(row[1])
            yield _replaced("list", sentence, [(at, at, f", {other}")], ("neutral", None))


SYMMETRIC = re.compile(
    r"\b(and|or|with|between|met|married|both|joined|faced|share[sd]?|against|versus)\b"
)


def _relations(sentence: str, names: Sequence[Name]) -> Iterator[Edited]:
    """Yield edits that swap two names of a kind around a directed relation."""
    found = sorted(
        (place.span(), n)
        for n in dict.fromkeys(names)
        if len(places := list(_word(n.text).finditer(sentence))) == 1
        for place in places
    )
    for ((a, b), one), ((c, d), other) in itertools.pairwise(found):
        between = sentence[b:c]
        apart = len(between.split()) > 1 and "," not in between and not SYMMETRIC.search(between)
        if one.kind == other.kind and b < c and apart:
            changes = [(a, b, other.text), (c, d, one.text)]
            yield _replaced("relation", sentence, changes, ("not_entailment",) * 2)


def _splices(sentence: str, others: Sequence[str], labels: Labels) -> Iterator[Edited]:
    """Yield the sentence with another one joined to it.

    The original never entails less than itself, so the reverse label of a joined one is
    undetermined.
    """
    for other in others:
        if not (sentence.endswith(".") and re.fullmatch(r"[A-Z][^?!]+\.", other)):
            continue
        first = other.split()[0]
        starts = other if first not in _LOWERED else other[:1].lower() + other[1:]
        at = len(sentence) - 1
        yield _replaced(
            "splice", sentence, [(at, at + 1, f", and {starts}")], (labels[0], "entailment")
        )


_LOWERED = {"The", "A", "An", "It", "He", "She", "They", "In", "On", "This", "That", "His", "Her"}
