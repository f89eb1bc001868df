"""Values for age groups."""

from __future__ import annotations

import pytest

from veridical.text.values.compare import findings
from veridical.text.values.finding import Status
from veridical.text.values.groups import ages_in

SYRUP = (
    "Dosage. Adults and adolescents over 12 years: 15 ml four times a day. Children from 6 to 12 "
    "years: 7.5 ml twice a day. Do not take it for more than 5 days."
)
TABLE = "age group,dose\nadults,40 mg\nchildren 6 to 12 years,15 mg"


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("a 7-year-old", {7}),
        ("aged 9", {9}),
        ("a child of 8", {8}),
        ("children from 3 to 5 years", {3, 4, 5}),
        ("under 3 years", {0, 1, 2}),
        ("over 12 years", set(range(13, 121))),
        ("16 years and older", set(range(16, 121))),
        ("adults", set(range(18, 121))),
        ("for 7 days at 30 degrees", set()),
    ],
)
def test_ages_of_a_text(text: str, ages: set[int]) -> None:
    assert ages_in(text) == ages


@pytest.mark.parametrize(
    ("said", "question", "source", "status"),
    [
        ("A child of 8 takes 7.5 ml.", "", SYRUP, "found"),
        ("A child of 8 takes 15 ml.", "", SYRUP, "wrong"),
        ("She takes 7.5 ml twice a day.", "My daughter is 9 years old. How much?", SYRUP, "found"),
        (
            "She takes 15 ml for no longer than 5 days.",
            "My daughter is 9 years old.",
            SYRUP,
            "wrong",
        ),
        ("An adult takes 15 ml.", "", SYRUP, "found"),
        ("An adult takes 7.5 ml.", "", SYRUP, "wrong"),
        ("You take 15 ml.", "", SYRUP, "found"),
        (
            "The 39-year-old left.",
            "",
            "Adults pay. A 41-year-old won. The 39-year-old left.",
            "found",
        ),
        ("A 7-year-old gets 15 mg.", "", TABLE, "found"),
        ("A 7-year-old gets 40 mg.", "", TABLE, "wrong"),
    ],
)
def test_a_value_for_another_age_is_wrong(
    said: str, question: str, source: str, status: Status
) -> None:
    results = findings(said, (0, len(said)), question, (source,))
    assert status in {f.status for f in results}
    assert ("wrong" in {f.status for f in results}) == (status == "wrong")
