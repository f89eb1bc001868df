"""A piece of a text, and where it stands."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """A piece of a text: ``text == whole[start:end]``."""

    start: int
    end: int
    text: str
