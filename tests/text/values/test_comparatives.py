"""Tests of the direction of comparisons with a difference."""

from __future__ import annotations

import pytest

from veridical.text.values.compare import findings
from veridical.text.values.finding import Status

MODELS = "Model A weighs 1.2 kg and lasts 14 hours. Model B weighs 0.9 kg and lasts 11 hours."
YEARS = "In 2022, 1,515 people came, and in 2023, 1,825 people came."


def statuses(said: str, source: str) -> list[Status]:
    return [f.status for f in findings(said, (0, len(said)), "", (source,))]


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("Model A lasts three hours longer than model B.", "computed"),
        ("Model B lasts three hours longer than model A.", "wrong"),
        ("Model B lasts three hours longer than A.", "wrong"),
        ("Model B lasts three hours less than model A.", "computed"),
        ("Model A is 300 g heavier than B.", "computed"),
        ("Model B is 300 g heavier than A.", "wrong"),
        ("Model B is 300 g lighter than A.", "computed"),
        ("Model A is 300 g lighter than B.", "wrong"),
        ("The difference is three hours.", "computed"),
    ],
)
def test_the_larger_amount_belongs_to_the_first(said: str, status: Status) -> None:
    assert statuses(said, MODELS) == [status]


def test_years_own_the_amounts() -> None:
    assert statuses("In 2023, 310 more people came than in 2022.", YEARS)[1] == "computed"
    assert statuses("In 2022, 310 more people came than in 2023.", YEARS)[1] == "wrong"


def test_amounts_that_the_source_has_twice_decide_nothing() -> None:
    twice = f"{MODELS} Model C lasts 14 hours."
    assert statuses("Model B lasts three hours longer than A.", twice) == ["computed"]
