"""Headings state nothing; what may be a statement is none."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.headings import is_heading


@pytest.mark.parametrize(
    ("text", "before", "after", "heading"),
    [
        ("# Prices", "", "Entry is free.", True),
        ("Prices:", "", "Entry is free.", True),
        ("**Prices**", "Some text. ", "Entry is free.", True),
        ("**Paris**", "", "It is large.", False),  # it may be the answer
        ("Prices\n======", "", "Entry is free.", True),
        ("Prices\n---", "", "Entry is free.", True),
        ("Entry is free.\n===", "", "It is.", False),
        ("# Prices", "", "", False),
        ("Entry is free:", "", "See below.", False),
        ("Room 12:", "", "It is open.", False),
        ("No dogs:", "", "They stay outside.", False),
        ("- Prices:", "", "Entry is free.", False),
        ("Prices.", "", "Entry is free.", False),
        ("a b c d e f g h i j k l m:", "", "Entry is free.", False),
    ],
)
def test_headings(text: str, before: str, after: str, heading: bool) -> None:
    assert is_heading(text, before, after) is heading


@pytest.mark.parametrize("piece", ["# a ", "**a", "a: ", "__", " \t"])
def test_time_is_linear(piece: str) -> None:
    assert growth(lambda text: is_heading(text, text, text), repeated(piece)) < MOST
