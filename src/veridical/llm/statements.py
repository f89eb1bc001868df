"""Verdicts as a text states them, found strictly: what is not clear is no verdict."""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.llm.prompts import Choice, Choices, Numbers, Scale

#: What may stand around a verdict: white space, quotes, brackets, Markdown.
OPENING = " \t\r\n\"'“”‘’`*_([{#>"
_CLOSING = re.compile(r"[\"'“”‘’`*_]*")
#: What ends a statement. A word right after an answer makes it another statement ("Correct
#: answer: Paris"), and so does a question mark.
_END = re.compile(r"\s*(?:$|[\n\r.,;:!)\]}|—–]|-\s)")
_LIST = re.compile(r"[\"'“”‘’`*_)\]}\s.,;:/|!]*(?:and\s|or\s|und\s|ou\s|/)?\s*", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_OF = re.compile(r"\s*(?:(%)|(?:/|out\s+of)\s*([0-9]+(?:\.[0-9]+)?))", re.IGNORECASE)
_AFTER_NUMBER = re.compile(r"[\"'“”‘’`*_]*\s*(?:$|[\n\r;!)\]}|(]|[.,:](?![0-9])|[—–-]\s*[^\W\d_])")
_SAYERS = ("verdict", "answer", "score", "choice", "rating")


class Statement(NamedTuple):
    """A verdict in a text: the answer's name, its value, and where the text has it."""

    name: str
    value: float
    start: int
    end: int


def stated(text: str, scale: Scale, key: str) -> Statement | None:
    """The verdict that ``text`` opens with, or gives behind ``key`` ("Score: 5"); None where it
    has none, or more than one that differ."""
    found = statement_at(text, 0, scale)
    statements = [] if found is None else [found]
    for place in _labels(key).finditer(text):
        found = statement_at(text, place.end(), scale)
        if found is not None:
            statements.append(found)
    if len({s.name for s in statements}) != 1:
        return None
    return statements[0]


def _labels(key: str) -> re.Pattern[str]:
    words = "|".join(map(re.escape, dict.fromkeys([key, *_SAYERS])))
    return re.compile(rf"(?<!\w)(?:{words})[\"'*_`]*\s*[:=]\s*", re.IGNORECASE)


def statement_at(text: str, place: int, scale: Scale) -> Statement | None:
    """The verdict that stands right at ``place``, white space and quotes aside."""
    while place < len(text) and text[place] in OPENING:
        place += 1
    if isinstance(scale, Numbers):
        return _number_at(text, place, scale)
    return _choice_at(text, place, scale)


def _choice_at(text: str, place: int, scale: Choices) -> Statement | None:
    found = _word_at(text, place, scale)
    if found is None:
        return None
    choice, end = found
    after = _CLOSING.match(text, end)
    if after is None or not _END.match(text, after.end()):
        return None
    listed = _LIST.match(text, end)
    another = None if listed is None else _word_at(text, listed.end(), scale)
    if another is not None and another[0] != choice:
        closing = _CLOSING.match(text, another[1])
        if closing is None or _END.match(text, closing.end()):
            return None  # "Yes, No": the answers are named, none is given
    return Statement(choice.name, choice.value, place, end)


def _word_at(text: str, place: int, scale: Choices) -> tuple[Choice, int] | None:
    """The answer whose wording stands at ``place`` as words of its own: the longest, so that
    "not sure" is none of "not", and never a part of a word ("right" in "bright")."""
    best: tuple[Choice, int] | None = None
    for choice in scale.choices:
        for word in choice.words:
            end = place + len(word)
            if text[place:end].casefold() != word.casefold():
                continue
            if end < len(text) and (text[end].isalnum() or text[end] == "_"):
                continue
            if best is None or end > best[1]:
                best = choice, end
    return best


def _number_at(text: str, place: int, scale: Numbers) -> Statement | None:
    found = _NUMBER.match(text, place)
    if found is None or len(found[0]) > 20:
        return None
    value, end = float(found[0]), found.end()
    of = _OF.match(text, end)
    if of is not None:
        end = of.end()
        if of[1] and scale.high == 1:
            value /= 100
        elif (of[1] and scale.high != 100) or (of[2] and float(of[2]) != scale.high):
            return None  # another scale than was asked for
    if not _AFTER_NUMBER.match(text, end):
        return None
    return number(value, scale, place, found.end())


def number(value: float, scale: Numbers, start: int = 0, end: int = 0) -> Statement | None:
    """``value`` as a verdict; None where it is off the scale."""
    if not scale.low <= value <= scale.high or (scale.whole and not value.is_integer()):
        return None
    return Statement(f"{value:g}", value, start, end)
