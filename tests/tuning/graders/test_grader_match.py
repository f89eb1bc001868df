"""Short answers against gold answers: SQuAD's normal form, and what it must not confuse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.errors import UsageError
from veridical.text.normal_form import tokens
from veridical.tuning.graders import GRADERS, load_grader


async def correct(name: str, response: str, *gold: str) -> float | None:
    return (await load_grader(name).grade(Record(response=response, reference=gold))).correct


EQUAL = [
    ("Paris", "paris"),
    ("The Beatles.", "Beatles"),
    ("the  U.S.", "US"),
    ("Beyonce", "Beyoncé"),
    ("Spider-Man", "Spiderman"),
    ("1,000", "1000"),
    ("14 December 1972", "14 December, 1972"),
    ("“Imagine”", "Imagine"),
    ("O'Neill", "O’Neill"),
    ("A", "a"),  # an article, but all there is
    ("東京。", "東京"),
]
INSIDE = [
    ("It was Paris, of course.", "Paris"),
    ("He won in 1972 (December).", "1972"),
    ("答えは東京です", "東京"),
    ("about 3.5 million", "3.5"),
    ("minus 5, that is -5", "-5"),
]
APART = [
    ("London", "Paris"),
    ("Parisian", "Paris"),
    ("twenty-two", "two"),
    ("35", "3.5"),
    ("5", "-5"),
    ("1972", "197"),
    ("й", "и"),  # another letter, not an accent
    ("21", "2-1"),
    ("", "Paris"),
]


@pytest.mark.parametrize(("response", "gold"), EQUAL)
async def test_equal_in_normal_form(response: str, gold: str) -> None:
    assert await correct("exact", response, gold) == 1.0
    assert await correct("contains", response, gold) == 1.0


@pytest.mark.parametrize(("response", "gold"), INSIDE)
async def test_inside(response: str, gold: str) -> None:
    assert await correct("exact", response, gold) == 0.0
    assert await correct("contains", response, gold) == 1.0


@pytest.mark.parametrize(("response", "gold"), APART)
async def test_apart(response: str, gold: str) -> None:
    assert await correct("exact", response, gold) == 0.0
    assert await correct("contains", response, gold) == 0.0


async def test_aliases() -> None:
    golds = ("14 December 1972 UTC", "December 1972")
    assert await correct("exact", "December 1972", *golds) == 1.0
    assert await correct("contains", "In December 1972, by Apollo 17", *golds) == 1.0
    assert await correct("contains", "In 1972", *golds) == 0.0


async def test_no_gold_is_no_grade() -> None:
    for golds in ((), ("",), ("?",), (" ", "...")):
        assert await correct("contains", "Paris", *golds) is None
    assert await correct("contains", "Paris", "?", "Paris") == 1.0


def test_graders_by_name() -> None:
    for name in GRADERS:
        assert load_grader(name).name == name
        assert load_grader(name).rule
    with pytest.raises(UsageError, match="unknown grader 'numerical'; did you mean 'numeric'"):
        load_grader("numerical")
    with pytest.raises(UsageError, match="only llm accepts"):
        load_grader("numeric:3")
    with pytest.raises(UsageError, match="only llm accepts"):
        load_grader("llm:")


WORDS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=60)


@settings(deadline=None)
@given(WORDS, WORDS)
async def test_what_contains_nothing_else_equals_itself(text: str, around: str) -> None:
    if not tokens(text):
        return
    assert await correct("exact", text, text) == 1.0
    whole = f"{around} {text}"
    exact, inside = await correct("exact", whole, text), await correct("contains", whole, text)
    assert inside is not None and exact is not None and exact <= inside
