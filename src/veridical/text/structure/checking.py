"""Lookup of structured answers' values in a text, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from veridical.text.memo import kept
from veridical.text.sentences import split_sentences
from veridical.text.structure.answers import judged_units
from veridical.text.structure.nodes import words_set
from veridical.text.structure.parts import Leaf
from veridical.text.structure.reading import read_structure
from veridical.text.structure.wording import with_unit, worded_value
from veridical.text.values.places import stem
from veridical.text.values.read import values_of
from veridical.text.values.value import Value, equal

Found = Literal["supported", "contradicted", "unknown"]

_WORD = re.compile(r"[^\W_]+(?:[.'’:/-][^\W_]+)*")
_SMALL = words_set(
    "a an the of for in on at to by per and or with from is are was were be as it its this that "
    "name value number type"
)
_MAX_TEXT_CHARACTERS = 20_000
_MAX_WORDS_TO_NAME = 6  # between a value and a word of its name
_MAX_VALUE_WORDS = 12
_FEWEST_ANCHORS = 2


class AskedValue(NamedTuple):
    """A value, the other values of its row, and the names of the other rows."""

    leaf: Leaf
    siblings: tuple[Leaf, ...]
    subjects: tuple[str, ...]


class _Sentence(NamedTuple):
    text: str
    words: tuple[str, ...]
    stems: frozenset[str]
    values: tuple[Value, ...]


@kept
def asked_values(answer: str) -> dict[str, AskedValue]:
    """Return the values of a structured answer by statement; do not modify the result."""
    structured = read_structure(answer)
    if structured is None or not judged_units(answer):
        return {}
    found: dict[str, AskedValue] = {}
    for block in structured.blocks:
        if block.kind == "pairs":
            continue
        subjects = tuple(dict.fromkeys(x.subject for x in block.leaves if x.subject))[:100]
        for row in block.rows:
            for leaf in row.leaves:
                if leaf.kind in ("text", "number") and leaf.said != (0, 0):
                    siblings = tuple(x for x in row.leaves if x is not leaf)[:24]
                    others = tuple(s for s in subjects if s != leaf.subject)
                    found.setdefault(leaf.statement, AskedValue(leaf, siblings, others))
    return found


def check_value(asked: AskedValue, text: str) -> Found:
    """Look up a value of an answer in ``text``.

    The text supports a value in a sentence with the name of its row and a word of its own name
    nearby. No other value of the kind may be possible. It contradicts a value if the row of that
    name has another value, or the value occurs only next to names of other rows. The same holds
    if the sentence with most of the row's values has another one.
    """
    leaf = asked.leaf
    if len(text) > _MAX_TEXT_CHARACTERS or len(leaf.value.split()) > _MAX_VALUE_WORDS:
        return "unknown"
    sentences = _sentences(text)
    names = _stems(leaf.names)
    subject = _subject_words(leaf.subject)
    having = [s for s in sentences if _has(s, leaf)]
    if subject:
        row = _row_of(sentences, leaf, names)
        if row is not None:
            return row
        return _beside_subject(asked, sentences, having, names, subject)
    return _by_siblings(asked, sentences, having, names)


def _row_of(sentences: Sequence[_Sentence], leaf: Leaf, names: frozenset[str]) -> Found | None:
    """Look up the row of a table with the same name and header."""
    head = leaf.subject.lower() + ":"
    header = leaf.names.lower()
    for s in sentences:
        low = s.text.lower()
        if not low.startswith(head) or not header:
            continue
        for piece in s.text[len(head) :].split(";"):
            if piece.strip().lower().startswith(header + " "):
                here = _sentence(piece.strip()[len(header) :].rstrip("."))
                if _has(here, leaf):
                    return "supported"
                alike = bool(here.values) == bool(values_of(leaf.value))
                return (
                    "contradicted" if alike and len(here.words) <= _MAX_VALUE_WORDS else "unknown"
                )
    return None


def _beside_subject(
    asked: AskedValue,
    sentences: Sequence[_Sentence],
    having: Sequence[_Sentence],
    names: frozenset[str],
    subject: tuple[str, ...],
) -> Found:
    """Check if a value is in the text about its row, or only in that about others."""
    others = [w for s in asked.subjects if (w := _subject_words(s)) and w != subject]
    own: list[_Sentence] = []
    foreign: list[_Sentence] = []
    current: tuple[str, ...] | None = None
    mixed: list[_Sentence] = []
    for s in sentences:
        here = [w for w in (subject, *others) if _contains(s.words, w)]
        here = [w for w in here if not any(w != x and _contains(x, w) for x in here)]
        if len(here) > 1:
            mixed.append(s)
            current = None
            continue
        if here:
            current = here[0]
        if current == subject:
            own.append(s)
        elif current is not None:
            foreign.append(s)
    if any(s in own for s in having):
        clear = any(s in own and _unrivalled(s, asked.leaf) for s in having)
        measured = bool(others) and _is_measured(asked.leaf)
        named = not names or measured or any(names & s.stems for s in own)
        return "supported" if clear and named else "unknown"
    if having and own and not mixed and all(s in foreign for s in having):
        return "contradicted"
    return "unknown"


def _by_siblings(
    asked: AskedValue,
    sentences: Sequence[_Sentence],
    having: Sequence[_Sentence],
    names: frozenset[str],
) -> Found:
    """Check if a value occurs together with the other values of its object."""
    if not having or not names:
        return "unknown"
    leaf = asked.leaf
    naming = [s for s in sentences if names & s.stems]
    siblings = [x for x in asked.siblings if x.kind in ("text", "number") and x.value != leaf.value]
    counts = {id(s): sum(_has(s, x) for x in siblings) for s in sentences}
    best = max(counts.values())
    anchors = [s for s in sentences if counts[id(s)] == best]
    if best >= _FEWEST_ANCHORS and len(anchors) == 1 and len(naming) > 1:
        anchor = anchors[0]
        if any(s is anchor for s in having):
            return "supported" if _unrivalled(anchor, leaf) else "unknown"
        figures = any(v.readings or v.dates for v in values_of(leaf.value))
        return "contradicted" if names & anchor.stems and not figures else "unknown"
    if len(naming) == 1 and any(s is naming[0] for s in having):
        near = _near(naming[0], leaf, names)
        return "supported" if near and _unrivalled(naming[0], leaf) else "unknown"
    return "unknown"


def _is_measured(leaf: Leaf) -> bool:
    """Return True if a value is a figure with a unit, which identifies it."""
    figures = values_of(_worded(leaf))
    return bool(figures) and all(v.readings and v.dimension for v in figures)


def _unrivalled(s: _Sentence, leaf: Leaf) -> bool:
    """Return True if the sentence has no other figure of the kind."""
    mine = values_of(_worded(leaf))
    return not any(
        theirs.kind == value.kind and not equal(value, theirs)
        for value in mine
        for theirs in s.values
    )


def _near(s: _Sentence, leaf: Leaf, names: frozenset[str]) -> bool:
    """Return True if a word of the name is near the value."""
    value = {stem(w) for w in _words(_worded(leaf))}
    places = [i for i, w in enumerate(s.words) if stem(w) in value]
    return any(
        stem(w) in names and any(abs(i - j) <= _MAX_WORDS_TO_NAME for j in places)
        for i, w in enumerate(s.words)
    ) or bool(values_of(leaf.value))


def _has(s: _Sentence, leaf: Leaf) -> bool:
    """Return True if a sentence has the value: its figures in any form, its words in sequence."""
    said = _worded(leaf)
    figures = values_of(said)
    if figures:
        if not all(any(equal(v, theirs) for theirs in s.values) for v in figures):
            return False
        inside = {i for v in figures for i in range(v.start, v.end)}
        rest = "".join(" " if i in inside else c for i, c in enumerate(said))
        return _stems(rest) <= s.stems
    return _contains(s.words, tuple(_words(said)))


def _worded(leaf: Leaf) -> str:
    _, unit = with_unit(leaf.names, leaf.value)
    value = worded_value(leaf.value, unit)
    return f"{value} {unit}" if unit else value


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    size = len(part)
    if not size or size > len(words):
        return False
    return any(tuple(words[i : i + size]) == tuple(part) for i in range(len(words) - size + 1))


@kept
def _sentences(text: str) -> tuple[_Sentence, ...]:
    return tuple(_sentence(piece) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    for s in split_sentences(text):
        for line in s.text.split("\n"):
            if line.strip():
                yield line.strip()


def _sentence(text: str) -> _Sentence:
    words = tuple(_words(text))
    return _Sentence(text, words, frozenset(map(stem, words)), values_of(text))


def _words(text: str) -> list[str]:
    return [m[0].lower() for m in _WORD.finditer(text)]


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(w) for w in _words(text) if w not in _SMALL)


def _subject_words(subject: str) -> tuple[str, ...]:
    """Return the words that name a row; for a number with a header, the number."""
    words = tuple(_words(subject))
    return words[-1:] if words and words[-1].isdigit() else words
