"""The probability of each verdict, from the alternatives at the place where one was written."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from veridical.llm.prompts import Choices, Numbers, Scale
from veridical.llm.statements import OPENING
from veridical.records import TokenLogprob

_LONGEST = 16  # tokens that one verdict may take
_DIGITS = re.compile(r"[0-9]+")
_OPEN = ""  # the text so far may become more than one of the answers


class Spread(NamedTuple):
    """Probability mass by answer (not normalised), and of what may still become an answer."""

    mass: dict[str, float]
    undecided: float

    @property
    def total(self) -> float:
        return sum(self.mass.values())


def spread(
    tokens: Sequence[TokenLogprob], text: str, place: int, scale: Scale, stated: bool
) -> Spread | None:
    """Mass of the answers of ``scale`` where the verdict begins at offset ``place`` of ``text``.

    A token counts as soon as no other answer can begin as it does. While several can, the tokens
    that were written are followed. Numbers with fractions are not read: their first digits say
    nothing of the whole.

    Args:
        stated: the text has an answer there, so its first letters do become that answer. (What
            follows them is left aside: held to a schema, models are made to spell answers in
            tokens that they would never take.)

    Returns:
        None where the tokens do not spell the text, one has no alternatives, or their
        probabilities add up to more than 1, or no answer has any.
    """
    if isinstance(scale, Numbers) and not scale.whole:
        return None
    found = _token_at(tokens, text, place)
    if found is None:
        return None
    first, head = found
    mass: dict[str, float] = {}
    undecided, reach, prefix = 0.0, 1.0, ""
    for token in tokens[first : first + _LONGEST]:
        here = {a.token: a.logprob for a in token.top} | {token.token: token.logprob}
        # one probability alone tells nothing of the other answers
        if len(here) < 2 or sum(map(math.exp, here.values())) > 1.01:
            return None
        tails = {t: _tail(t, head) for t in here}
        splits = not any(len(d) > 1 for t in here for d in _DIGITS.findall(t))
        going_on = False
        for alternative, logprob in here.items():
            tail, written = tails[alternative], alternative == token.token
            if tail is None:
                continue
            answer = _answer(prefix + tail, scale, splits, written, stated)
            weight = reach * math.exp(min(0.0, logprob))
            if answer == _OPEN and written:
                going_on = True
            elif answer == _OPEN:
                undecided += weight
            elif answer is not None:
                mass[answer] = mass.get(answer, 0.0) + weight
        if not going_on:
            break
        prefix += tails[token.token] or ""
        reach *= math.exp(min(0.0, token.logprob))
        head = ""
    else:
        answer = _answer(prefix + "\n", scale, False, True, stated)  # the text ends here
        if answer:
            mass[answer] = mass.get(answer, 0.0) + reach
    made = Spread(mass, undecided)
    return made if made.total > 0 else None


def _token_at(tokens: Sequence[TokenLogprob], text: str, place: int) -> tuple[int, str] | None:
    """The token in which ``text[place]`` stands, and what it has before."""
    spelled = "".join(t.token for t in tokens)
    if spelled != text and spelled.count(text) != 1:
        return None
    shift = spelled.find(text)  # servers leave out a code fence, or what ends the turn
    place, start = place + shift, 0
    for i, token in enumerate(tokens):
        end = start + len(token.token)
        if start <= place < end:
            head = token.token[: place - start]
            return i, head if head.strip(OPENING) else ""
        start = end
    return None


def _tail(token: str, head: str) -> str | None:
    if not token.startswith(head):
        return None
    return token[len(head) :]


def _answer(said: str, scale: Scale, splits: bool, written: bool, stated: bool) -> str | None:
    """The answer that ``said`` begins, _OPEN while several can follow, None if it begins none.

    Args:
        splits: tokens hold one digit each, so a number may go on.
        written: the model wrote this, so that what follows tells more.
        stated: what was written is an answer.
    """
    said = said.lstrip(OPENING)
    if not said:
        return _OPEN
    if isinstance(scale, Numbers):
        return _number(said, scale, splits)
    return _choice(said.casefold(), scale, written, stated)


def _choice(said: str, scale: Choices, written: bool, stated: bool) -> str | None:
    begun, whole_words = set(), set()
    for choice in scale.choices:
        for word in map(str.casefold, choice.words):
            if word.startswith(said):
                begun.add(choice.name)
                if not word[len(said) : len(said) + 1].isalnum():
                    whole_words.add(choice.name)
            elif said.startswith(word) and not said[len(word)].isalnum():
                return choice.name
    if not begun:
        return None
    if len(begun) == 1:
        # a single letter begins too much else, unless it is known to have become an answer
        sure = whole_words or (stated if written else len(said) > 1)
        return begun.pop() if sure else _OPEN
    if len(whole_words) == 1 and not written:
        return whole_words.pop()  # "I": of "I am not sure" a word, of "Incorrect" a letter
    return _OPEN


def _number(said: str, scale: Numbers, splits: bool) -> str | None:
    digits = _DIGITS.match(said)
    if digits is None or len(digits[0]) > 9:
        return None
    value, rest = float(digits[0]), said[digits.end() :]
    if rest == ".":
        return _OPEN
    if rest[:1] == "." and rest[1].isdigit():
        return None
    grows = not rest and digits[0][0] != "0" and value * 10 <= scale.high
    if not scale.low <= value <= scale.high:
        return _OPEN if grows else None
    return _OPEN if grows and splits else f"{value:g}"
