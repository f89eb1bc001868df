"""Verdict probabilities from the token alternatives at the verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from veridical.core.records import TokenLogprob
from veridical.llm.statements import OPENING
from veridical.prompts import Choices, Numbers, Scale

_LONGEST = 16  # maximum tokens of one verdict
_DIGITS = re.compile(r"[0-9]+")
_BEFORE = re.compile(r"\s*(?:<\|[^<>|]*\|>\s*)*(?:```[A-Za-z]*\s*)?")
_AFTER = re.compile(r"\s*(?:```\s*)?(?:<[^<>\s]{1,40}>\s*)*")
_OPEN = ""  # marker: the text so far may still become several answers


class Spread(NamedTuple):
    """Probability mass by answer (not normalised), and mass that may still become an answer."""

    mass: dict[str, float]
    undecided: float

    @property
    def total(self) -> float:
        return sum(self.mass.values())


def spread(
    tokens: Sequence[TokenLogprob],
    text: str,
    place: int,
    scale: Scale,
    stated: bool,
    *,
    cut: bool = False,
) -> Spread | None:
    """Compute the mass of the answers of ``scale`` at offset ``place`` of ``text``.

    A token counts as soon as no other answer can begin with it. While several can, the written
    tokens are followed. Numbers with fractions are not read: their first digits do not determine
    the number. Where tokens have no alternatives, the unstated one of two answers gets the
    remainder of the stated one (as UQLM's P(True) is 1 - P(False)). With more than two answers, one
    probability does not determine the others.

    Args:
        stated: the text has an answer there, so its first letters do become that answer. What
            follows them is ignored: under a schema, models are made to spell answers in improbable
            tokens.
        cut: the text was cut, so its last token is read like its alternatives, whose continuation
            is unknown too.

    Returns:
        The mass. None if the tokens do not spell the text, needed alternatives are missing, their
            probabilities exceed 1 in total, or no answer has any.
    """
    if isinstance(scale, Numbers) and not scale.whole:
        return None
    beginning = _token_at(tokens, text, place)
    if beginning is None:
        return None
    first, head = beginning
    mass: dict[str, float] = {}
    undecided, reach, prefix = 0.0, 1.0, ""
    either = isinstance(scale, Choices) and len(scale.choices) == 2 and stated
    alone = True
    for i, token in enumerate(tokens[first : first + _LONGEST], first):
        own = token.logprob
        if own is None:
            return None
        here = {a.token: a.logprob for a in token.top} | {token.token: own}
        alone = alone and len(here) == 1
        if (len(here) == 1 and not either) or sum(map(math.exp, here.values())) > 1.01:
            return None
        followed = not (cut and i == len(tokens) - 1)
        tails = {t: t[len(head) :] if t.startswith(head) else None for t in here}
        splits = not any(len(d) > 1 for t in here for d in _DIGITS.findall(t))
        going_on = False
        for alternative, logprob in here.items():
            tail, written = tails[alternative], followed and alternative == token.token
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
        if not alone or prefix.strip(OPENING):  # quotes alone before the answer carry no signal
            reach *= math.exp(min(0.0, own))
        head = ""
    else:
        answer = _answer(prefix + "\n", scale, False, True, stated)  # the text ends here
        if answer:
            mass[answer] = mass.get(answer, 0.0) + reach
    if either and alone and isinstance(scale, Choices) and len(mass) == 1:
        (known,) = mass.values()
        mass |= {c.name: 1.0 - known for c in scale.choices if c.name not in mass}
    return Spread(mass, undecided) if sum(mass.values()) > 0 else None


def _token_at(tokens: Sequence[TokenLogprob], text: str, place: int) -> tuple[int, str] | None:
    """Return the token that contains ``text[place]``, and its part before it."""
    spelled = "".join(t.token for t in tokens)
    shift = spelled.rfind(text)  # servers leave out reasoning, code fences and end-of-turn tokens
    if shift < 0:
        return None
    before = spelled[:shift].rpartition("</think>")[2]
    if not (_BEFORE.fullmatch(before) and _AFTER.fullmatch(spelled[shift + len(text) :])):
        return None
    place, start = place + shift, 0
    for i, token in enumerate(tokens):
        end = start + len(token.token)
        if start <= place < end:
            head = token.token[: place - start]
            return i, head if head.strip(OPENING) else ""
        start = end
    return None


def _answer(token: str, scale: Scale, splits: bool, written: bool, stated: bool) -> str | None:
    """Return the answer that ``token`` begins; _OPEN if several can follow, None if none.

    Args:
        splits: tokens contain one digit each, so a number may continue.
        written: the model wrote this token, so later tokens add information.
        stated: the written text is an answer.
    """
    token = token.lstrip(OPENING)
    if not token:
        return _OPEN
    if isinstance(scale, Numbers):
        return _number(token, scale, splits)
    return _choice(token.casefold(), scale, written, stated)


def _choice(token: str, scale: Choices, written: bool, stated: bool) -> str | None:
    begun, whole_words = set(), set()
    for choice in scale.choices:
        for word in map(str.casefold, choice.words):
            if word.startswith(token):
                begun.add(choice.name)
                if not word[len(token) : len(token) + 1].isalnum():
                    whole_words.add(choice.name)
            elif token.startswith(word) and not token[len(word)].isalnum():
                return choice.name
    if not begun:
        return None
    if len(begun) == 1:
        # a single letter begins too many other words, unless it is known to have become an answer
        sure = whole_words or (stated if written else len(token) > 1)
        return begun.pop() if sure else _OPEN
    if len(whole_words) == 1 and not written:
        return whole_words.pop()  # "I" is a whole word in "I am not sure", a letter in "Incorrect"
    return _OPEN


def _number(token: str, scale: Numbers, splits: bool) -> str | None:
    digits = _DIGITS.match(token)
    if digits is None or len(digits[0]) > 9:
        return None
    value, rest = float(digits[0]), token[digits.end() :]
    if rest == ".":
        return _OPEN
    if rest[:1] == "." and rest[1].isdigit():
        return None
    grows = not rest and digits[0][0] != "0" and value * 10 <= scale.high
    if not scale.low <= value <= scale.high:
        return _OPEN if grows else None
    return _OPEN if grows and splits else f"{value:g}"
