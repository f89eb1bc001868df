"""The multiple-choice grader: letters, option texts, and what only looks like one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.tuning.graders import load_grader
from veridical.tuning.graders.choice import named_option, options_of

CHOICES = {"A": "bank", "B": "library", "C": "department store", "D": "mall", "E": "New York"}


async def grade(response: str, gold: str = "B", choices: Any = CHOICES) -> Any:
    record = Record(response=response, reference=(gold,), meta={"choices": choices})
    return await load_grader("choice").grade(record)


NAMED = [
    ("B", "B"),
    ("b", "B"),
    ("B.", "B"),
    ("(B)", "B"),
    ("**B**", "B"),
    ("Option B", "B"),
    ("option (B)", "B"),
    ("Answer: B", "B"),
    ("B) library", "B"),
    ("B. library, because it is quiet", "B"),
    ("B: library", "B"),
    ("B, since a bank has another door", "B"),
    ("The answer is B.", "B"),
    ("The correct answer is (B) library", "B"),
    ("the answer is b", "B"),
    ("The answer is **B**", "B"),
    ("I would go with option (B).", "B"),
    ("The correct option is: C", "C"),
    ("It should be (C), the store", "C"),
    ("My answer to this question is D because of the doors", "D"),
    ("So it's B.", "B"),
    ("A", "A"),
    ("A.", "A"),
    ("The answer is A", "A"),
    ("The answer is A because of security", "A"),
    ("The answer is (A) bank", "A"),
    ("library", "B"),
    ("A library.", "B"),  # an article
    ("A. library", "A"),  # a letter, whatever text follows
    ("A revolving door is found at a library.", "B"),
    ("The answer is a library", "B"),
    ("It is in New York", "E"),
    ("The department store", "C"),
    ("Option A is wrong; the answer is B", "B"),
    ("First I thought the answer is C. Now the answer is B.", "B"),
    ("The answer is not A but B", "B"),
    ("The answer is B, not C.", "B"),
    ("B\n\nExplanation: A is wrong because it is a bank.", "B"),
    ("Option B is right. Option C is incorrect.", "B"),
    ("It is not (C). It is (B).", "B"),
    ("The answer isn't D; choose B", "B"),
    ("Ｂ", "B"),  # full width
    ("<answer>B</answer>", "B"),
    ('{"answer": "B"}', "B"),
]
NONE = [
    "",
    "I do not know",
    "A door is a door",  # A and a are articles here
    "A or B",
    "The answer is A or B",
    "either (A) or (C)",
    "A bank or a library",
    "Both B and C are right",
    "F",
    "The answer is F",
    "The answer isn't B.",
    "The right answer is not B.",
    "B is wrong.",
    "A. bank\nB. library\nC. department store\nD. mall\nE. New York",  # the options said over
    "B. library\nC. department store",
    "ABCDE",
    "42",
]


@pytest.mark.parametrize(("response", "letter"), NAMED)
async def test_the_option_named(response: str, letter: str) -> None:
    assert (await grade(response, letter)).correct == 1.0
    other = "C" if letter != "C" else "D"
    assert (await grade(response, other)).correct == 0.0


@pytest.mark.parametrize("response", NONE)
async def test_no_single_option_is_wrong(response: str) -> None:
    found = await grade(response, "B")
    assert found.correct == 0.0 and found.reason


async def test_the_gold_may_be_the_text_or_the_letter() -> None:
    assert (await grade("B", "Library")).correct == 1.0
    assert (await grade("the library", "(B)")).correct == 1.0
    assert (await grade("B", "museum")).correct is None


async def test_options_inside_options() -> None:
    choices = ["each other", "learn from each other", "vitamin C", "vitamin"]
    assert (await grade("to learn from each other", "B", choices)).correct == 1.0
    assert (await grade("Vitamin C", "C", choices)).correct == 1.0
    assert (await grade("some vitamin", "D", choices)).correct == 1.0


async def test_an_option_that_looks_like_a_lettered_one() -> None:
    choices = ["B. Franklin", "A. Lincoln", "G. Washington"]
    assert (await grade("A. Lincoln", "B", choices)).correct == 1.0
    assert (await grade("B. Franklin", "A", choices)).correct == 1.0


async def test_options_alike() -> None:
    choices = ["bent", "new", "bent"]  # as in CommonsenseQA
    for response in ("bent", "It is bent.", "A", "C"):
        assert (await grade(response, "C", choices)).correct == 1.0
        assert (await grade(response, "B", choices)).correct == 0.0


async def test_numbered_options_and_other_shapes() -> None:
    numbered = [{"label": "1", "text": "ice"}, {"label": "2", "text": "steam"}]
    assert options_of(numbered) == {"1": "ice", "2": "steam"}
    assert (await grade("2", "2", numbered)).correct == 1.0
    assert (await grade("The answer is (2).", "steam", numbered)).correct == 1.0
    for broken in (None, 5, "A", ["a", 1], [{"label": "A"}], {"A": None}, {"AB": "x"}, [[]]):
        assert options_of(broken) == {}


async def test_letters_alone_without_options() -> None:
    record = Record(response="The answer is (C).", reference=("C",))
    assert (await load_grader("choice").grade(record)).correct == 1.0
    record = Record(response="Paris", reference=("Paris",))
    assert (await load_grader("choice").grade(record)).correct is None


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_without_trouble(text: str) -> None:
    letter, why = named_option(text, CHOICES)
    assert (letter is None or letter in CHOICES) and why
