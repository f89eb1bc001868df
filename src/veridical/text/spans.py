"""Spans of a text, and the kinds of findings in them."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: Kind of error of a flagged unit.
FindingKind = Literal[
    "figure",
    "date",
    "unit",
    "name",
    "negation",
    "relation",
    "order",
    "addition",
    "computed",
    "other",
]


class Span(NamedTuple):
    """A piece of a text: ``text == whole[start:end]``."""

    start: int
    end: int
    text: str
