"""Short answers that are the same, or not, whatever their notation."""

from __future__ import annotations

import random

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.values.answers import final_answer, same_answer
from veridical.text.values.expressions import same_expression

SAME = [
    ("42", "42"), ("The answer is 42.", "42"), (r"\boxed{42}", "42"), ("#### 42", "42"),
    ("**42**", "42"), ("forty-two", "42"), ("[42]", "42"), ("Answer: $42$", "42"),
    ("1,250", "1250"), ("The bill comes to $1,250.00.", "1250"), ("3/4", "0.75"),
    (r"\frac{3}{4}", "3/4"), ("75 %", "0.75"), ("2 h", "120 minutes"), ("5 kg", "5000 g"),
    ("10 am", "10:00 am"), ("2:30 pm", "14:30"), ("1912-05-03", "3 May 1912"),
    ("1 million", "1000000"), ("(B)", "B"), ("Option B", "B"), ("B) blue", "B"), ("b", "B"),
    ("Yes.", "yes"), ("Yes, it is.", "Yes"), ("True", "yes"), ("nein", "no"),
    ("(2,4)", "(2, 4)"), ("[2,5)", "[2, 5)"), (r"2\sqrt{3}", "2*sqrt(3)"),
    (r"\frac{\pi}{2}", "pi/2"), ("2x+3", "3+2x"), ("{1,2}", "{2,1}"), ("x = 5", "5"),
    ('{"a": 1, "b": "x"}', '{"b": "x", "a": 1}'), ('{"a": 1}', '```json\n{"a": 1.0}\n```'),
    ("Tea, milk and rice", "- rice\n- tea\n- milk"), ("1. Tea\n2. Rice", "rice, tea"),
    (r"\frac{3}{4}", "0.75"), (r"$\frac{3}{4}$", "0.75"), (r"$\\frac{3}{4}$", "0.75"),
    (r"-\frac{3}{4}", "-0.75"), (r"\frac{-3}{4}", "-0.75"), ("-3/4", "-0.75"),
    (r"\frac34", "0.75"), (r"1\frac{3}{4}", "1.75"), (r"The share is \(\dfrac{3}{4}\).", "0.75"),
    ("Velm", "**velm**"), ("The answer is Velm", "Velm."),
]  # fmt: skip
OTHER = [
    ("43", "42"), ("24", "42"), ("-3", "3"), ("minus three", "3"), ("4/3", "3/4"),
    (r"\frac{4}{3}", r"\frac{3}{4}"), ("5 g", "5 mg"), ("5 kg", "5 lb"), ("10 am", "10 pm"),
    ("$20", "€20"), ("20 cents", "20 dollars"), ("5 °C", "5 °F"), ("3 days", "3 hours"),
    ("3 million", "3 billion"), ("2019", "2019 BC"), ("May 3", "March 5"), ("12:30", "12:03"),
    ("2 to 1", "1 to 2"), ("2-1", "1-2"), ("1.5", "15"), ("5 or 6", "5"),
    ("between 5 and 6", "5"), ("C", "B"), ("not B", "B"), ("no", "yes"), ("False", "yes"),
    ("(4,2)", "(2,4)"), ("(2,5)", "[2,5)"), (r"3\sqrt{2}", r"2\sqrt{3}"), ("2x+3", "3x+2"),
    ("2^3", "3^2"), ("10^6", "10^9"), ("{1,2}", "{2,3}"), ('{"a": 1}', '{"a": 2}'),
    ('{"a": 1}', '{"a": 1, "b": 2}'), ("tea, milk", "tea, rice"),
    (r"\frac{4}{3}", "0.75"), (r"$\\frac{4}{3}$", "0.75"), (r"-\frac{3}{4}", "0.75"),
    ("-3/4", "0.75"), (r"\frac43", "0.75"), (r"1\frac{3}{4}", "0.75"), (r"1\frac{3}{4}", "1.34"),
    ("The tower is 70 m tall.", "The tower is 57 m tall."),
]  # fmt: skip
OPEN = [
    ("Velm", "Darst"), ("", "x"), ("It goes down.", "Salt lowers the freezing point."),
    ("I don't know.", "I'm not sure."),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one: str, other: str) -> None:
    assert same_answer("", one, other) is True
    assert same_answer("", other, one) is True


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_not_the_same(one: str, other: str) -> None:
    assert same_answer("", one, other) is False
    assert same_answer("", other, one) is False


@pytest.mark.parametrize(("one", "other"), OPEN)
def test_what_notation_does_not_tell(one: str, other: str) -> None:
    assert same_answer("", one, other) is None


def test_one_value_answers_a_question_for_one() -> None:
    question = "How many people live there?"
    assert same_answer(question, "It has 1.2 million inhabitants.", "1,200,000 live there.")
    assert same_answer(question, "It has 1.2 million inhabitants.", "2.1 million do.") is False


def test_the_final_part_counts() -> None:
    assert final_answer("3 + 4 = 7, or 9.\n\nThe answer is: **12**") == "12"
    assert final_answer(r"so $\boxed{\frac{1}{2}}$ it is") == r"\frac{1}{2}"
    assert final_answer("12") == "12"


def test_expressions_of_another_kind_are_not_compared() -> None:
    assert same_expression("Paris", "2x") is None
    assert same_expression("x/0", "x/0+1") is None
    assert same_expression("((((", "2") is None


PIECES = ["(", ")", "^", "2", "x", "\\frac{1}{2}", "\\sqrt{", "}", "-", ",", "{", "[", "A)", "yes ",
          '"a":', "answer is ", "#### ", "\\boxed{", "$", "\n- ", " and ", "5 kg", "/",
          "1e9"]  # fmt: skip


def test_any_text_is_compared() -> None:
    pick = random.Random(5)
    for _ in range(600):
        one = "".join(pick.choices(PIECES, k=pick.randint(1, 30)))
        other = "".join(pick.choices(PIECES, k=pick.randint(1, 30)))
        assert same_answer(one[:20], one, other) in (True, False, None)


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_length_alone(piece: str) -> None:
    assert growth(lambda text: same_answer("", text, "42"), repeated(piece)) < MOST
