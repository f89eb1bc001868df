"""Detection of clauses with a subject and a finite verb, in English."""

from __future__ import annotations

import re

from veridical.text.statement_words import (
    AUXILIARIES,
    BASES,
    DETERMINERS,
    MODALS,
    NEGATED,
    PREPOSITIONS,
    SUBJECT_PRONOUNS,
    is_clearly_finite,
    is_finite,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD = re.compile(r"[^\W_]+(?:['’][^\W\d_]+)*|[,;:()]")
_CONTRACTED = re.compile(r"[^\W\d_]+['’](?:s|re|ll|d|ve|m)")
_CANNOT = frozenset({"cannot", "ain't", "gonna"})
_OPENERS = _set("whether if when where who whom whose what which how why that or nor and to than")
#: Words that never follow a complete noun, so the next word is not a verb.
_NO_NOUN = (
    DETERMINERS
    | PREPOSITIONS
    | MODALS
    | frozenset(["to", "not", "and", "or", "very", "how", "more", "please", "no"])
)
_MAX_WORDS = 120


def asserts(text: str) -> bool:
    """Return True if a text has a main clause: a subject, and a finite verb after it.

    A text that begins with its verb, or with a word that makes it part of another clause
    (``whether``, ``or``), has no main clause. Verbs that are often nouns count only after a word
    that may end a subject.

    >>> asserts("dogs travel for free"), asserts("the price of the ticket"), asserts("is closed")
    (True, False, False)
    """
    words = [w.lower() for w in _WORD.findall(text)[:_MAX_WORDS]]
    while words and words[0] in (",", ";", ":", "(", ")"):
        del words[0]
    if not words or words[0] in _OPENERS or _is_auxiliary(words[0]):
        return False
    for i, word in enumerate(words[1:], start=1):
        before = words[i - 1]
        if before in (",", ";", ":", "("):
            before = words[i - 2] if i > 1 else ""
        if _is_auxiliary(word) and not (word == "may" and before in PREPOSITIONS):
            return True
        if is_clearly_finite(word) and before not in DETERMINERS:
            return True
        if (is_finite(word) or word in BASES) and _ends_a_subject(before, word):
            return True
    return any(
        _CONTRACTED.fullmatch(w) and w.replace("’", "'").split("'")[0] in SUBJECT_PRONOUNS
        for w in words
    )


def _is_auxiliary(word: str) -> bool:
    plain = word.replace("’", "'")
    return NEGATED.get(plain, plain) in AUXILIARIES or plain in _CANNOT


def _ends_a_subject(before: str, word: str) -> bool:
    if not before or before in _NO_NOUN:
        return False
    if before in SUBJECT_PRONOUNS:
        return True
    plural = before.endswith("s") and not before.endswith(("ss", "us", "is"))
    return plural if word in BASES else not plural and word.endswith("s")
