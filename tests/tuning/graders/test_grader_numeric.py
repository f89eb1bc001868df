"""The numeric grader on answers as models write them; gold values worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest
from growing import MOST, growth
from hostile_texts import repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.core.records import Record
from veridical.text.final_number import final_number
from veridical.tuning.graders import load_grader


async def correct(response: str, *gold: str) -> float | None:
    grade = await load_grader("numeric").grade(Record(response=response, reference=gold))
    return grade.correct


RIGHT = [
    ("18", "18"),
    ("18.", "18"),
    ("18.00", "18"),
    ("1,000", "1000"),
    ("1000", "1,000"),
    ("1\u202f000 km", "1000"),  # a narrow no-break space
    ("1 000 000", "1000000"),
    ("1{,}234", "1234"),
    ("1,00,000 rupees", "100000"),  # Indian grouping
    ("$5.00", "5"),
    ("-$5", "-5"),
    ("$-5", "-5"),
    ("US$ 5", "5"),
    ("€3.50 each", "3.5"),
    ("3/4", "0.75"),
    ("0.75", "3/4"),
    ("1 1/2 cups", "1.5"),
    ("2½", "2.5"),
    ("\\frac{3}{4}", "0.75"),
    ("-5", "-5"),
    ("\u22125 degrees", "-5"),  # the minus sign
    ("(-5)", "-5"),
    ("- 5 apples", "5"),  # a list's dash
    ("16-3-4=9", "9"),
    ("50%", "50"),
    ("50%", "0.5"),
    ("0.5", "50%"),
    ("20 percent", "20"),
    ("2 million people", "2000000"),
    ("1e5", "100000"),
    ("18 m²", "18"),
    ("5 cm^3", "5"),
    ("5kg", "5"),
    ("eighteen", "18"),
    ("Eighteen", "18"),
    ("She has twenty-two apples.", "22"),
    ("Zero.", "0"),
    ("The answer is one.", "1"),
    ("eighteen, the right one", "18"),
    ("minus five", "-5"),
    ("The answer is Negative Twenty-Five degrees.", "-25"),
    ("negative 5", "-5"),
    ("It is minus $5", "-5"),
    ("20 minus 2", "2"),
    ("twenty minus two", "2"),
    ("150%", "1.5"),
    ("1.5", "150%"),
    ("1/3", "0.333333"),
    ("**18**", "18"),
    ("\\boxed{18}", "18"),
    ("$\\$18$", "18"),
    ("١٨", "18"),  # Arabic-Indic digits
    ("１８", "18"),
    ("0.3333333", "1/3"),
    # where the answer is
    ("He buys 3 boxes in 2019. The answer is 18. Each of the 3 has 6.", "18"),
    ("The answer is 3 + 4 = 7 apples.", "7"),
    ("So the final answer is: **$1,250.50** (of 2000)", "1250.5"),
    ("the answer is 17. No, wait: the answer is 18", "18"),
    ("The answer is not 5. The answer is 6 out of 9.", "6"),
    ("Answer: 72 clips\n\nIn May she sold 48.", "72"),
    ("16 - 3 - 4 = <<16-3-4=9>>9 eggs\nA: 18", "18"),
    ("9 * 2 = 18\n#### 18", "18"),
    ("The answer is\n\n18", "18"),
    ("He was born in 1990, so he is 29 years old", "29"),
    ("First 3, then 4, at last 18", "18"),
]
WRONG = [
    ("", "18"),
    ("I do not know.", "18"),
    ("180", "18"),
    ("1.8", "18"),
    ("-18", "18"),
    ("minus eighteen", "18"),
    ("0.33333", "1/3"),
    ("18", "-18"),
    ("1,000,001", "1000000"),
    ("The answer is 18, not 17.", "17"),
    ("The answer is 5% of 18", "18"),
    ("COVID-19", "19"),
    ("H2O", "2"),
    ("version 1.5.18", "18"),
    ("at 3:18", "18"),
    ("the 18th", "18"),
    ("10^18", "18"),
    ("12,18", "18"),  # neither grouping nor a list
    ("1/0", "0"),
    ("9" * 5000, "18"),
    ("1e999999999", "18"),
]


@pytest.mark.parametrize(("response", "gold"), RIGHT)
async def test_right(response: str, gold: str) -> None:
    assert await correct(response, gold) == 1.0


@pytest.mark.parametrize(("response", "gold"), WRONG)
async def test_wrong(response: str, gold: str) -> None:
    assert await correct(response, gold) == 0.0


async def test_one_of_several_golds_is_enough() -> None:
    assert await correct("It takes 12 hours", "11", "12") == 1.0
    assert await correct("It takes 13 hours", "11", "12") == 0.0


async def test_a_whole_solution_may_be_the_gold() -> None:
    assert await correct("18", "She sells 16 - 3 - 4 = 9 eggs.\n#### 18") == 1.0


async def test_no_gold_number_is_no_grade() -> None:
    grader = load_grader("numeric")
    assert (await grader.grade(Record(response="18", reference=("many",)))).correct is None
    assert (await grader.grade(Record(response="18"))).correct is None
    grade = await grader.grade(Record(response="17 eggs", reference=("18",)))
    assert grade.correct == 0.0 and grade.label == 1.0 and "17" in grade.reason


@settings(deadline=None)
@given(st.integers(-(10**12), 10**12))
def test_every_whole_number_reads_back_in_every_notation(n: int) -> None:
    for text in (f"{n}", f"{n:,}", f"It is {n:,}.", f"The answer is {n}", f"\\boxed{{{n:,}}}"):
        found, _ = final_number(text)
        assert found is not None and found.value == n, text


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 10**4))
def test_decimals_and_fractions_read_back(a: int, b: int) -> None:
    found, _ = final_number(f"that makes {a}/{b}")
    assert found is not None and found.value == Fraction(a, b)
    found, _ = final_number(f"that makes -{a}.{b:04d} in all")
    assert found is not None and found.value == -Fraction(f"{a}.{b:04d}")


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_without_trouble(text: str) -> None:
    final_number(text)


@pytest.mark.parametrize("piece", ["the answer is ", "1,", "-", "A:\n"])
def test_long_answers_take_no_more_than_linear_time(piece: str) -> None:
    assert growth(final_number, repeated(piece)) < MOST
