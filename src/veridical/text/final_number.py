"""The final number of a response.

It is the number of a marked final answer: "#### 18", a box, "the answer is 18", "A: 18". Otherwise
it is the last number of the text, as is common in grading GSM8K and SVAMP.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction
from typing import NamedTuple

from veridical.text.values.numerals import spelt
from veridical.text.values.words import SMALL, TENS

_MAX_DIGITS = 40  # of a number
_MARKED_ANSWER_CHARACTERS = 200  # searched after an answer's mark

_SPACES = {"\u2009": "\u202f", "\u00a0": "\u202f"}  # thousands separators in one form
_DASHES = {"\u2212": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-", "\u2014": " - "}
_PLAIN = str.maketrans({**_SPACES, **_DASHES, "\u2044": "/"})
_LATEX = (
    (re.compile(r"\\[dt]?frac\s*\{(\d+)\}\s*\{(\d+)\}"), r"\1/\2"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\*\*|__|`|\\(?:text|mathrm)\b|\\[,()\[\]]"), ""),
)
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_WHOLE = (
    r"\d{1,3}(?:,\d{2,3}){0,40},\d{3}(?!\d)|\d{1,3}(?:\u202f\d{3})+(?!\d)"
    # "5 100" may be two numbers, "5 000" not
    r"|\d{1,3}(?: \d{3}){0,40} 0\d\d(?: \d{3})*(?!\d)|\d+"
)
_NUMBER = re.compile(
    rf"(?:(?P<whole>{_WHOLE})(?P<point>\.\d+)?|(?P<bare>(?<![\d.])\.\d+)|(?=[{_VULGAR}]))"
    r"(?:(?<=\d)e(?P<power>[+-]?\d+))?"
    rf"(?:\s?(?P<vulgar>[{_VULGAR}])|(?<=\d)(?:\s(?P<over>\d{{1,3}}))?/(?P<under>\d+))?"
    r"(?:(?P<percent>\s?%|\s(?:percent|per\scent)\b)|\s?(?P<scale>(?:thous|mill|bill|trill)\w+))?",
    re.I,
)
#: Words that are rarely figures, used only if there is no other number.
_SMALL = frozenset(["zero", "one"])
_NUMBER_WORD = re.compile(
    rf"(?<![^\W_])(?:{'|'.join([*SMALL, *TENS, 'hundred', 'dozen'])})(?![^\W_])"
)
_NEGATIVE = re.compile(r"(?:(?:^|\s)-|negative )$")
_PERCENT = re.compile(r" (?:percent|per cent)\b| ?%")
_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
#: Text after figures that makes them something else: a power, a time, a date, a rank, a decade.
_OTHER_AFTER = re.compile(r"\^|[:.,/]\d|\d|(?:st|nd|rd|th|s)\b", re.I)
_CURRENCY = re.compile(r"(?:(?:(?:\bUS|\b[AC])?\$|[€£¥₹₩₽]|\b(?:USD|EUR|GBP|Rs\.?))\s?)+\Z")
_FINAL = re.compile(
    r"####|\\boxed\b|^[^\S\n]*(?:final\s+)?(?:answer|a)\s*:"
    r"|\banswer\b[^.:=\n\d]{0,60}?(?:\b(?:is|was|would\s+be)\b(?!\s+not\b)|[:=])",
    re.I | re.M,
)
#: "minus five": a sign, unless a number to subtract from precedes it.
_SIGN_WORD = re.compile(r"(?:\bminus|(?<!-)\bnegative)\s+(?=[\w$€£¥.])", re.I)
_BEFORE_SIGN = re.compile(
    r"(?:\A|[\n:=(,;]|\b(?:is|was|be|are|of|to|at|by|equals|about|exactly))\Z", re.I
)
_MAX_SIGN_WORD_CHARACTERS = 8
_ENDS = re.compile(r"\S\s*?(?:\n|[.!?](?:\s|$))")


class Number(NamedTuple):
    """A number as written in a text.

    ``percent`` is True if "%" or a word for it follows.
    """

    value: Fraction
    percent: bool

    def equals(self, gold: Number) -> bool:
        """Return True if both are equal to six digits.

        50 % equals 0.5 and, if the gold number is 50, also 50.
        """
        if _close(self.value, gold.value):
            return True
        if self.percent and not gold.percent:
            return _close(self.value / 100, gold.value)
        return gold.percent and not self.percent and _close(self.value * 100, gold.value)


def final_number(text: str) -> tuple[Number | None, str]:
    """Return the number that ``text`` gives as its answer, and how it was found."""
    plain = _plain(text)
    for m in reversed(list(_FINAL.finditer(plain))):
        following = plain[m.end() : m.end() + _MARKED_ANSWER_CHARACTERS]
        end = _ENDS.search(following)
        clause = following[: end.end()] if end else following
        numbers = _numbers(clause.rpartition("=")[2]) or _numbers(clause) or _spelt(clause)
        if numbers:
            return numbers[0], "the number after the answer's mark"
    numbers = _numbers(plain) or _spelt(plain)
    return (numbers[-1], "the last number") if numbers else (None, "no number in the response")


def _numbers(text: str) -> list[Number]:
    """Return numbers in digits, in order, without figures that are part of something else."""
    numbers = []
    for m in _NUMBER.finditer(text):
        if _OTHER_AFTER.match(text, m.end()):
            continue
        sign = _sign(text, m.start())
        value = _value(m)
        if sign is not None and value is not None:
            numbers.append(Number(sign * value, m["percent"] is not None))
    return numbers


def _sign(text: str, start: int) -> int | None:
    """Return 1, or -1 after a minus; None if the figures at ``start`` are part of a word.

    A minus must not follow a number to subtract from, and has no space after it.
    """
    head = _CURRENCY.sub("", text[max(0, start - 12) : start])
    last, before = head[-1:], head[-2:-1]
    if last == "-":
        before = _CURRENCY.sub("", head[:-1])[-1:]
        if before.isascii() and before.isalpha():
            return None
        return 1 if before.isdigit() or before in tuple(")%-") else -1
    if last in ("_", "^") or (last.isascii() and last.isalpha()):
        return None
    return None if last in tuple(".,:/") and before.isdigit() else 1


def _value(m: re.Match[str]) -> Fraction | None:
    """Return the value of the figures without their sign; None if they are not a valid number."""
    whole = re.sub("[, \u202f]", "", m["whole"] or "0")
    if len(m[0]) > _MAX_DIGITS or len(m["power"] or "") > 3:
        return None
    value = Fraction(f"{whole}{m['point'] or m['bare'] or ''}e{m['power'] or 0}")
    if m["vulgar"]:
        value += Fraction(unicodedata.numeric(m["vulgar"])).limit_denominator(100)
    elif m["under"]:
        under, over = int(m["under"]), m["over"]
        if not under or (over and int(over) >= under):
            return None
        value = value + Fraction(int(over), under) if over else value / under
    return value * _SCALES.get((m["scale"] or "").lower().removesuffix("s"), 1)


def _spelt(text: str) -> list[Number]:
    """Return numbers in English words, for texts without digits."""
    text = text.lower()
    found: list[Number] = []
    small: list[Number] = []
    done = 0
    for match in _NUMBER_WORD.finditer(text):
        if match.start() < done:
            continue
        number = spelt(text, match.start())
        if number is None or number.ordinal:
            continue
        done = number.end
        sign = -1 if _NEGATIVE.search(text, max(0, match.start() - 12), match.start()) else 1
        percent = _PERCENT.match(text, number.end) is not None
        value = Number(sign * number.amounts[0], percent)
        alone = text[match.start() : number.end].strip() in _SMALL
        (small if alone else found).append(value)
    return found or small


def _plain(text: str) -> str:
    """Normalise digits, signs and LaTeX; a raised digit becomes "^" and the digit."""
    plain = text.translate(_PLAIN)
    for pattern, replacement in _LATEX:
        plain = pattern.sub(replacement, plain)
    plain = _with_signs(plain)
    return plain if plain.isascii() else "".join(map(_ascii, plain))


def _with_signs(text: str) -> str:
    """Replace each word for a negative sign by a minus."""
    pieces: list[str] = []
    at = 0
    for word in _SIGN_WORD.finditer(text):
        if text[word.start()] in "mM" and not _opens(text, at, word.start()):
            continue
        pieces += [text[at : word.start()], "-"]
        at = word.end()
    return "".join([*pieces, text[at:]])


def _opens(text: str, start: int, end: int) -> bool:
    """Return True if ``text[start:end]`` ends with nothing to subtract from.

    Final white space and stars are ignored.
    """
    before = end
    while before > start and (text[before - 1].isspace() or text[before - 1] == "*"):
        before -= 1
        if text[before] == "\n":
            return True
    # the previous character decides if a word begins there
    first = max(start, before - _MAX_SIGN_WORD_CHARACTERS)
    return _BEFORE_SIGN.search(text, first, before) is not None


def _ascii(c: str) -> str:
    if c.isascii() or not c.isdigit():
        return c
    digit = str(unicodedata.digit(c))
    return digit if c.isdecimal() else f"^{digit}"


def _close(a: Fraction, b: Fraction) -> bool:
    return a == b or abs(a - b) <= Fraction(2, 10**6) * min(abs(b), Fraction(1))
