"""Short and long names of one thing: "the European Space Agency (ESA)".

Sources are definitions in a text, initials of capitalised words, and a few well-known short names.
A statement is rewritten with the names of the text that it is compared with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from veridical.text.memo import kept

_SHORT = r"[A-Z][A-Za-z]{0,3}[A-Z&][A-Z&a-z]{0,4}"
_BRACKETED = re.compile(rf"\((?:the )?({_SHORT}|[a-z][\w' -]{{3,60}})[,;)]")
_SAYS = re.compile(
    rf"\b({_SHORT})(?:,? (?:short for|stands for|means|which stands for|an abbreviation of|"
    r"abbreviat(?:es|ion of))| ?=| is(?= [a-z]+-)) (?:the )?"
    r"([\w'-]+(?:[ -][\w'-]+){0,6})"
)
_TOKEN = re.compile(rf"(?<![\w.]){_SHORT}(?![\w])")
_NAME = re.compile(
    r"\b[A-Z][\w'’-]{1,30}(?:(?: (?:of|for|the|and|de|on|in)){0,2} [A-Z][\w'’-]{1,30}){1,7}"
)
_SMALL = frozenset(
    ["of", "for", "the", "and", "de", "on", "in", "a", "an", "to", "&", "y", "la", "du", "des"]
)
_MOST_WORDS = 8
_MIN_LOWER_CASE = 4  # letters of a short name for words in lower case
#: Names that need no definition.
_KNOWN = """
    US|U.S.|USA|U.S.A.|United States|United States of America
    UK|U.K.|United Kingdom
    EU|E.U.|European Union
    UN|U.N.|United Nations
    CEO|chief executive officer
    CFO|chief financial officer
    CTO|chief technology officer
    COO|chief operating officer
    PhD|Ph.D.|doctorate
    HR|human resources
    FAQ|frequently asked questions
    GDP|gross domestic product
    VAT|value added tax|value-added tax
    WHO|World Health Organization|World Health Organisation
    H2O|water
    CO2|carbon dioxide
    e-mail|email
    TV|television
    Mon.|Monday
    Tue.|Tuesday
    Wed.|Wednesday
    Thu.|Thursday
    Fri.|Friday
    Sat.|Saturday
    Sun.|Sunday
    Ave.|Avenue
    Intl|Intl.|International
    Univ.|University
    Prof.|Professor
    approx.|approximately
    max.|maximum
    min.|minimum
"""
_MAX_SEARCHED_CHARACTERS = 20_000  # of a text, for definitions


@cache
def _known() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(row.strip().split("|")) for row in _KNOWN.strip().splitlines())


@kept
def definitions(text: str) -> tuple[tuple[str, str], ...]:
    """Return the distinct (short, long) names that ``text`` defines, in order.

    >>> definitions("The GMO, short for global mobility officer, signs. The Lake Fund (LF) pays.")
    (('LF', 'Lake Fund'), ('GMO', 'global mobility officer'))
    """
    found: dict[tuple[str, str], None] = {}
    if len(text) <= _MAX_SEARCHED_CHARACTERS:
        for short, long in (*_in_brackets(text), *_said(text)):
            found.setdefault((short, long))
    return tuple(found)


def _in_brackets(text: str) -> Iterator[tuple[str, str]]:
    for m in _BRACKETED.finditer(text):
        inside = m[1].strip()
        before = text[max(0, m.start() - 120) : m.start()].rstrip()
        if _TOKEN.fullmatch(inside):
            long = _words_for(inside, before)
            if long:
                yield inside, long
        elif (short := _last_token(before)) and _initials(inside.split(), short):
            yield short, inside
        elif short:
            words = inside.split()
            for n in range(1, len(words)):
                if _initials(words[n:], short):  # "your HR business partner"
                    yield short, " ".join(words[n:])
                    break


def _last_token(before: str) -> str | None:
    last = before.split()[-1:] or [""]
    return last[0] if _TOKEN.fullmatch(last[0]) else None


def _words_for(short: str, before: str) -> str | None:
    """Return the last words of a text whose initials are a short name."""
    words = re.findall(r"[\w'’-]+", before)
    for n in range(2, min(len(words), _MOST_WORDS) + 1):
        if _initials(words[-n:], short):
            return before[before.rindex(words[-n]) :] if n else None
    return None


def _said(text: str) -> Iterator[tuple[str, str]]:
    for m in _SAYS.finditer(text):
        words = m[2].split()
        for n in range(len(words), 0, -1):
            if _initials(words[:n], m[1]):
                yield m[1], " ".join(words[:n])
                break


def _initials(words: list[str], short: str) -> bool:
    """Return True if words begin with the letters of a short name.

    Small words and linking words may count.
    """
    if not words or words[0].lower() in _SMALL:
        return False
    parts = [part for word in words for part in re.split(r"[-’']", word) if part]
    letters = short.replace("&", "").lower()
    every = "".join(part[0] for part in parts).lower()
    large = "".join(part[0] for part in parts if part.lower() not in _SMALL).lower()
    if letters in (every, large):
        return len(parts) > 1
    # "HR business partner" for HRBP
    whole = "".join(p if p.isupper() and len(p) > 1 else p[0] for p in parts).lower()
    return letters == whole and len(parts) > 1


def in_words_of(statement: str, text: str, defined: tuple[tuple[str, str], ...] = ()) -> str:
    """Replace names in ``statement`` by the names of the same things in ``text``.

    Args:
        defined: (short, long) names, from :func:`definitions`.

    >>> in_words_of("ESA is in Elm.", "The European Space Agency is in Elm.")
    'European Space Agency is in Elm.'
    """
    for short, long in defined:
        statement = _put(statement, text, (short, long))
    for names in _known():
        statement = _put(statement, text, names)
    for token in dict.fromkeys(_TOKEN.findall(statement)):
        if not _has(text, token) and (name := _name_of(text, token)):
            statement = _replaced(statement, token, name)
    for name in dict.fromkeys(n.removeprefix("The ") for n in _NAME.findall(statement)):
        if _has(text, name):
            continue
        words = name.split()
        for short in dict.fromkeys(_TOKEN.findall(text)):
            if _initials(words, short) and not _has(statement, short):
                statement = _replaced(statement, name, short)
                break
    return statement


def _put(statement: str, text: str, names: tuple[str, ...]) -> str:
    said = next((n for n in sorted(names, key=len, reverse=True) if _has(statement, n)), None)
    if said is None or _has(text, said):
        return statement
    used = next((n for n in names if _has(text, n)), None)
    return statement if used is None else _replaced(statement, said, used)


def _name_of(text: str, short: str) -> str | None:
    for name in _NAME.findall(text):
        words = name.split()
        for n in range(len(words) - 1):
            if _initials(words[n:], short):
                return " ".join(words[n:])
    return _in_lower_case(text, short) if len(short) >= _MIN_LOWER_CASE else None


def _in_lower_case(text: str, short: str) -> str | None:
    """Return words in lower case with these initials: "chief information officer"."""
    if not (short.isalpha() and short.isupper()):
        return None
    words = r"(?:[ -](?:of|for|and|the))?[ -]".join(rf"{letter}[a-z]+" for letter in short.lower())
    found = re.search(rf"(?<![\w-]){words}(?![\w-])", text)
    return found[0] if found else None


def _pattern(name: str) -> re.Pattern[str]:
    exact = name.isupper() or "." in name or len(name) < 4
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w])", 0 if exact else re.IGNORECASE)


def _has(text: str, name: str) -> bool:
    if name not in text and name.lower() not in text.lower():
        return False
    return _pattern(name).search(text) is not None


def _replaced(text: str, name: str, other: str) -> str:
    text = _pattern(name).sub(lambda _: other, text)
    return text.replace(f"{other}.", other) if other.endswith(".") else text
