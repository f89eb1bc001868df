"""Q2's answer candidates, and its rules for questions and answers.

Honovich et al. 2021.
After the published code (Apache-2.0), with offsets, and with rules where there is no spaCy.
"""

from __future__ import annotations

import re
import string
from typing import Literal

from veridical.scorers.grounding.knowledge_f1 import token_f1
from veridical.text.spans import Span

Way = Literal["spacy", "regex"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_DROPPED = re.compile(r"\b(a|an|the|in|our)\b")
_PERSONAL = re.compile(r"\b(i|you|my|your)\b", re.IGNORECASE)

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
)
_CAPITAL = r"[^\W\d_a-z][\w'’.&-]*\w|[^\W\d_a-z]"
#: Runs of capitalised words, with the small words that names have inside.
_NAME = rf"(?:{_CAPITAL})(?:(?:\s+(?:of|the|de|la|van|von|der|and|&))?\s+(?:{_CAPITAL}))*"
_NUMBER = r"[$€£]?\d[\d,.:/-]*(?:\s?%|\s+(?:percent|per cent|million|billion|thousand|years?))?"
_DATE = (
    rf"{_MONTH}\s+\d{{4}}|{_MONTH}\s+\d{{1,2}}(?:,\s+\d{{4}})?"
    rf"|\d{{1,2}}\s+{_MONTH}(?:\s+\d{{4}})?"
)
_QUOTED = r"“[^”\n]{1,80}”|\"[^\"\n]{1,80}\""
_DETERMINER = re.compile(
    r"\b(?:the|an?|this|that|these|those|his|her|its|their|our|some|any|no|every|each|many|several)\b",
    re.IGNORECASE,
)
#: Words that end a noun phrase.
_STOP = re.compile(
    r"is|are|was|were|be|been|being|am|has|have|had|do|does|did|will|would|can|could|may|might|must"
    r"|shall|should|not|n't|and|or|but|nor|so|yet|if|then|than|that|which|who|whom|whose|when|where"
    r"|while|because|although|though|as|at|by|for|from|in|into|of|off|on|onto|out|over|to|under|up"
    r"|upon|with|without|about|after|against|before|between|during|since|through|until|it|he|she"
    r"|they|we|you|i|them|him|me|us|there|here|also|very|just|only",
    re.IGNORECASE,
)
_CANDIDATE = re.compile(
    rf"(?P<date>{_DATE})|(?P<quoted>{_QUOTED})|(?P<name>{_NAME})|(?P<number>{_NUMBER})"
)
_NEXT = re.compile(r"\s+([\w'’-]+)")


def candidates(text: str, way: Way) -> list[Span]:
    """Find spans of ``text`` for questions, entities first.

    ``spacy`` takes named entities and noun chunks. ``regex`` replaces entities by dates,
    quotations, runs of capitalised words and numbers. It replaces noun chunks by the words after a
    determiner up to a verb, a preposition or punctuation. A chunk is left out if an entity or an
    earlier chunk has the same text, ignoring case; so is the pronoun "I".

    Raises:
        UsageError: spaCy or its English model is not installed.
    """
    entities, chunks = _by_spacy(text) if way == "spacy" else _by_rules(text)
    spans = list(entities)
    known = {s.text.lower() for s in entities}
    for chunk in chunks:
        if chunk.text.lower() not in known:
            known.add(chunk.text.lower())
            spans.append(chunk)
    return [s for s in spans if s.text.lower() != "i"]


def personal(question: str, way: Way) -> bool:
    """Return True if a question is about the speakers.

    With spaCy: "I" or "you" is its subject, or "my" or "your" a possessor. Without: it contains one
    of these words.
    """
    if way == "regex":
        return bool(_PERSONAL.search(question))
    from veridical.text.spacy_text import spacy_parsed

    words = [(t.dep_, t.text.lower()) for t in spacy_parsed(question)]
    return any(
        (dep == "nsubj" and word in ("i", "you")) or (dep == "poss" and word in ("my", "your"))
        for dep, word in words
    )


def clean(text: str) -> str:
    """Lower case, without ASCII punctuation and the words a, an, the, in and our.

    >>> clean("In the U.S.,  our Capital")
    'us capital'
    """
    bare = _DROPPED.sub(" ", text.lower().translate(_PUNCTUATION))
    return re.sub(" +", " ", bare).strip()


def answer_f1(candidate: str, answer: str) -> float:
    """Compute the F1 of the cleaned tokens, in [0, 1].

    >>> round(answer_f1("the Eiffel Tower", "Tower of Paris"), 3)  # 1 shared, of 2 and 3
    0.4
    """
    return token_f1(clean(candidate).split(), clean(answer).split())


def _by_spacy(text: str) -> tuple[list[Span], list[Span]]:
    from veridical.text.spacy_text import spacy_parsed

    document = spacy_parsed(text)
    entities = [Span(e.start_char, e.end_char, e.text) for e in document.ents]
    return entities, [Span(c.start_char, c.end_char, c.text) for c in document.noun_chunks]


def _by_rules(text: str) -> tuple[list[Span], list[Span]]:
    entities = []
    for match in _CANDIDATE.finditer(text):
        span = _trimmed(text, *match.span())
        at = span.start
        while at and text[at - 1].isspace():
            at -= 1
        before = text[at - 1 : at]
        if match.lastgroup == "name" and (not before or before in '.!?:;"“'):
            # a sentence begins with any word in a capital
            first = span.text.split()[0]
            if _DETERMINER.fullmatch(first) or _STOP.fullmatch(first):
                span = _trimmed(text, span.start + len(first), span.end)
        if span.text:
            entities.append(span)
    chunks = []
    for match in _DETERMINER.finditer(text):
        end = match.end()
        while word := _NEXT.match(text, end):
            if _STOP.fullmatch(word[1]) or _DETERMINER.fullmatch(word[1]):
                break
            end = word.end()
        if end > match.end():
            chunks.append(Span(match.start(), end, text[match.start() : end]))
    return entities, chunks


def _trimmed(text: str, start: int, end: int) -> Span:
    """Return the span without white space, quotation marks and punctuation at its ends."""
    while start < end and (text[start].isspace() or text[start] in "\"“”'’,.:;-/"):
        start += 1
    while start < end and (text[end - 1].isspace() or text[end - 1] in "\"“”'’,.:;-/"):
        end -= 1
    return Span(start, end, text[start:end])
