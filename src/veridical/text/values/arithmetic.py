"""Calculations in a statement: "44 euros (4 x 8.50 + 2 x 5)"."""

from __future__ import annotations

import re
from fractions import Fraction

from veridical.text.values.places import Text
from veridical.text.values.value import Value

_NUMBER = r"[$€£]? ?(?:\d{1,3}(?:,\d{3})+|\d{1,12})(?:\.\d{1,6})?(?: ?(?:€|\$|£|eur|usd|gbp|chf))?"
_TERMS = re.compile(rf"{_NUMBER}(?: ?[x×*+\-/÷] ?{_NUMBER}){{1,12}}(?![\w%])")
_OPERATOR = re.compile(r" ?([x×*+\-/÷]) ?")
_FIGURE = re.compile(r"\d[\d,]*(?:\.\d+)?")
_IN_BRACKETS = re.compile(rf"\(({_NUMBER}(?: [x×*+\-/÷] {_NUMBER}){{1,12}})\)")
_EQUALS = re.compile(r" ?= ?")
_OPENS, _CLOSES = re.compile(r" ?[(=] ?"), re.compile(r" ?[).,;=]|$")
_BESIDE = re.compile(r"[ ,]*\(?(?:i\.e\. )?")
_FROM = re.compile(r"(?<![^\W_])from $")
_SLACK = Fraction(5, 100)  # of a percentage, for rounding


def own_result(text: Text, value: Value) -> bool | None:
    """Return True if a calculation next to ``value`` gives it, False if it gives another amount.

    Calculations are terms in brackets after the value or before "=", and for a percentage the two
    amounts of "by 20 % (from 60 to 72)". None if there is no such calculation.
    """
    if value.kind == "percent":
        return _own_change(text, value)
    if value.kind not in ("count", "money", "duration", "measure") or value.amount is None:
        return None
    if value.written is not None and _bracketed(text, value):
        return True
    for terms, ends in _terms_beside(text.low, value):
        result = _result(terms)
        if result is None or (not ends and not set(terms) & set("x×*+÷")):
            continue
        amounts = {value.amount, value.written}
        slack = max(value.readings[0].step, abs(result) / 200)
        return any(a is not None and abs(result - a) <= slack for a in amounts)
    return None


def _bracketed(text: Text, value: Value) -> bool:
    """Return True if terms in brackets of the same sentence give the number of ``value``."""
    start, end = text.sentence(value.start)
    for terms in _IN_BRACKETS.finditer(text.low, start, end):
        if _result(terms[1]) == value.written:
            return True
    return False


def _terms_beside(low: str, value: Value) -> list[tuple[str, bool]]:
    """Return the terms after and before ``value``, and True if "=" joins them to it."""
    found: list[tuple[str, bool]] = []
    if opens := _OPENS.match(low, value.end):
        terms = _TERMS.match(low, opens.end())
        if terms is not None and _CLOSES.match(low, terms.end()):
            found.append((terms[0], "=" in opens[0]))
    line = low.rfind("\n", 0, value.start) + 1
    for terms in _TERMS.finditer(low, max(line, value.start - 160), value.start):
        gives = _EQUALS.match(low, terms.end())
        if gives is not None and gives.end() == value.start:
            found.append((terms[0], True))
    return found


def _result(terms: str) -> Fraction | None:
    """Return the value of terms, with products before sums."""
    parts = _OPERATOR.split(terms)
    figures = [_FIGURE.search(part) for part in parts[::2]]
    numbers = [Fraction(m[0].replace(",", "")) for m in figures if m]
    if len(numbers) != len(figures):
        return None
    total, product, sign = Fraction(0), numbers[0], 1
    for operator, number in zip(parts[1::2], numbers[1:], strict=True):
        if operator in "+-":
            total += sign * product
            product, sign = number, 1 if operator == "+" else -1
        elif operator in "/÷":
            if not number:
                return None
            product /= number
        else:
            product *= number
    return total + sign * product


def _own_change(text: Text, value: Value) -> bool | None:
    for pair in text.values:
        if pair.kind not in ("range", "pair") or len(pair.parts) != 2 or not pair.parts[0]:
            continue
        if pair.dimension == value.dimension or value.amount is None:
            continue
        head = _FROM.search(text.low, max(0, pair.start - 8), pair.start)
        start = head.start() if head else pair.start
        if not head or not _BESIDE.fullmatch(text.low, value.end, start):
            continue
        change = abs(pair.parts[1] - pair.parts[0]) / abs(pair.parts[0])
        gap = abs(change - abs(value.amount))
        return gap <= max(2 * value.readings[0].step, change * _SLACK)
    return None
