"""Texts with a main clause, and without."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.assertions import asserts


@pytest.mark.parametrize(
    "text",
    [
        "dogs travel for free",
        "the ferry leaves at noon",
        "a ticket costs ten euros",
        "kids eat free",
        "it's free",
        "the shop is closed",
        "you can bring a dog",
        "nobody may enter",
        "dogs, which are large, sleep outside",
        "the tower doesn't move",
    ],
)
def test_clauses(text: str) -> None:
    assert asserts(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "the price of a ticket",
        "dogs, cats or rabbits",
        "opening hours and returns",
        "is closed",
        "would be paid",
        "whether dogs are allowed",
        "or who pays for it",
        "to open the lock",
        "in May",
    ],
)
def test_parts_of_clauses(text: str) -> None:
    assert not asserts(text)


@pytest.mark.parametrize("piece", ["dogs ", "the ", ",", "it's ", "travel "])
def test_time_grows_with_length(piece: str) -> None:
    assert growth(asserts, repeated(piece)) < MOST
