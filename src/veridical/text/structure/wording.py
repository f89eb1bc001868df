"""Verbalisation of structured names and values for models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from veridical.text.structure.nodes import TRUE, words_set

_PARTS = re.compile(r"[_\-./\s]+|(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
#: Units at the end of a name ("weight_g"), as written after a figure.
_UNITS = {
    unit: unit
    for unit in words_set(
        "mm cm km kg mg ml minutes hours days weeks months years seconds percent euros dollars "
        "litres liters grams metres meters miles million billion"
    )
} | {
    "l": "l", "g": "g", "m": "m", "h": "h", "s": "s", "w": "W", "v": "V", "c": "°C", "f": "°F",
    "eur": "euros", "usd": "dollars", "gbp": "pounds", "pct": "%", "percentage": "%",
    "kmh": "km/h", "kph": "km/h", "mph": "mph", "sec": "seconds", "secs": "seconds",
    "kb": "KB", "mb": "MB", "gb": "GB", "tb": "TB", "kw": "kW", "kwh": "kWh", "mwh": "MWh",
    "hz": "Hz", "min": "minutes", "mins": "minutes", "hrs": "hours", "sqm": "m²", "chf": "francs",
}  # fmt: skip
_STATES = words_set(
    "available open closed active free valid enabled disabled visible public private required "
    "optional full empty new sold out compulsory mandatory online ready complete final due "
    "paid vegan vegetarian waterproof dishwasher-safe"
)
_PARTICIPLE = re.compile(r"[a-z]+(?:ed|able|ible|[^aeiou\s]en)$")
_DATE = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})"
    r"(?:[T ](\d{2}:\d{2})(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.ASCII,
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = {
    short: day
    for day in ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    for short in (day[:3].lower(), day[:4].lower(), day.lower())
} | {"tues": "Tuesday", "thurs": "Thursday"}
_FIRST = {"is": "is", "are": "are", "was": "was", "were": "were", "can": "can", "has": "has"}
#: Names of values that are the answer itself, and not part of its statement.
_GENERIC = words_set(
    "answer answers response result output text content message reply value summary explanation "
    "final finalanswer statement claim sentence description reasoning key facts points"
)
#: Names of containers of values, which are not part of a statement either.
_HOLDERS = words_set("data body items list results payload attributes properties fields tool call")


@lru_cache(maxsize=4096)
def words_of_name(name: str) -> str:
    """Split a name into words.

    >>> words_of_name("rainCoverIncluded"), words_of_name("from_IATA")
    ('rain cover included', 'from IATA')
    """
    words = [w for w in _PARTS.split(name[:200].strip("*_` :")) if w]
    return " ".join(w if w.isupper() and len(w) > 1 else w.lower() for w in words)


def is_generic(name: str) -> bool:
    """Return True if a name only marks the answer."""
    return all(w in _GENERIC for w in words_of_name(name).lower().split())


def named(names: Sequence[str]) -> str:
    """Join the names of a value from the outermost, as words, without generic ones.

    >>> named(("answer", "invoice", "total"))
    'invoice total'
    >>> named(("data", "results")), named(("items", "price"))
    ('results', 'price')
    """
    last = len(names) - 1
    words = [
        words_of_name(n)
        for i, n in enumerate(names)
        if n and not is_generic(n) and (i == last or words_of_name(n) not in _HOLDERS)
    ]
    return " ".join(dict.fromkeys(w for w in words if w))


def with_unit(name: str, value: str) -> tuple[str, str]:
    """Split the unit from the end of a name.

    >>> with_unit("weight g", "940"), with_unit("option g", "blue")
    (('weight', 'g'), ('option g', ''))
    """
    words = name.split()
    if len(words) < 2 or not value.replace(".", "").replace(",", "").strip("+-").isdigit():
        return name, ""
    unit = _UNITS.get(words[-1].lower())
    return (name, "") if unit is None else (" ".join(words[:-1]), unit)


def worded_value(value: str, unit: str) -> str:
    """Format a value as in prose: dates by the name of the month, amounts with commas.

    >>> worded_value("2025-06-12T07:55", ""), worded_value("2350", "euros")
    ('12 June 2025, 07:55', '2,350')
    """
    if (date := _DATE.fullmatch(value)) is not None and 1 <= int(date[2]) <= 12:
        hour = f", {date[4]}" if date[4] else ""
        return f"{int(date[3])} {MONTHS[int(date[2]) - 1]} {date[1]}{hour}"
    return f"{int(value):,}" if unit and value.isdecimal() and len(value) < 16 else value


def words_of_header(name: str) -> str:
    """Format a header as the name of a value.

    It is in lower case, except names and abbreviations; days of the week are spelled out.

    >>> words_of_header("Price per month"), words_of_header("DB"), words_of_header("Tue")
    ('price per month', 'DB', 'Tuesday')
    """
    words = words_of_name(name) if "_" in name else " ".join(name.split())
    if (day := _DAYS.get(words.lower().rstrip("."))) is not None:
        return day
    if len(words) > 1 and words[0].isupper() and words[1:] == words[1:].lower():
        return words[0].lower() + words[1:]
    return words


def truth(name: str, value: str) -> str:
    """Format a boolean name as a clause.

    >>> truth("rain cover included", "false"), truth("is vegan", "true")
    ('rain cover is not included', 'is vegan')
    >>> truth("damage", "false"), truth("has pool", "no")
    ('damage: no', 'has no pool')
    """
    holds = value.strip().lower() in TRUE
    words = name.split()
    if not words:
        return "yes" if holds else "no"
    if words[0].lower() in _FIRST and len(words) > 1:
        verb, rest = words[0].lower(), " ".join(words[1:])
        if verb == "has":
            return f"has {'' if holds else 'no '}{rest}"
        return f"{verb} {'' if holds else 'not '}{rest}"
    last = words[-1].lower()
    if len(words) > 1 and (last in _STATES or _PARTICIPLE.fullmatch(last)):
        subject = " ".join(words[:-1])
        verb = "are" if subject.endswith("s") and not subject.endswith("ss") else "is"
        return f"{subject} {verb} {'' if holds else 'not '}{words[-1]}"
    return f"{name}: {'yes' if holds else 'no'}"


#: A line that denies its name: "Data loss: none."
_NONE = re.compile(
    r"\s*(?:[-*•][ \t]+)?[*_]{0,2}(?P<name>[^\W\d_][^:\n|;,.]{0,60}?)[ \t]*:[*_ \t]{0,9}"
    r"(?:none|nil)(?: (?P<how>known|reported|recorded|observed|found|identified|expected))?"
    r"[*_]{0,2}[ \t]*\.?\s*",
    re.IGNORECASE,
)


def denial(text: str) -> str | None:
    """Return a line that denies its name as a sentence; None for any other text.

    >>> denial("Data loss: none."), denial("Side effects: none known"), denial("Colour: red")
    ('There is no data loss.', 'There are no known side effects.', None)
    """
    found = _NONE.fullmatch(text)
    if found is None:
        return None
    name = words_of_header(found["name"].strip("*_` "))
    verb = "are" if name.endswith("s") and not name.endswith("ss") else "is"
    how = f"{found['how'].lower()} " if found["how"] else ""
    return f"There {verb} no {how}{name}."


def capital(text: str) -> str:
    """Capitalise the first letter of ``text``."""
    return text[:1].upper() + text[1:]


def closed(text: str) -> str:
    """Add a full stop to ``text`` if it is missing."""
    return text if text.rstrip(" \"'”’)*_").endswith((".", "!", "?", "。")) else f"{text}."
