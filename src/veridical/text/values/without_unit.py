"""Places of a number without its unit or currency."""

from __future__ import annotations

import re

from veridical.text.values.sources import SourceValues, ValuePlace
from veridical.text.values.value import Value

_MAX_WRITTEN = 12  # places of a number
_PRICE = re.compile(r"(?<![^\W_])(?:cost|price|pay|paid|kost|preis|coût|cuest)", re.I)


def priced(value: Value, statement: str, sources: SourceValues) -> list[ValuePlace]:
    """Return places of a price whose currency the statement omits: "plan A costs 10"."""
    if value.kind != "count" or value.label or value.written is None:
        return []
    if value.written == value.amount and (value.noun or not _PRICE.search(statement)):
        return []
    places = sources.written.get(value.written, ())[:_MAX_WRITTEN]
    money = [(p, v) for p in places if (v := sources.value(p)).kind == "money"]
    return [place for place, theirs in money if theirs.amount == value.amount]


def without_unit(value: Value, sources: SourceValues) -> ValuePlace | None:
    """Return a place of the same number without unit and noun.

    Example: "ten minutes" for "50 minutes, the first ten at 240 degrees".
    """
    if value.kind not in ("duration", "measure") or value.written is None:
        return None
    for place in sources.written.get(value.written, ())[:_MAX_WRITTEN]:
        theirs = sources.value(place)
        if theirs.kind == "count" and not theirs.noun and not theirs.label:
            return place
    return None


def both_years(value: Value, statement: str, sources: SourceValues) -> list[ValuePlace]:
    """Return places of the two ends of a span of years, if both are stated."""
    places = [sources.equals(year, statement) for year in value.years()]
    return places[0] if len(places) == 2 and all(places) else []
