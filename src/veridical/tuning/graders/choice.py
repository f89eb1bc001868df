"""Multiple-choice grader: the option named by letter or by text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from veridical.text.normal_form import contains, tokens
from veridical.tuning.graders.grade import Chat, Grade, by_rule, quoted

if TYPE_CHECKING:
    from veridical.core.records import Record

#: The entry of ``meta`` with the options.
CHOICES = "choices"

_OPENING, _CLOSING = "([{*_\"'“‘`$", ")]}*_\"'”’`$"
_OPEN, _CLOSE = rf"[{re.escape(_OPENING)}]*", rf"[{re.escape(_CLOSING)}]*"
#: "The answer is (B)", "Answer: B", "I choose option B"; the letter is validated afterwards.
_STATED = re.compile(
    r"\b(?:answer|option|choice|letter)\b"
    r"(?:[^.:=\n]{0,60}?(?:\bis\b|\bwould be\b|\bshould be\b|[:=]))?[\s:=-]*"
    r"(?:the\s+)?(?:(?:correct|right|best)\s+)?(?:(?:answer|option|choice|letter)\b[\s:]*)?"
    rf"{_OPEN}([A-Z0-9])(?!\w)",
    re.I,
)
_ANOTHER = re.compile(rf"{_CLOSE}\s*(?:or|and|/|,|&)\s*{_OPEN}([A-Z0-9])(?![\w'’])")
_LISTED = re.compile(rf"(?<![\w'’])([A-Z0-9]){_ANOTHER.pattern}")
_LEADING = re.compile(
    r"[(\[{*_\"'“]*([A-Z0-9])(?:[)\]}*_\"'”]+[.:,]?|[.:,]|\s+[-–—]|(?=[^\S\n]*\n))(?:\s|$)", re.I
)
#: Negations of the letter before or after it: "not B", "isn't (B)", "B is wrong".
_NOT_BEFORE = re.compile(
    rf"(?:\b(?:not|never|neither|nor|cannot\s+be)|n['’]t)(?:\s+be)?\s+"
    rf"(?:(?:the|option|choice|answer|letter)\s+)*{_OPEN}\Z",
    re.I,
)
_NOT_AFTER = re.compile(
    rf"{_CLOSE}\s*(?:(?:is|was|seems)\s+(?:(?:clearly|also|therefore)\s+)?"
    r"(?:not|incorrect|wrong|false)\b|(?:is|was)n['’]t\b)",
    re.I,
)
_BRACKETED = re.compile(r"[(\[]([A-Z0-9])[)\]]")
_ALONE = re.compile(r"(?<![\w'’&.-])([A-Z0-9])(?![\w'’&-]|\.\w)(\s*[.!?*]*\s*$)?")
#: Text after an A that is not an article: the end, a mark, or a reason.
_NO_NOUN = re.compile(
    rf"[{re.escape(_CLOSING)}]|\s*(?:$|[.:,;!?–—-]|\n)"
    r"|\s+(?:because|since|as|and|or|which|for|but)\b"
)


@dataclass(frozen=True)
class ChoiceGrader:
    """The response names the gold option, and no other.

    Options are in ``meta["choices"]``: letter -> text, a list of texts (then A, B, C ...), or a
    list of objects with ``label`` and ``text``. The reference is the gold letter or the gold
    option's text. A stated letter takes precedence over any option's text, and the last of several
    statements counts. "A" as an article is not a letter.
    """

    name: str = "choice"
    rule: ClassVar[str] = "the response names the right option, by letter or by text, and no other"
    needs_llm: ClassVar[bool] = False

    async def grade(self, record: Record, chat: Chat | None = None) -> Grade:
        """Grade a record; see :class:`veridical.tuning.graders.Grader`."""
        settled = by_rule(record)
        if settled is not None:
            return settled
        choices = options_of(record.meta.get(CHOICES))
        gold = _gold(record.reference, choices)
        if gold is None:
            return Grade(None, f"the reference is not an option of meta.{CHOICES}")
        letter, why = named_option(record.response, choices or dict.fromkeys("ABCDEFGH", ""))
        if letter is None:
            return Grade(0.0, why)
        alike = tokens(choices.get(gold, ""))
        right = letter == gold or (bool(alike) and tokens(choices.get(letter, "")) == alike)
        answer = f"names {letter}" if right else f"names {letter}, not {gold}"
        return Grade(float(right), f"{answer} ({why})")


def options_of(value: Any) -> dict[str, str]:
    """Return letter -> text from ``meta["choices"]`` in any of its forms; empty for other
    values."""
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list) and len(value) <= 26 and all(isinstance(v, str) for v in value):
        pairs = [(chr(ord("A") + i), text) for i, text in enumerate(value)]
    elif isinstance(value, list) and all(isinstance(v, Mapping) for v in value):
        pairs = [(v.get("label"), v.get("text")) for v in value]
    else:
        return {}
    options = {k.upper(): t for k, t in pairs if isinstance(k, str) and isinstance(t, str)}
    usable = len(options) == len(pairs) and all(re.fullmatch("[A-Z0-9]", k) for k in options)
    return options if usable else {}


def named_option(response: str, choices: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the letter of the single option that ``response`` names, with its form; or None and
    the reason.

    Args:
        choices: upper-case letter (or digit) -> text.
    """
    text = unicodedata.normalize("NFKC", response).strip()
    answer = tokens(text)
    letters = frozenset(choices)
    bare = re.sub(r"(?i)^\W*(?:option|choice|answer)\b|[\W_]", "", text).upper()
    if bare in letters:
        return bare, "a letter alone"
    same = [k for k, t in choices.items() if t.strip() and t.strip().lower() == text.lower()]
    if same:  # several if options are equal
        return same[0], "the option's text"
    whole = [k for k, t in choices.items() if answer and tokens(t) == answer]
    by_text = _by_text(answer, choices)
    for how, letters_named in (
        ("a stated letter", _stated(text, letters)),
        ("the option's text", set(whole[:1])),
        ("a letter", _bracketed(text) & letters),
        ("the option's text", by_text if len(by_text) == 1 else set()),
        ("a letter", _alone(text) & letters),
        ("the option's text", by_text),
    ):
        if len(letters_named) == 1:
            return letters_named.pop(), how
        if letters_named:
            return None, f"names several options: {', '.join(sorted(letters_named))}"
    return None, f"names no option: {quoted(text)}"


def _stated(text: str, letters: frozenset[str]) -> set[str]:
    """Return letters of the last statement such as "the answer is (B)", or of a leading "B)"."""
    stated: set[str] = set()
    for m in _STATED.finditer(text):
        if m[1].upper() in letters and _is_letter(text, m) and not _denied(text, m):
            another = _ANOTHER.match(text, m.end())
            stated = {m[1].upper()} | ({another[1]} & letters if another else set())
    leading = _LEADING.match(text)
    if not stated and leading and leading[1].upper() in letters and not _denied(text, leading):
        another = _ANOTHER.match(text, leading.end(1))
        stated = {leading[1].upper()} | ({another[1]} & letters if another else set())
        stated |= _listed_next(text) & letters
    return stated


def _listed_next(text: str) -> set[str]:
    """Return the letter that leads the second line, as in a repeated list of options."""
    _, _, following = text.partition("\n")
    second = _LEADING.match(following.lstrip())
    return {second[1].upper()} if second else set()


def _denied(text: str, m: re.Match[str]) -> bool:
    """Return True if the letter of a match is negated."""
    before = text[max(0, m.start(1) - 40) : m.start(1)]
    return bool(_NOT_BEFORE.search(before) or _NOT_AFTER.match(text, m.end(1)))


def _bracketed(text: str) -> set[str]:
    return {m[1].upper() for m in _BRACKETED.finditer(text) if not _denied(text, m)}


def _is_letter(text: str, m: re.Match[str]) -> bool:
    """Return True if a statement ends in an option's letter, rather than an article or stray
    word."""
    marked = text[m.start(1) - 1] in _OPENING
    if m[1].islower():
        return marked or not text[m.end() :].strip(" .)!\n")
    return m[1] not in "AI" or marked or _NO_NOUN.match(text, m.end()) is not None


def _alone(text: str) -> set[str]:
    """Return isolated capitals; A and I, which are words, only at the very end or in a list."""
    capitals = {
        m[1] for m in _ALONE.finditer(text) if (m[1] not in "AI" or m[2]) and not _denied(text, m)
    }
    for m in _LISTED.finditer(text):
        capitals |= {m[1], m[2]}
    return capitals


def _by_text(answer: list[str], choices: Mapping[str, str]) -> set[str]:
    """Return options whose text occurs in the answer, but not only within another option's text."""
    inside: dict[str, list[str]] = {}
    for k, text in choices.items():
        t = tokens(text)
        if t and contains(answer, t) and t not in inside.values():  # of equal options, the first
            inside[k] = t
    return {
        k
        for k, t in inside.items()
        if not any(len(other) > len(t) and contains(other, t) for other in inside.values())
    }


def _gold(reference: tuple[str, ...], choices: Mapping[str, str]) -> str | None:
    """Return the gold option's letter, from the reference as letter or text."""
    for gold in reference:
        letter = gold.strip(" ().[]").upper()
        if letter in choices or (not choices and re.fullmatch("[A-H]", letter)):
            return letter
        same = [k for k, t in choices.items() if tokens(t) == tokens(gold)]
        if same:
            return same[0]
    return None
