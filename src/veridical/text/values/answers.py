"""Equality of short answers in any notation."""

from __future__ import annotations

import json
import re
from typing import Any

from veridical.text.memo import kept
from veridical.text.values.compare import findings
from veridical.text.values.expressions import plain_math, same_expression
from veridical.text.values.folding import folded, lowered
from veridical.text.values.places import Text, placed
from veridical.text.values.value import Value, equal

_MAX_ANSWER = 300  # characters of a short answer
_MAX_TEXT = 20_000
_MAX_JSON = 20_000
_MAX_ITEMS = 30
_SHORT_WORDS = 6
_MAX_ITEM = 60  # characters of a list's item
_FENCE = re.compile(r"```[\w-]*\n(.*?)```", re.S)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")
_MARK = re.compile(
    r"####\s*|(?:^|(?<=[\s(*_]))(?:the\s+|my\s+)?(?:final\s+|correct\s+|right\s+)?"
    r"(?:answer|antwort|option|choice|result|solution)\b\**\s*"
    r"(?:(?:\bis\b|\bwould be\b)\s*:?|[:=])\s*(?!not\b)|^[^\S\n]*a\s*:\s*",
    re.I | re.M,
)
_WRAPPING = (
    (re.compile(r"\\\(|\\\)|\\\[|\\\]|\$\$?(?=[^\d]|$)|\*\*|__|`|\$(?=.*\$)"), ""),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\([%$])"), r"\1"),
)
_LETTER = re.compile(
    r"(?:option|choice|answer)?\s*[(\[]?\s*([A-J])\s*(?:[)\].:]+(?:\s.*)?|\s*)", re.S
)
_YES_NO = re.compile(
    r"(?:(yes|yeah|yep|true|correct|ja|oui|sí|si|sim|да)|"
    r"(no|nope|false|incorrect|nein|non|não|нет))(?![^\W_])",
    re.I,
)
_EITHER = re.compile(r"(?<![^\W_])(?:or|either|oder|ou)(?![^\W_])", re.I)
_NOT = re.compile(r"(?<![^\W_])(?:not|never|neither|nor|isn't|nicht|kein\w*)(?![^\W_])", re.I)
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_SEPARATOR = re.compile(r"\s*(?:,\s*(?:and\s+|und\s+|et\s+|y\s+)?|;|\band\b|\bund\b|\n)\s*")
#: Questions with a single value as answer.
_ASKS_VALUE = re.compile(
    r"\b(?:how (?:many|much|long|old|far|tall|high|big|large|heavy|deep|wide|fast|often)|when|"
    r"(?:what|which) (?:year|date|day|time|share|percentage|number|price|age))\b",
    re.I,
)
_LOOK_BACK = 40
#: Text before the final number of a calculation.
_RESULT = re.compile(
    r"(?:=|\b(?:makes?|equals?|gives?|totals?|results?|leaves?|so|therefore|thus|hence)\b)[^\d=]*$",
    re.I,
)
_EDGE = " \t\n.!?\"'*_`:;,“”‘’«»…"
_ARTICLE = re.compile(r"^(?:the|an?|it's|it is|der|die|das|le|la|les|el|los)\s+")
_WORD = re.compile(r"[^\W_]+")


def final_answer(text: str) -> str:
    """Return the answer in ``text``: after "answer:", in a box, or all of it."""
    text = text.strip()
    if len(text) > _MAX_TEXT:
        text = text[-_MAX_TEXT:]
    boxes = list(_BOXED.finditer(text))
    if boxes:
        inner = _braced(text, boxes[-1].end())
        if inner is not None:
            return _unwrapped(inner)
    marks = list(_MARK.finditer(text))
    if marks and text[marks[-1].end() :].strip():
        text = text[marks[-1].end() :].strip().split("\n\n")[0]
    return _unwrapped(text)


def _braced(text: str, start: int) -> str | None:
    """Return the text up to the brace that closes the one before ``start``."""
    depth = 1
    for i in range(start, min(len(text), start + _MAX_ANSWER)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return text[start:i]
    return None


def _unwrapped(text: str) -> str:
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] == "$":
        text = text[1:-1].strip()
    for pattern, new in _WRAPPING:
        text = pattern.sub(new, text)
    text = text.strip()
    if len(text) > 2 and text[0] == "[" and text[-1] == "]" and "," not in text:
        text = text[1:-1]
    return text.strip()


@kept
def same_answer(question: str, answer: str, other: str) -> bool | None:
    """Return True if two short answers are equal, None if their notation does not decide.

    Comparisons cover JSON values (keys in any order), options by letter, yes and no, and
    expressions. They also cover numbers with units, dates and times, and lists in any order. In an
    answer with a mark ("The answer is", a box) the part after it counts.
    """
    if (found := _same_json(answer, other)) is not None:
        return found
    a, b = final_answer(answer), final_answer(other)
    if not a or not b or min(len(a), len(b)) > _MAX_ANSWER:
        return None
    for compare in (_same_letter, _same_yes_no):
        if (found := compare(question, a, b)) is not None:
            return found
    if _normal(a) == _normal(b) != "" and _signs(a) == _signs(b):
        return True if len(a.split()) <= _SHORT_WORDS else None
    if (found := _same_lists(a, b)) is not None:
        return found
    if (found := _same_values(question, a, b)) is not None:
        return found
    if (found := same_expression(a.strip(". "), b.strip(". "))) is not None:
        return found
    return False if _figures_differ(question, a, b) else None


def _figures_differ(question: str, a: str, b: str) -> bool:
    """Return True if a figure of one sentence has another in its place in the other."""
    if len(placed(a).sentences()) > 1 or len(placed(b).sentences()) > 1:
        return False
    return any(f.status == "wrong" for f in findings(a, (0, len(a)), question, (b,)))


def _signs(text: str) -> str:
    """Return the signs that change the meaning of short answers."""
    text = plain_math(folded(text)).strip(_EDGE)
    signs = "+-*/^()[]{}<>=%$€£°" + (".,:" if any(c.isdigit() for c in text) else "")
    return "".join(c for c in text if c in signs)


def _normal(text: str) -> str:
    low = lowered(folded(text)).strip(_EDGE)
    low = _ARTICLE.sub("", low)
    return " ".join(_WORD.findall(low))


def _same_json(a: str, b: str) -> bool | None:
    one, other = _json(a), _json(b)
    if one is None or other is None:
        return None
    return _equal_json(one[0], other[0])


def _json(text: str) -> tuple[Any] | None:
    text = text.strip()
    if fence := _FENCE.search(text):
        text = fence[1].strip()
    if not text or text[0] not in "{[" or len(text) > _MAX_JSON:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) or (isinstance(value, list) and value and text[0] == "["):
        return (value,)
    return None


def _equal_json(a: Any, b: Any, depth: int = 0) -> bool:
    if depth > 50:
        return bool(a == b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal_json(a[k], b[k], depth + 1) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(
            _equal_json(x, y, depth + 1) for x, y in zip(a, b, strict=True)
        )
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, (dict, list)) or isinstance(b, (dict, list)):
        return False
    if a == b:
        return True
    one, other = str(a), str(b)
    if _normal(one) == _normal(other):
        return True
    return _same_values("", one, other) is True


def _same_letter(question: str, a: str, b: str) -> bool | None:
    one, other = _letter(a), _letter(b)
    if not one or not other:
        return None
    if min(len(a.strip(_EDGE + "()[]")), len(b.strip(_EDGE + "()[]"))) > 1:
        return one == other if _alone(a) or _alone(b) else None
    return one == other and not (_NOT.search(a) or _NOT.search(b))


def _alone(text: str) -> bool:
    return re.fullmatch(r"(?:option|choice)?\s*[(\[]?[A-J][)\].]?", text.strip(), re.I) is not None


def _letter(text: str) -> str:
    text = text.strip(" *_`\"'$.")
    text = re.sub(r"^(?:not|never)\s+", "¬", text, flags=re.I)
    if text.startswith("¬"):
        return "¬" + text[1:2].upper() if len(text) <= 3 else ""
    match = re.compile(_LETTER.pattern, re.I | re.S).fullmatch(text[:200])
    if match is None:
        return ""
    letter = match[1]
    if letter.islower() and len(text.strip("()[]. ")) > 1:
        return ""
    return letter.upper()


def _same_yes_no(question: str, a: str, b: str) -> bool | None:
    one, other = _YES_NO.match(a.strip(_EDGE)), _YES_NO.match(b.strip(_EDGE))
    if one is None or other is None:
        return None
    if min(len(a.split()), len(b.split())) > 1 and (one[1] is None) == (other[1] is None):
        return None
    return (one[1] is None) == (other[1] is None)


def _same_lists(a: str, b: str) -> bool | None:
    one, other = _items(a), _items(b)
    if one is None or other is None:
        return None
    return sorted(one) == sorted(other)


def _items(text: str) -> list[str] | None:
    """Return the normalised items of a list; None for any other text."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > 1:
        if not all(_BULLET.match(line) for line in lines):
            return None
        pieces = [_BULLET.sub("", line, count=1) for line in lines]
    else:
        if text.strip(_EDGE)[:1] in "([{" or ("," not in text and " and " not in text):
            return None
        pieces = _SEPARATOR.split(text.strip(_EDGE))
    pieces = [p for p in pieces if p.strip()]
    if not 2 <= len(pieces) <= _MAX_ITEMS or any(len(p) > _MAX_ITEM for p in pieces):
        return None
    if len(lines) == 1 and any(len(p.split()) > 3 for p in pieces):
        return None
    if any(c.isdigit() for p in pieces for c in p) and len(lines) == 1:
        return None  # dates and amounts contain commas
    return [_normal(p) for p in pieces]


def _same_values(question: str, a: str, b: str) -> bool | None:
    """Compare answers of which at least one is a single value."""
    one, other = placed(_math_text(a)), placed(_math_text(b))
    mine, yours = _outer(one), _outer(other)
    if not mine or not yours:
        return None
    asked = placed(question[:2_000])
    lone_a, lone_b = (
        len(mine) == 1 and _only(one, mine[0]),
        len(yours) == 1 and _only(other, yours[0]),
    )
    if lone_a and lone_b:
        return _equal(mine[0], yours[0])
    if not lone_a and not lone_b:
        if len(mine) == len(yours) == 1 and _ASKS_VALUE.search(question):
            same = _equal(mine[0], yours[0])
            return same if same or mine[0].comparable(yours[0]) else None
        return None
    lone, many, text = (mine[0], yours, other) if lone_a else (yours[0], mine, one)
    new = [v for v in many if not any(equal(v, q) for q in asked.values)] or many
    if not any(_equal(v, lone) for v in many):
        return False if len(new) == 1 or all(v.comparable(lone) for v in new) else None
    if len(new) > 1 and _EITHER.search(text.text):
        return False
    if any(v.kind == "range" for v in new):
        return False
    if len(new) == 1 or _equal(new[-1], lone):
        return None if _NOT.search(text.text) else True
    before = text.text[max(0, new[-1].start - _LOOK_BACK) : new[-1].start]
    return False if _RESULT.search(before) else None


def _math_text(text: str) -> str:
    """Convert fractions in ``text`` to their prose form: "3/4", "1 3/4"."""
    plain = re.sub(r"\(\((-?\d+)\)/\((-?\d+)\)\)", r"\1/\2", plain_math(folded(text)))
    return re.sub(r"\((\d+)\+(\d+/\d+)\)", r"\1 \2", plain)


def _outer(text: Text) -> list[Value]:
    """Return the values that are not nested in another."""
    found: list[Value] = []
    for value in text.values:
        if not found or value.start >= found[-1].end:
            found.append(value)
    return found


def _only(text: Text, value: Value) -> bool:
    """Return True if a text is only one value, apart from a word or two."""
    rest = text.text[: value.start] + " " + text.text[value.end :]
    if re.search(r"[=+*^\\√()\[\]{}<>]|\d", rest.replace("()", "")):
        return False
    words = [w for w in _WORD.findall(rest.lower()) if w not in _FILLERS]
    return len(words) <= 1


_FILLERS = frozenset(
    [
        "the",
        "a",
        "an",
        "is",
        "it",
        "its",
        "it's",
        "was",
        "are",
        "about",
        "around",
        "approximately",
        "exactly",
        "in",
        "at",
        "on",
        "of",
        "to",
        "that",
        "there",
        "were",
        "answer",
        "so",
        "total",
    ]
)


def _equal(a: Value, b: Value) -> bool:
    """Return True if two answers are the same amount, date or time."""
    if a.bound != b.bound and a.bound and b.bound:
        return False
    if a.kind == "identifier" or b.kind == "identifier":
        return a.kind == b.kind and a.key == b.key
    if equal(a, b) or equal(b, a):
        if a.dates and b.dates and a.kind == b.kind == "date":
            return _full(a) == _full(b) or equal(a, b)
        return True
    bare = [v for v in (a, b) if v.kind == "count" and not v.dimension]
    if len(bare) == 1 and a.written is not None and b.written is not None:
        full = b if bare[0] is a else a
        if full.kind in ("money", "measure", "duration", "percent") and full.amount is not None:
            scaled = full.kind == "money" and full.amount == bare[0].amount
            return scaled or (full.written == bare[0].amount and _signed(full) == _signed(bare[0]))
    return False


def _signed(value: Value) -> bool:
    return value.amount is not None and value.amount < 0


def _full(value: Value) -> int:
    return max(sum(p is not None for p in d) for d in value.dates)
