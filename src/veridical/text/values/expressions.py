"""Short mathematical expressions in LaTeX or plain notation, compared numerically."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isfinite, pi, sqrt

_MAX_LENGTH = 200
_MAX_DEPTH = 30
#: Values of variables, equal for both sides.
_POINTS = (0.37, 1.91, 2.73)
_COMMANDS = (
    # of a string whose backslashes are doubled
    (
        re.compile(r"(?<!\\)\\\\(?=(?:[dt]?frac|sqrt|pi|cdot|times|text|left|right)(?![a-z]))"),
        r"\\",
    ),
    (re.compile(r"\\begin\{[a-z]*matrix\}|\\end\{[a-z]*matrix\}"), " "),
    (re.compile(r"\\(?:left|right|displaystyle|mathrm|text|operatorname|,|;|!|quad|ldots)"), ""),
    (re.compile(r"\\[dt]?frac"), "\\\\frac"),
    (re.compile(r"\\(?:cdot|times)"), "*"),
    (re.compile(r"\\div"), "/"),
    (re.compile(r"\\\\"), ";"),
    (re.compile(r"\\(?:infty|infinity)"), "∞"),
    (re.compile(r"\\[{]"), "{"),
    (re.compile(r"\\[}]"), "}"),
    (re.compile(r"\\%"), "%"),
)
_FRACTION = re.compile(r"\\frac ?(?:\{([^{}]*)\}|(\w)) ?(?:\{([^{}]*)\}|(\w))")
_MIXED = re.compile(r"(?<![\w.,^}])(\d+) ?\\frac\{(\d+)\}\{(\d+)\}")
_ROOT = re.compile(r"\\sqrt\{([^{}]*)\}|\\sqrt (\w)|√(\w+)|√\(([^()]*)\)")
_POWER = re.compile(r"\^\{([^{}]*)\}")
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*|\.\d+)|(sqrt|pi|[a-zA-Zπ])|(\*\*|[-+*/^()]))")
_EXPRESSION = re.compile(r"[\w\s.,;:+\-*/^=(){}\[\]|\\√π∞!<>≤≥%]+")
_MATH = re.compile(
    r"\\(?:frac|dfrac|tfrac|sqrt|pi|begin)|[\^√π∞]|\d[a-z]\b|[a-z]\d|^[\[({].*[\])}]$|[+*=]|"
    r"\w\s*/\s*\w|\bpi\b"
)
_OPENS, _CLOSES = "([{", ")]}"


def plain_math(text: str) -> str:
    """Convert LaTeX commands in ``text`` to plain notation."""
    for pattern, new in _COMMANDS:
        text = pattern.sub(new, text)
    for _ in range(4):  # nested fractions
        before = text
        text = _POWER.sub(r"^(\1)", text)
        text = _ROOT.sub(lambda m: f"sqrt({next(g for g in m.groups() if g is not None)})", text)
        text = _MIXED.sub(r"(\1+((\2)/(\3)))", text)
        text = _FRACTION.sub(lambda m: f"(({m[1] or m[2] or ''})/({m[3] or m[4] or ''}))", text)
        if text == before:
            break
    return text.replace("\\pi", "pi").replace("π", "pi").strip()


def same_expression(one: str, other: str) -> bool | None:
    """Return True if two expressions, intervals, tuples or sets are equal.

    The result is None if one of them is not an expression.
    """
    if max(len(one), len(other)) > _MAX_LENGTH:
        return None
    a, b = plain_math(one), plain_math(other)
    if not (_is_math(one, a) and _is_math(other, b)):
        return None
    if a.replace(" ", "") == b.replace(" ", ""):
        return True
    parts_a, parts_b = _parts(a), _parts(b)
    if parts_a and parts_b:
        return _same_parts(parts_a, parts_b)
    if bool(parts_a) != bool(parts_b):
        return False
    if "=" in a or "=" in b:
        a, b = a.rpartition("=")[2], b.rpartition("=")[2]
    x, y = _values(a), _values(b)
    if x is None or y is None:
        return None
    return all(abs(p - q) <= 1e-9 * max(1.0, abs(p)) for p, q in zip(x, y, strict=True))


def _is_math(text: str, plain: str) -> bool:
    if not plain or _EXPRESSION.fullmatch(plain) is None:
        return False
    words = re.findall(r"[a-zA-Z]{2,}", plain)
    if any(w not in ("sqrt", "pi") for w in words):
        return False
    return _MATH.search(text.strip()) is not None or any(c.isdigit() for c in plain)


def _parts(text: str) -> tuple[str, list[str], str] | None:
    """Return the brackets and items of an interval, tuple or set; a matrix's items are its rows."""
    text = text.strip()
    if ";" in text and text[:1] not in _OPENS:
        text = f"({text.replace(';', ',')})"
    if len(text) < 3 or text[0] not in _OPENS or text[-1] not in _CLOSES:
        return None
    items: list[str] = []
    depth, start = 0, 1
    for i, char in enumerate(text[1:-1], start=1):
        depth += (char in _OPENS) - (char in _CLOSES)
        if depth < 0:
            return None
        if char in ",;" and depth == 0:
            items.append(text[start:i])
            start = i + 1
    if not items:
        return None
    items.append(text[start:-1])
    return text[0], items, text[-1]


def _same_parts(a: tuple[str, list[str], str], b: tuple[str, list[str], str]) -> bool:
    if (a[0], a[2]) != (b[0], b[2]) or len(a[1]) != len(b[1]):
        return False
    mine, yours = a[1], b[1]
    if a[0] == "{":
        mine, yours = sorted(x.strip() for x in mine), sorted(x.strip() for x in yours)
    return all(_same_item(x, y) for x, y in zip(mine, yours, strict=True))


def _same_item(x: str, y: str) -> bool:
    if x.strip() == y.strip():
        return True
    p, q = _values(x), _values(y)
    return (
        p is not None
        and q is not None
        and all(abs(i - j) <= 1e-9 * max(1.0, abs(i)) for i, j in zip(p, q, strict=True))
    )


def _values(text: str) -> list[float] | None:
    """Evaluate an expression at a few points, or return None."""
    tokens = _tokens(text)
    if not tokens:
        return None
    found = []
    for point in _POINTS:
        try:
            value, at = _sum(tokens, 0, point, 0)
        except (ValueError, ZeroDivisionError, OverflowError, IndexError):
            return None
        if at != len(tokens) or isinstance(value, complex) or not isfinite(value):
            return None
        found.append(value)
    return found


def _tokens(text: str) -> list[str] | None:
    tokens: list[str] = []
    at = 0
    text = text.replace("{", "(").replace("}", ")").strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        tokens.append(next(g for g in match.groups() if g))
        at = match.end()
    return tokens


def _sum(tokens: Sequence[str], at: int, x: float, depth: int) -> tuple[float, int]:
    if depth > _MAX_DEPTH:
        raise ValueError("too deep")
    value, at = _product(tokens, at, x, depth)
    while at < len(tokens) and tokens[at] in "+-":
        right, end = _product(tokens, at + 1, x, depth)
        value, at = (value + right if tokens[at] == "+" else value - right), end
    return value, at


def _product(tokens: Sequence[str], at: int, x: float, depth: int) -> tuple[float, int]:
    value, at = _power(tokens, at, x, depth)
    while at < len(tokens):
        token = tokens[at]
        if token in ("*", "/"):
            right, end = _power(tokens, at + 1, x, depth)
            value, at = (value * right if token == "*" else value / right), end
        elif token == "(" or token[0].isalnum():
            right, at = _power(tokens, at, x, depth)
            value *= right
        else:
            break
    return value, at


def _power(tokens: Sequence[str], at: int, x: float, depth: int) -> tuple[float, int]:
    if tokens[at] == "-":
        value, at = _power(tokens, at + 1, x, depth + 1 if depth <= _MAX_DEPTH else depth)
        return -value, at
    value, at = _atom(tokens, at, x, depth)
    if at < len(tokens) and tokens[at] in ("^", "**"):
        exponent, at = _power(tokens, at + 1, x, depth + 1)
        if abs(exponent) > 400:
            raise OverflowError
        value = value**exponent
        if isinstance(value, complex):
            raise ValueError("complex")
    return value, at


def _atom(tokens: Sequence[str], at: int, x: float, depth: int) -> tuple[float, int]:
    token = tokens[at]
    if depth > _MAX_DEPTH:
        raise ValueError("too deep")
    if token == "(":
        value, at = _sum(tokens, at + 1, x, depth + 1)
        if tokens[at] != ")":
            raise ValueError("open")
        return value, at + 1
    if token == "sqrt":
        value, at = _atom(tokens, at + 1, x, depth + 1)
        return sqrt(value), at
    if token == "pi":
        return pi, at + 1
    if token[0].isdigit() or token[0] == ".":
        return float(token), at + 1
    if token.isalpha():
        return x * (1 + 0.173 * (ord(token) % 31)), at + 1
    raise ValueError(token)
