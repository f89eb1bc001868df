"""Direction of comparisons that state a difference."""

from __future__ import annotations

import re

from veridical.text.values.places import Text
from veridical.text.values.read import values_of
from veridical.text.values.sources import SourceValues, ValuePlace

_MORE = (
    "more longer higher taller older heavier bigger larger greater wider deeper dearer later "
    "costlier warmer hotter faster further farther"
)
_LESS = (
    "less fewer shorter lower younger lighter smaller narrower cheaper earlier cooler colder "
    "slower closer"
)
_COMPARED = re.compile(
    rf"(?<![^\W_])(?:({_MORE.replace(' ', '|')})|{_LESS.replace(' ', '|')})(?![^\W_])"
    r"[^.;\n]{0,120}?(?<![^\W_])than(?![^\W_])",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(r"([^-+*/=()]+) - ([^-+*/=()]+) = [^=]+")


def turned_than(
    statement: Text, span: tuple[int, int], derived: str, sources: SourceValues
) -> ValuePlace | None:
    """Find the larger amount of a difference, if ``statement[span]`` gives it to the smaller one.

    Args:
        derived: the derivation of the difference, as "14 hours - 11 hours = 3 hours".
    """
    start, end = span
    compared = _COMPARED.search(statement.text, start, end)
    apart = _DIFFERENCE.fullmatch(derived)
    if compared is None or apart is None:
        return None
    high, low = (_places(text, sources) for text in apart.groups())
    if len(high) != 1 or len(low) != 1:
        return None
    owners = [sources.texts[p.source].owner(p.at) for p in (high[0], low[0])]
    if not compared[1]:
        owners.reverse()
    mine, other = owners[0].near - owners[1].near, owners[1].near - owners[0].near
    if not mine or not other:
        mine, other = owners[0].wide - owners[1].wide, owners[1].wide - owners[0].wide
    before = statement.stems(start, compared.end()) | statement.marks(start, compared.end())
    after = statement.stems(compared.end(), end) | statement.marks(compared.end(), end)
    turned = before & other and not before & mine and not after & other
    return high[0] if turned else None


def _places(text: str, sources: SourceValues) -> list[ValuePlace]:
    values = values_of(text)
    return sources.equals(values[0]) if len(values) == 1 else []
