"""Whether a passage is about what a statement says, and not only about whom.

An NLI model that is trained on pairs about one scene takes two facts about one thing for a
contradiction: "Lumo was founded in Leeds" and "Lumo has its head office in Berlin". Only a passage
about the same matter can contradict a statement.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS, MONTHS, NEGATIONS, NUMBER_WORDS
from veridical.text.memo import kept

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_STEM = 4  # characters by which words are compared: "found", "founder"
_SHORTEST = 3  # characters of a word that says something
#: Words for one matter, or for its two ends, each by its stem.
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
#: "(8 September 1907 - 27 November 1997)": when somebody was born and died.
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
    """Whether the two share a word that says something and is part of no name, or words for one
    matter such as "died" and "death", or both say what something is ("is a painting").

    Names, numbers, dates and function words say whom, when and how many, not what. A statement
    that has none but these, and texts of which either has none in a script with two cases, are
    taken to be about the same matter, as nothing tells.

    >>> same_matter("Lumo was founded in Leeds.", "Lumo has its head office in Berlin.")
    False
    >>> same_matter("Lumo was founded in Leeds.", "Berlin is where Ann Lee founded Lumo.")
    True
    """
    said, told = _read(statement), _read_passage(passage)
    if said.kind and told.kind:
        return True  # both say what something is

    def is_no_name(word: str) -> bool:
        upper = word in said.upper or word in told.upper
        return not upper or word in said.lower or word in told.lower

    def says(words: Iterable[str]) -> bool:
        return any(map(is_no_name, words))

    matters = [matter for matter, words in said.matters.items() if says(words)]
    if not matters or any(says(told.matters.get(matter, ())) for matter in matters):
        return True
    return not any(map(says, told.matters.values()))


class _Read(NamedTuple):
    """What there is to compare in a text.

    Attributes:
        lower: its words that begin with a small letter.
        upper: those that begin with a capital, in lower case.
        matters: what it may be about, each by the words that say so, unless they are names.
        kind: whether it says what something is.
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
    words = dict.fromkeys(map(sys.intern, _WORD.findall(text)))  # which are of many texts
    matters: dict[str, list[str]] = {}
    cased = (x for x in (*words, *more) if x.lower() != x.upper())  # of a script with two cases
    for word in dict.fromkeys(sys.intern(x.lower()) for x in cased):
        if len(word) >= _SHORTEST and word not in _EMPTY:
            stem = sys.intern(word[:_STEM])
            matters.setdefault(_GROUP.get(stem, stem), []).append(word)
    return _Read(
        frozenset(x for x in words if x[:1].islower()),
        frozenset(sys.intern(x.lower()) for x in words if x[:1].isupper()),
        {matter: tuple(of_matter) for matter, of_matter in matters.items()},
        _KIND.search(text) is not None,
    )
