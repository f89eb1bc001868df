"""Days of the week that values are for: opening hours, prices, timetables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from veridical.text.memo import kept

if TYPE_CHECKING:
    from veridical.text.values.places import Text

_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)
_SHORT = "Mon Tue Wed Thu Fri Sat Sun"
_DAYS = {name: day for names in _NAMES for day, name in enumerate(names.split())}
_DAYS |= {name.lower(): day for day, name in enumerate(_SHORT.split())}
_ALL, _WORKING, _FREE = frozenset(range(7)), frozenset(range(5)), frozenset((5, 6))
_SEVERAL = {"weekday": _WORKING, "workday": _WORKING, "weekend": _FREE, "daily": _ALL}
_DAY = (
    rf"(?:(?i:{'|'.join(name for names in _NAMES for name in names.split())})[a-zé]?|"
    rf"(?:{_SHORT.replace(' ', '|')})(?:rs|r|s|nes)?\.?)"
)
#: A day, or a span of days: "Monday to Friday".
_MENTION = re.compile(
    rf"(?<![^\W_])(?:({_DAY})(?:(?: ?[-–—] ?| (?i:to|till|until|through|thru|bis|au?|a|al|tot) )"
    rf"({_DAY}))?|(?i:(weekday|workday|weekend|daily))s?)(?![^\W_])"
)
_CLAUSE_END = re.compile(r"[,;/|\n]|(?<![^\W_])(?i:and|but|or|und|et|y|e|en)(?![^\W_])")
#: Text between the values of a span or a list: "8 until 18".
_JOINED = re.compile(r"\W*(?i:to|until|till|and|bis|und|jusqu'à|à|et|a|hasta|y|alle|e|tot|en)?\W*")
_MAX_LABEL = 60  # characters of a line before its colon
_MOST = 300  # characters before or after a value in which its day is searched


@kept
def days_in(text: str) -> frozenset[int]:
    """Return the days that a text names, as 0 (Monday) to 6; a span includes those in between."""
    found: frozenset[int] = frozenset()
    for first, last, several in _MENTION.findall(text):
        if several:
            found |= _SEVERAL[several.lower()]
            continue
        start = _day(first)
        number = (_day(last) - start) % 7 if last else 0
        found |= frozenset((start + i) % 7 for i in range(number + 1))
    return found


def day_mention(text: str, days: frozenset[int]) -> tuple[int, int] | None:
    """Return the place of the first mention of a day, or span of days, with one of ``days``."""
    for match in _MENTION.finditer(text):
        if days & days_in(match[0]):
            return match.span()
    return None


def _day(name: str) -> int:
    low = name.lower().rstrip(".")
    return _DAYS[low] if low in _DAYS else _DAYS[low[:-1]] if low[:-1] in _DAYS else _DAYS[low[:3]]


def days_of(text: Text, i: int) -> frozenset[int]:
    """Return the days of value ``i``: those in its clause, else in a list of days before it."""
    values = text.values
    start, end = text.sentence(values[i].start)
    before = _before(text, i, start)
    near = days_in(_CLAUSE_END.split(before)[-1])
    if near:
        return near
    later = [v.start for v in values[i + 1 : i + 9] if v.start >= values[i].end]
    after = text.text[values[i].end : min([end, values[i].end + _MOST, *later])]
    listed = text.text.startswith(before, start) or _CLAUSE_END.match(before.lstrip())
    near = days_in(_CLAUSE_END.split(after)[0]) or (days_in(before) if listed else frozenset())
    return near or _days_of_line(text.text, values[i].start)


def _days_of_line(text: str, at: int) -> frozenset[int]:
    """Return the days before the first colon of a line: "Sat: 6:20, then hourly until 22:50"."""
    label, colon, _ = text[text.rfind("\n", 0, at) + 1 : at].partition(": ")
    return days_in(label) if colon and len(label) < _MAX_LABEL else frozenset()


def _before(text: Text, i: int, start: int) -> str:
    """Return the text between value ``i`` and the one before, skipping the start of its span.

    Before a time of day, other values count as text: "Monday: bus 12 at 9:00".
    """
    end = text.values[i].start
    for value in reversed(text.values[max(0, i - 3) : i]):
        if value.end > end or value.start < start:
            continue
        if text.values[i].kind == "time" != value.kind:
            continue
        between = text.text[value.end : end]
        if not _JOINED.fullmatch(between):
            return between[-_MOST:]
        end = value.start
    return text.text[max(start, end - _MOST) : end]
