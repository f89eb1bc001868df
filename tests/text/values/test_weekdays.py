"""Tests of values for days of the week."""

from __future__ import annotations

import pytest

from veridical.text.values.compare import findings
from veridical.text.values.finding import Status
from veridical.text.values.places import placed
from veridical.text.values.weekdays import days_in, days_of

HOURS = (
    "Opening hours of the town library: Monday to Friday 9:00-19:00, Saturday 10:00-17:00, "
    "closed on Sundays and public holidays."
)
UNTIL = "Open Monday through Thursday from 8:00 until 18:00, Fridays until 14:00."
PRICES = "Tickets: weekdays €8, weekend €12."
GERMAN = "Montag bis Freitag 8 bis 18 Uhr, Samstag 9 bis 13 Uhr"
WORKING = {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("on Saturdays", {5}),
        ("Fri-Mon", {4, 5, 6, 0}),
        ("Mon, Weds and Thurs.", {0, 2, 3}),
        ("weekdays and Sundays", WORKING | {6}),
        ("daily", set(range(7))),
        ("lundi au vendredi", WORKING),
        ("she sat in the sun and was wed", set()),
        ("the Sun King, Monica and Frisk", {6}),  # one word alone may be a day
        ("", set()),
    ],
)
def test_days_of_a_text(text: str, days: set[int]) -> None:
    assert days_in(text) == days


@pytest.mark.parametrize(
    ("text", "days"),
    [
        (HOURS, [WORKING, WORKING, {5}, {5}]),
        ("Opens at 9 on Saturdays and at 10 on Sundays.", [{5}, {6}]),
        ("Mon - Fri: 9:00-19:00 / Sat: 10:00-17:00", [WORKING, WORKING, {5}, {5}]),
        ("Sundays and public holidays 10:00, other days 9:00", [{6}, set()]),
        ("It opens at 9. On Monday it is closed.", [set()]),
        ("Closed at 17:00 on Saturdays and 19:00 otherwise", [{5}, set()]),
    ],
)
def test_days_of_values(text: str, days: list[set[int]]) -> None:
    read = placed(text)
    assert [days_of(read, i) for i in range(len(read.values))] == days


@pytest.mark.parametrize(
    ("said", "question", "source", "status"),
    [
        ("It closes at 5 p.m.", "When does the library close on Saturdays?", HOURS, "found"),
        ("It closes at 7 p.m.", "When does the library close on Saturdays?", HOURS, "wrong"),
        ("It closes at 7 p.m.", "When does the library close on a Tuesday?", HOURS, "found"),
        ("It closes at 5 p.m.", "When does the library close on a Tuesday?", HOURS, "wrong"),
        ("It closes at 7 p.m.", "When does the library close?", HOURS, "found"),
        ("On Saturday it opens at 9:00.", "", HOURS, "wrong"),
        ("It closes at 19:00, on Saturdays.", "", HOURS, "wrong"),
        ("It closes at 2 pm.", "When does it close on Friday?", UNTIL, "found"),
        ("It closes at 6 pm.", "When does it close on Friday?", UNTIL, "wrong"),
        ("A ticket costs €12 on Tuesday.", "", PRICES, "wrong"),
        ("A ticket costs €8 on Tuesday.", "", PRICES, "found"),
        ("Samstags ist bis 18 Uhr offen.", "", GERMAN, "wrong"),
        ("Samstags ist bis 13 Uhr offen.", "", GERMAN, "found"),
    ],
)
def test_a_value_of_another_day_is_wrong(
    said: str, question: str, source: str, status: Status
) -> None:
    (found,) = findings(said, (0, len(said)), question, (source,))
    assert found.status == status


def test_a_value_beside_one_with_a_day_may_be_of_any() -> None:
    said = "It is open until 5 pm on Saturdays and 7 pm otherwise."
    found = findings(said, (0, len(said)), "When is it open?", (HOURS,))
    assert [f.status for f in found] == ["found", "found"]
