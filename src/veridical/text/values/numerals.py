"""Parsing of numerals: figures, English words and Roman numerals."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from veridical.text.values.words import (
    MYRIADS,
    ORDINALS,
    PARTS,
    SCALES,
    SHORT_SCALES,
    SMALL,
    TENS,
    VULGAR,
)

_MAX_DIGITS = 40  # longer runs are identifiers
_MAX_WORDS = 12  # of one number
_HALF = Fraction(1, 2)
_FIGURES = re.compile(
    r"\d{1,3}(?:,\d{3})+(?![\d])(?:\.\d+)?"
    r"|\d{1,2}(?:,\d\d){1,9},\d{3}(?!\d)(?:\.\d+)?"
    r"|\d{1,3}(?:\.\d{3})+(?!\d)(?:,\d+)?"
    r"|\d{1,3}(?:'\d{3})+(?!\d)(?:[.,]\d+)?"
    r"|\d{1,3}(?: \d{3})+(?!\d|[.,:/-]\d)(?:[.,]\d+)?"
    r"|\d+[.,]\d+(?![,.]\d)|\d+\.\d+|\d+"
)
_POWER = re.compile(r"e([+-]?\d{1,3})(?![\w])|\s?[x×*·]\s?10(?:\^|\*\*)\{?([+-]?\d{1,3})\}?")
_RAISED = re.compile(r"\s?[x×·]\s?10([⁻⁺]?[⁰¹²³⁴-⁹]+)")
_ONLY_POWER = re.compile(r"10(?:\^\{?([+-]?\d{1,3})\}?(?!\d)|([⁻⁺]?[⁰¹²³⁴-⁹]{1,3}))")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = re.compile(rf" ?([{''.join(VULGAR)}])")
_OVER = re.compile(r" (\d{1,3})/(\d{1,3})(?![\d/])")
#: Emphasis marks between a number and its scale become blanks.
_SCALE = re.compile(
    rf"(?: {{0,6}}|-)({'|'.join(sorted(SCALES, key=len, reverse=True))})(?![^\W\d_])"
)
_SHORT_SCALE = re.compile(r"([kmbt])(?![^\W_])")
_MYRIAD = re.compile(rf" ?([{''.join(MYRIADS)}])")
_WORD = re.compile(r"[ -]*([a-z]+)(?![^\W_])")
_AND_PART = re.compile(
    r"(?: and (?:a|one) (half|third|quarter|fifth)| and (two|three) (thirds|quarters|fifths))\b"
)
_GROUPED = re.compile(r"\d{1,3}\.\d{3}")
_LIST_OPENS, _LIST_CLOSES = "([{", ")]}"


class Numeral(NamedTuple):
    """A number in ``[start:end]``; ``step`` is half of its last digit's unit."""

    start: int
    end: int
    amounts: tuple[Fraction, ...]
    step: Fraction
    text: str = ""
    spelt: bool = False
    ordinal: bool = False
    share: bool = False
    scaled: bool = False


@lru_cache(maxsize=8192)
def _amounts(token: str) -> tuple[tuple[Fraction, ...], Fraction] | None:
    """Return the readings of figures, and half of the last digit's unit."""
    if token.isdigit():
        return (Fraction(int(token)),), _HALF
    grouped = token.replace(" ", "").replace("'", "")
    commas, points = grouped.count(","), grouped.count(".")
    alternatives = [grouped]
    if commas and points:
        last = max(grouped.rfind(","), grouped.rfind("."))
        mark = grouped[last]
        other = "," if mark == "." else "."
        alternatives = [grouped.replace(other, "").replace(mark, ".")]
    elif commas:
        head, _, tail = grouped.rpartition(",")
        if commas > 1 or (len(tail) == 3 and head != "0"):
            alternatives = [grouped.replace(",", "")]
        else:
            alternatives = [grouped.replace(",", ".")]
    elif points > 1:
        alternatives = [grouped.replace(".", "")]
    elif points and _GROUPED.fullmatch(grouped) and grouped[0] != "0":
        alternatives = [grouped, grouped.replace(".", "")]
    fraction = alternatives[0].partition(".")[2]
    return tuple(Fraction(a) for a in alternatives), _HALF / 10 ** len(fraction)


def base_amount(token: str) -> Fraction | None:
    """Return the amount of figures without a scale."""
    read = _amounts(token) if token else None
    return read[0][0] if read else None


def leading_point(low: str, at: int) -> bool:
    """Return True if a point before the figures at ``at`` is a decimal point: ".75"."""
    if low[at - 1 : at] != "." or at < 1:
        return False
    return at < 2 or not (low[at - 2].isalnum() or low[at - 2] in "._)")


def figures(low: str, at: int, short_scale: bool) -> Numeral | None:
    """Parse the number in figures at ``at``.

    With ``short_scale`` an "m" after it means million.
    """
    power = _ONLY_POWER.match(low, at)
    if power:
        exponent = int((power[1] or power[2]).translate(_SUPERSCRIPTS))
        if abs(exponent) <= 30:
            return Numeral(at, power.end(), (Fraction(10) ** exponent,), Fraction(0), power[0])
    if low[at] in VULGAR:
        return Numeral(at, at + 1, (Fraction(*VULGAR[low[at]]),), Fraction(0), low[at], share=True)
    match = _FIGURES.match(low, at)
    if match is None:
        return None
    token = match[0]
    end = match.end()
    if leading_point(low, at) and token.isdigit() and len(token) < _MAX_DIGITS:
        unit = Fraction(1, 10 ** len(token))
        return Numeral(at - 1, end, (int(token) * unit,), unit / 2, f".{token}")
    if "," in token and token.count(",") == 1 and _in_list(low, at, end):
        token = token.partition(",")[0]
        end = at + len(token)
    if len(token) > _MAX_DIGITS:
        return None
    read = _amounts(token)
    if read is None:
        return None
    amounts, step = read
    nextchar = low[end : end + 1]
    if nextchar and nextchar in " ½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅐⅑⅒":
        if vulgar := _VULGAR.match(low, end):
            amounts = tuple(a + Fraction(*VULGAR[vulgar[1]]) for a in amounts)
            end = vulgar.end()
        elif (over := _OVER.match(low, end)) and 0 < int(over[1]) < int(over[2]):
            amounts = tuple(a + Fraction(int(over[1]), int(over[2])) for a in amounts)
            end = over.end()
        elif and_part := _AND_PART.match(low, end):
            amounts = tuple(a + _part(and_part) for a in amounts)
            end = and_part.end()
    scaled = False
    if (
        nextchar
        and nextchar in "e ×x*·"
        and (power := _POWER.match(low, end) or _RAISED.match(low, end))
    ):
        exponent = int(next(g for g in power.groups() if g).translate(_SUPERSCRIPTS))
        if abs(exponent) <= 30:
            factor = Fraction(10) ** exponent
            amounts, step = tuple(a * factor for a in amounts), step * factor
            end = power.end()
            scaled = True
    scale, end = _scale(low, end, short_scale)
    if scale != 1:
        amounts, step, scaled = (amounts[0] * scale,), step * scale, True
    return Numeral(at, end, amounts, step, token, scaled=scaled)


def _in_list(low: str, at: int, end: int) -> bool:
    before = low[at - 1 : at]
    after = low[end : end + 1]
    if before == "(" and end - low.find(",", at, end) == 4:  # "revenue was 2,340 (2,115)"
        return False
    return bool(before and before in _LIST_OPENS and after and after in _LIST_CLOSES)


def _part(match: re.Match[str]) -> Fraction:
    if match[1]:
        return PARTS[match[1]]
    return SMALL[match[2]] * PARTS[match[3]]


def _scale(low: str, end: int, short_scale: bool) -> tuple[int, int]:
    """Return the factor of the scale words after a number, and their end."""
    factor = 1
    char = low[end : end + 1]
    if not char:
        return 1, end
    if (
        char in "kmbt"
        and (short := _SHORT_SCALE.match(low, end))
        and (char == "k" or (short_scale and char != "t"))
    ):
        return SHORT_SCALES[char], short.end()
    if not char.isascii() or char == " ":
        myriad = _MYRIAD.match(low, end)
        if myriad:
            return MYRIADS[myriad[1]], myriad.end()
    while scale := _SCALE.match(low, end):  # "2 hundred thousand"
        factor *= SCALES[scale[1]]
        end = scale.end()
        if low[end : end + 1] == "." and scale[1] in ("mio", "mrd"):
            end += 1
        if factor > 10**15:
            break
    return factor, end


def spelt(low: str, at: int) -> Numeral | None:
    """Parse the number in English words that begins at ``at``."""
    total = current = 0
    amount: Fraction | None = None
    end = at
    ordinal = share = scaled = False
    decimals = ""
    seen = 0
    while seen < _MAX_WORDS:
        match = _WORD.match(low, end) if end > at else _WORD.match(low, at)
        if match is None:
            break
        word = match[1]
        if (word == "and" and current >= 100) or (word == "and" and total and not current):
            following = _WORD.match(low, match.end())
            if following is None or (following[1] not in SMALL and following[1] not in TENS):
                break
            if not _fits(current, SMALL.get(following[1], TENS.get(following[1], 0))):
                break
            if low.startswith(" hundred", following.end()):
                break
            end = match.end()
            continue
        if word == "point" and seen and not decimals:
            digits = _decimals(low, match.end())
            if digits is None:
                break
            decimals, end = digits
            break
        value = SMALL.get(word, TENS.get(word))
        if value is not None:
            if seen and not _fits(current, value):
                break
            current += value
        elif word in ("dozen", "dozens"):
            if word == "dozens":
                break
            current = (current or 1) * 12
        elif word == "hundred":
            if current >= 100:
                break
            current = (current or 1) * 100
        elif word in SCALES and seen and SCALES[word] >= 1000 and not word.endswith("s"):
            if current == 0:
                break
            total += current * SCALES[word]
            current = 0
            scaled = True
        elif word in PARTS and seen and 0 < total + current < 100 and not ordinal:
            if _is_part(low, word, match.end(), total + current):
                amount = (total + current) * PARTS[word]
                share = True
                end = match.end()
            elif word in ORDINALS and _fits(current, ORDINALS[word]):
                current += ORDINALS[word]
                ordinal = True
                end = match.end()
            break
        elif word in ORDINALS and _fits(current, ORDINALS[word]):
            current += ORDINALS[word]
            ordinal = True
            end = match.end()
            seen += 1
            break
        else:
            break
        seen += 1
        end = match.end()
    if amount is None:
        if not seen:
            return None
        amount = Fraction(total + current)
        if decimals:
            amount += Fraction(int(decimals), 10 ** len(decimals))
    if not ordinal and not share and (extra := _AND_PART.match(low, end)):
        amount += _part(extra)
        end = extra.end()
    if not ordinal and not share and (amount.denominator != 1 or decimals):
        factor, end = _scale(low, end, False)
        amount *= factor
    step = Fraction(0)
    return Numeral(at, end, (amount,), step, low[at:end], True, ordinal, share, scaled)


def _is_part(low: str, word: str, end: int, count: int) -> bool:
    if word.endswith("s") or word == "halves":
        return count > 1 or word != "seconds"
    if count != 1:
        return False
    following = _WORD.match(low, end)
    return word in ("half", "quarter") or following is None or following[1] in ("of", "the")


def _decimals(low: str, end: int) -> tuple[str, int] | None:
    digits = ""
    while len(digits) < 8 and (match := _WORD.match(low, end)) and SMALL.get(match[1], 10) < 10:
        digits += str(SMALL[match[1]])
        end = match.end()
    return (digits, end) if digits else None


def _fits(current: int, value: int) -> bool:
    """Return True if ``value`` may follow: "twenty" takes "five", "hundred" anything."""
    tens = current % 100
    if current == 0:
        return True
    return tens == 0 or (0 < value < 10 and tens >= 20 and tens % 10 == 0)


_ROMAN = re.compile(r"(?=[MDCLXVI])(M{0,3})(C[MD]|D?C{0,3})(X[CL]|L?X{0,3})(I[XV]|V?I{0,3})")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def roman(token: str) -> int | None:
    """Return the value of a Roman numeral in capitals, or None."""
    if not _ROMAN.fullmatch(token):
        return None
    values = [_ROMAN_DIGITS[c] for c in token]
    return sum(-v if any(w > v for w in values[i + 1 : i + 2]) else v for i, v in enumerate(values))
