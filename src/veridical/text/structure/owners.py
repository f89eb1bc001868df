"""Statements that give one name the value of another."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS
from veridical.text.memo import kept
from veridical.text.sentences import split_sentences
from veridical.text.structure.reading import read_structure
from veridical.text.structure.wording import words_of_name
from veridical.text.values.places import stem

_MAX_STATEMENT = 200  # characters
_MAX_LEAVES = 2_000  # of a source
_MAX_PROSE = 100_000  # characters of a source
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_STOP = FUNCTION_WORDS | AUXILIARIES
_IS = re.compile(r"(?<![^\W_])(?:is|are|was|were)(?![^\W_])", re.IGNORECASE)
_PART = re.compile(r"[,;]|(?<![^\W_])(?:and|while|whereas)(?![^\W_])", re.IGNORECASE)
_ASKED = re.compile(r"(?:who|what|which) (?:is|are|was|were) ([^?]{1,100})\??", re.IGNORECASE)
#: Words by which a statement does not give a name its value.
_HEDGED = re.compile(
    r"(?<![^\W_])(?:not|no|never|neither|nor|or|either|if|unless|may|might|could|would|former\w*|"
    r"previous\w*|once|unlike|than|instead|deputy|acting|like)(?![^\W_])|n['’]t",
    re.IGNORECASE,
)

_PATH = re.compile(r"[.\[\]\"]+")
#: A name of one to five capitalised words, and the beginning of a role: "the CFO", "head of data".
_PROPER = re.compile(r"\W*(?:[^\W\d_a-z][\w'’.-]*\W+(?:(?:of|de|van|von)\s+)?){1,5}")
_ROLE = re.compile(r"\s*(?:(?:the|our|its|their|his|her)\s|(?!an?\s)\w+ of )", re.IGNORECASE)

Words: TypeAlias = frozenset[str]


class OtherValue(NamedTuple):
    """The value of a name at ``[start:end]`` of a source, where a statement has another's."""

    source: int
    start: int
    end: int


class GivenValue(NamedTuple):
    """A value at ``[start:end]`` of a source, and the words of its name in each form."""

    names: frozenset[Words]
    value: Words
    start: int
    end: int


class NamedValues(NamedTuple):
    """The values of a source, and their indices by the words of names and of values."""

    given: list[GivenValue]
    by_name: dict[Words, list[int]]
    by_value: dict[Words, list[int]]


def other_value(statement: str, question: str, texts: tuple[str, ...]) -> OtherValue | None:
    """Find the value that a name has in ``texts``, if ``statement`` gives it another name's value.

    Both sides of "X is Y" must be a whole name and a whole value, of lines, rows, objects or such
    sentences. A bare value counts with a question such as "Who is the CFO?".
    """
    if len(statement) > _MAX_STATEMENT or _HEDGED.search(statement):
        return None
    for one, other in _sides(statement, question):
        if any(_gives(_named(text), one, other) for text in texts):
            continue
        for source, text in enumerate(texts):
            found = _other(_named(text), one, other) or _other(_named(text), other, one)
            if found is not None:
                return OtherValue(source, found.start, found.end)
    return None


def _sides(statement: str, question: str) -> list[tuple[Words, Words]]:
    """Return the words of both sides of each "X is Y", without empty ones."""
    pairs = []
    for part in dict.fromkeys([statement, *_PART.split(statement)]):
        sides = _IS.split(part)
        if len(sides) == 2:
            pairs.append((_words(sides[0]), _words(sides[1])))
    asked = _ASKED.fullmatch(question.strip())
    if not pairs and asked is not None:
        pairs.append((_words(asked[1]), _words(statement)))
    return [(a, b) for a, b in pairs if a and b]


def _words(text: str) -> Words:
    words = (w.lower() for w in _WORD.findall(text))
    return frozenset(stem(w) for w in words if w not in _STOP)


@kept
def _named(text: str) -> NamedValues:
    by_name: dict[Words, list[int]] = defaultdict(list)
    by_value: dict[Words, list[int]] = defaultdict(list)
    given = [*_of_leaves(text), *_of_sentences(text)]
    for i, each in enumerate(given):
        by_value[each.value].append(i)
        for name in each.names:
            by_name[name].append(i)
    return NamedValues(given, by_name, by_value)


def _of_leaves(text: str) -> Iterator[GivenValue]:
    structured = read_structure(text)
    for leaf in structured.leaves[:_MAX_LEAVES] if structured else ():
        if leaf.kind == "text" and (value := _words(leaf.value)):
            own = _words(words_of_name(_PATH.split(leaf.path.rstrip('"]'))[-1]))
            subject = _words(leaf.subject)
            names = {own, _words(leaf.names), subject, own | subject}
            yield GivenValue(frozenset(filter(None, names)), value, leaf.start, leaf.end)


def _of_sentences(text: str) -> Iterator[GivenValue]:
    """Yield both sides of "Ann Lee is the CFO": a person or place, and a definite role."""
    for sentence in split_sentences(text[:_MAX_PROSE]) if " is " in text or " was " in text else ():
        if len(sentence.text) > _MAX_STATEMENT or _HEDGED.search(sentence.text):
            continue
        at = 0
        for part in _PART.split(sentence.text):
            start = sentence.start + sentence.text.index(part, at)
            at = start - sentence.start + len(part)
            sides = _IS.split(part)
            if len(sides) != 2:
                continue
            for name, value in (sides, sides[::-1]):
                if _PROPER.fullmatch(name) and _ROLE.match(value):
                    a, b = _words(name), _words(value)
                    if a and b:
                        yield GivenValue(frozenset([a]), b, start, start + len(part))
                        yield GivenValue(frozenset([b]), a, start, start + len(part))


def _gives(named: NamedValues, one: Words, other: Words) -> bool:
    """Return True if a source gives ``one`` the value ``other``, perhaps among more words."""
    return any(
        value <= named.given[i].value
        for name, value in ((one, other), (other, one))
        for i in named.by_name.get(name, ())
    )


def _other(named: NamedValues, name: Words, value: Words) -> GivenValue | None:
    """Return the value of ``name`` if ``value`` is that of other names only."""
    own, others = named.by_name.get(name), named.by_value.get(value)
    if not own or not others or set(own) & set(others):
        return None
    return named.given[own[0]]
