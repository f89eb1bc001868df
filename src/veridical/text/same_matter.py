"""Whether a passage is about what a statement says, and not only about whom.

An NLI model that is trained on pairs about one scene takes two facts about one thing for a
contradiction: "Lumo was founded in Leeds" and "Lumo has its head office in Berlin". Only a passage
about the same matter can contradict a statement.
"""

from __future__ import annotations

import re
from functools import lru_cache

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS, MONTHS, NEGATIONS, NUMBER_WORDS

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
    words, others = _WORD.findall(statement), list(_words_of(passage))
    lower = {x for x in (*words, *others) if x[:1].islower()}
    names = {x.lower() for x in (*words, *others) if x[:1].isupper()} - lower
    if _LIFE.search(passage):
        others += ["born", "died"]
    said, told = _matter(words, names), _matter(others, names)
    if _KIND.search(statement) and _KIND.search(passage):
        return True  # both say what something is
    return not said or not told or not said.isdisjoint(told)


@lru_cache(maxsize=256)
def _words_of(passage: str) -> tuple[str, ...]:
    """A passage's words: it is compared with every statement."""
    return tuple(_WORD.findall(passage))


def _matter(words: list[str], names: set[str]) -> set[str]:
    low = (x.lower() for x in words if x.lower() != x.upper())  # of a script with two cases
    stems = (x[:_STEM] for x in low if len(x) >= _SHORTEST and x not in _EMPTY and x not in names)
    return {_GROUP.get(stem, stem) for stem in stems}
