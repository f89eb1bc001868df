"""Test that a passage and a statement have the same topic.

Sharing the entity is not enough. An NLI model trained on pairs about one scene tends to read two
facts about one thing as a contradiction. An example is "Lumo was founded in Leeds" and "Lumo has
its head office in Berlin". Only a passage on the same topic can contradict a statement.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS, MONTHS, NEGATIONS, NUMBER_WORDS
from veridical.text.memo import kept

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_STEM_CHARACTERS = 4  # compared of a word: "found", "founder"
_MIN_CONTENT_CHARACTERS = 3  # of a content word
#: Stems of words for one topic, or for its two ends.
_MATTERS = """
    born birt nati
    died dies dead deat die kill murd pass
    foun esta crea form star laun begi bega open
    writ wrot auth pen nove book
    marr wed wedd husb wife spou
    dire film
    loca situ plac base lies head
    buy boug purc acqu sell sold
    win won wins beat defe lost lose loss vict cham
    end ends ende clos stop fini
    rise rose fell fall grow grew incr decr redu high low up down more less
    play perf acte acto actr role
    sing sang sung song band musi albu
    acce reje refu allo forb deny
    job work empl occu prof care
    live resi home lives hous
    make made prod manu buil cons desi
    cost pric paid pays pay free fee
    age old aged year
    big larg smal tall long shor size
    team club
    scho univ coll stud educ
    lang spea spok
    coun nati citi
    name call know
"""
_GROUP = {
    stem: line.split()[0] for line in reversed(_MATTERS.splitlines()) for stem in line.split()
}
#: "(8 September 1907 - 27 November 1997)": dates of birth and death.
_LIFE = re.compile(r"\([^()]{0,40}\d{4}\s?[-–—][^()]{0,40}\d{4}\)")
_KIND = re.compile(r"\b(?:is|was|are|were)(?: not|n't)? (?:an?|the|one)\b")
_EMPTY = (
    FUNCTION_WORDS
    | AUXILIARIES
    | NEGATIONS
    | frozenset(MONTHS)
    | frozenset(NUMBER_WORDS)
    | frozenset(["you", "him", "them", "own", "too", "very", "just", "got", "get", "yes"])
) - {"born"}


def same_matter(statement: str, passage: str) -> bool:
    """Return True if the two texts have the same topic.

    They share a content word that is not part of a name, or words for one topic such as "died" and
    "death". Or both define something ("is a painting").

    Names, numbers, dates and function words do not show the topic. If a statement has only these,
    or if a text has no cased letters, the topics count as equal.

    >>> same_matter("Lumo was founded in Leeds.", "Lumo has its head office in Berlin.")
    False
    >>> same_matter("Lumo was founded in Leeds.", "Berlin is where Ann Lee founded Lumo.")
    True
    """
    stated, source = _read(statement), _read_passage(passage)
    if stated.kind and source.kind:
        return True  # both define something

    def is_no_name(word: str) -> bool:
        upper = word in stated.upper or word in source.upper
        return not upper or word in stated.lower or word in source.lower

    def says(words: Iterable[str]) -> bool:
        return any(map(is_no_name, words))

    matters = [matter for matter, words in stated.matters.items() if says(words)]
    if not matters or any(says(source.matters.get(matter, ())) for matter in matters):
        return True
    return not any(map(says, source.matters.values()))


class _Read(NamedTuple):
    """Comparable content of a text.

    Attributes:
        lower: its words that begin with a small letter.
        upper: those that begin with a capital, in lower case.
        matters: possible topics, each with its words, unless they are names.
        kind: True if it defines something.
    """

    lower: frozenset[str]
    upper: frozenset[str]
    matters: dict[str, tuple[str, ...]]
    kind: bool


@kept
def _read(text: str) -> _Read:
    return _compared(text, ())


@kept
def _read_passage(text: str) -> _Read:
    return _compared(text, ("born", "died") if _LIFE.search(text) else ())


def _compared(text: str, more: tuple[str, ...]) -> _Read:
    words = dict.fromkeys(map(sys.intern, _WORD.findall(text)))  # shared by many texts
    matters: dict[str, list[str]] = {}
    cased = (x for x in (*words, *more) if x.lower() != x.upper())  # in a script with two cases
    for word in dict.fromkeys(sys.intern(x.lower()) for x in cased):
        if len(word) >= _MIN_CONTENT_CHARACTERS and word not in _EMPTY:
            stem = sys.intern(word[:_STEM_CHARACTERS])
            matters.setdefault(_GROUP.get(stem, stem), []).append(word)
    return _Read(
        frozenset(x for x in words if x[:1].islower()),
        frozenset(sys.intern(x.lower()) for x in words if x[:1].isupper()),
        {matter: tuple(of_matter) for matter, of_matter in matters.items()},
        _KIND.search(text) is not None,
    )
