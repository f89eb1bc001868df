"""Lines with a name and a value, such as "Price: 45"."""

from __future__ import annotations

import re
from typing import NamedTuple

from veridical.text.structure.nodes import Node, scalar_kind

_NAME = r"[^\W_][^:=\n|<>{}\[\]\"]{0,60}?"
_COLON = re.compile(rf"[ \t]*(?:(?:[-*+•‣]|\d{{1,3}}[.)])[ \t]*)?"
                    rf"(?P<name>[*_`]{{0,3}}{_NAME}[*_`]{{0,3}})"
                    r"[ \t]*(?::|：)[*_`]{0,3}[ \t]+(?P<value>\S[^\n]*)")  # fmt: skip
_EQUALS = re.compile(r"[ \t]*(?P<name>[\w][\w. -]{0,60}?)[ \t]*=[ \t]*(?P<value>[^=\s][^\n]*)")
_LEADER = re.compile(
    r"[ \t]*(?P<name>[^\W_][^\n.…]{0,80}?)[ \t]*"
    r"(?:\.[ .]{2,200}\.|…[… .]{0,200}|\.{3,200}|_{4,200})"
    r"[ \t]*(?P<value>[^\s.…_][^\n]*)"
)
_SECTION = re.compile(r"[ \t]*\[(?P<name>[^\[\]\n]{1,80})\][ \t]*")
_COMMENT = re.compile(r"[ \t]*[#;][^\n]*")
_SEMICOLON = re.compile(r"[^;]+")
_ASKS = re.compile(r"(?:q|question|f|frage|p)$", re.IGNORECASE)
_ANSWERS = re.compile(r"(?:a|answer|antwort|r)$", re.IGNORECASE)
_MOST_NAME_WORDS = 6
_FEWEST = 2  # lines


class NamedLine(NamedTuple):
    """A line at ``[start:end]`` that names a value, with its section and form."""

    start: int
    end: int
    section: str
    name: str
    node: Node
    form: str


def find_pairs(text: str, start: int, stop: int) -> list[list[NamedLine]]:
    """Return the runs of lines in ``text[start:stop]`` with a name and a value each."""
    runs: list[list[NamedLine]] = []
    run: list[NamedLine] = []
    section = ""
    at = start
    gap = False
    for raw in (*text[start:stop].split("\n"), None):
        if raw is None:
            _end(runs, run)
            break
        end = at + len(raw)
        if not raw.strip():
            gap = True
        elif (head := _SECTION.fullmatch(raw)) is not None:
            if not section:
                _end(runs, run)
                run = []
            section = head["name"].strip()
        elif not (section and _COMMENT.fullmatch(raw)):
            found = _pairs_of(text, at, end, section)
            if not found or (run and (gap or found[0].form != run[0].form) and not section):
                _end(runs, run)
                run = []
            if not found:
                section = ""
            run += found
            gap = False
        at = end + 1
    return runs


def _end(runs: list[list[NamedLine]], run: list[NamedLine]) -> None:
    single = len(run) == 1 and run[0].form == "leader"
    if len(run) >= _FEWEST or single:
        runs.append(run)


def _pairs_of(text: str, start: int, end: int, section: str) -> list[NamedLine]:
    raw = text[start:end]
    if "=" in raw:
        pieces = [(start + m.start(), start + m.end()) for m in _SEMICOLON.finditer(raw)]
        pairs = [
            _pair(_EQUALS, text, a, b, section, "equals") for a, b in pieces if text[a:b].strip()
        ]
        if all(pairs):
            return [p for p in pairs if p]
    if (leader := _pair(_LEADER, text, start, end, section, "leader")) is not None:
        return [leader]
    colon = _pair(_COLON, text, start, end, section, "colon")
    return [] if colon is None else [colon]


def _pair(
    pattern: re.Pattern[str], text: str, start: int, end: int, section: str, form: str
) -> NamedLine | None:
    found = pattern.fullmatch(text, start, end)
    if found is None:
        return None
    name = found["name"].strip(" *_`")
    if form == "equals" and "(" in found["value"]:
        return None  # code
    if not name or len(name.split()) > _MOST_NAME_WORDS or name.lower() in ("http", "https"):
        return None
    value = found["value"].rstrip()
    place = found.start("value")
    while len(value) > 1 and value[0] in "*_`\"'" and value[0] == value[-1]:
        value = value[1:-1]
        place += 1
    begin = start + len(text[start:end]) - len(text[start:end].lstrip())
    node = Node(scalar_kind(value), place, place + len(value), value)
    return NamedLine(begin, end, section, name, node, form)


def asks(name: str) -> bool:
    """Return True if a name marks a question ("Q")."""
    return _ASKS.match(name) is not None


def answers(name: str) -> bool:
    """Return True if a name marks the answer to a question ("A")."""
    return _ANSWERS.match(name) is not None
