"""Numbers that a source gives in another form, and right answers that were called wrong."""

from __future__ import annotations

import pytest

from veridical.text.fact_sources import FactSources
from veridical.text.facts import Facts
from veridical.text.values.compare import findings
from veridical.text.values.finding import Status

GRANTS = (
    "| Date | Entry | Amount |\n|---|---|---|\n| 4 May | Refund received with regards | -320.00 |\n"
    "| 4 May | Reminder fee | 15.00 |\n\nA reminder fee of €15 is due after ten days."
)
SHARES = (
    "| Plant | Output 2022 | Output 2023 | Plan 2023 |\n|---|---|---|---|\n"
    "| Ulm | 310 | 352 | 330 |\n| Bonn | 280 | 271 | 300 |"
)
COVER = (
    "| Repair | Wait | We pay |\n|---|---|---|\n| Brakes, clutch | 6 months | 40% |\n"
    "| Gearbox | 2 months | 65% |"
)
HALL = (
    "The Lakehall seats 2,400, too few for Nordic concerts. The town offered a new roof, but the "
    "choir said that three winters in tents near Aldmoor Park would cost more."
)
MINUTES = "Bea scored after 13 minutes, Ivo (41) levelled. It was the first final of the town."

RIGHT = [
    ("Boys under 14 pay EUR 9 for a day.", "Adults EUR 20, boys under 14 EUR 9. No dogs."),
    ("She has had five late arrivals.", "Late arrivals: 5 days, all in March. Sick: 2."),
    ("Your €320 came on 4 May, so the €15 reminder fee stays.", GRANTS),
    ("Come between 3 March, 5 pm, and 9 March, noon.", "From 3 March at 5 pm to 9 March at noon."),
    ("Take off about a quarter of the height.", "Cut the canes by about a quarter but not more."),
    ("About a fifth of the members left.", "In spring about a fifth left the club."),
    ("Ulm gained most (310 to 352) and beat its plan.", SHARES),
    ("The first group comes on the 5th to 9th, the next on the 14th.",
     "First group 5-9 June, next group 14 June."),
    ("We got 31 for the design, they got 34.", "Design 31/40, Lumo 34; price 12/20."),
    ("The delay is 20 days for size XL.", "delay_days: {S: 4, L: 11, XL: 20}"),
    ("Filters are changed once a week.", "Daily: sweep. Weekly: change filters."),
    ("Those with 30 points or more may go on.", "Pupils with less than 30 points cannot go on."),
    ("The Lakehall is small for Nordic concerts, and a roof meant three cold winters.", HALL),
    ("7.5 hours are left when the 4 planned ones are counted (20 − 8.5 − 4).",
     '{"hours": 20, "used": 8.5, "planned": 4}'),
    ("Counting from 3 June, it comes between 24 June and 1 July.",
     "ordered: 3 June\ndelivery: 3-4 weeks"),
    ("She began on 15 May 2024, so her trial ends in September 2024.",
     '{"start": "2024-05-15", "trial_months": 4}'),
    ("Brakes are paid at 40%.", COVER),
]  # fmt: skip
WRONG = [
    ("For the brakes they pay 65%.", COVER, "wrong"),
    ("The next group comes on the 15th.", "First group 5-9 June, next group 14 June.", "wrong"),
    ("Filters are changed once a week.", "Daily: sweep. Monthly: change filters.", "absent"),
    ("She began on 15 May 2024, so her trial ends in October 2024.",
     '{"start": "2024-05-15", "trial_months": 4}', "absent"),
    ("Counting from 3 June, it comes on 26 June.", "ordered: 3 June\ndelivery: 3-4 weeks",
     "absent"),
    ("8.5 hours are left (20 − 8.5 − 4).", '{"hours": 20, "used": 9, "planned": 4}', "absent"),
    ("The bus takes at most 30 people.", "The bus takes at least 30 people.", "wrong"),
]  # fmt: skip


def statuses(statement: str, source: str) -> list[Status]:
    return [f.status for f in findings(statement, (0, len(statement)), "", (source,))]


@pytest.mark.parametrize(("statement", "source"), RIGHT)
def test_right_numbers_in_another_form(statement: str, source: str) -> None:
    found = statuses(statement, source)
    assert found and not {"wrong", "absent"} & set(found)


@pytest.mark.parametrize(("statement", "source", "status"), WRONG)
def test_wrong_numbers_in_like_forms(statement: str, source: str, status: str) -> None:
    assert status in statuses(statement, source)


@pytest.mark.parametrize("statement", ["It fell in the 13th minute.", "Ivo scored in the 41st."])
def test_the_number_of_an_ordinal_leaves_it_open(statement: str) -> None:
    assert statuses(statement, MINUTES) == ["open"]
    assert statuses("It fell in the 27th minute.", MINUTES) != ["open"]


def names(text: str) -> list[tuple[str, ...]]:
    (found,) = Facts(text).find([(0, len(text))])
    return [f.content for f in found if isinstance(f.content, tuple)]


def test_salutations_and_common_abbreviations_are_no_names() -> None:
    assert names("Dear Mr Okoro, the lamp is with our carrier.") == []
    assert names("You show an ID card and watch TV.") == []
    assert names("You show a card of Lumo.") == [("lumo",)]


@pytest.mark.parametrize(
    ("statement", "source", "found"),
    [
        ("They grow in Norway.", "Norwegian apples are small.", True),
        ("Most are Kenyan.", "They came from Kenya in May.", True),
        ("They grow in Norway.", "Swedish apples are small.", False),
        ("They grow in Norway.", "Norwegianapples are small.", False),
    ],
)
def test_a_country_is_found_by_its_adjective(statement: str, source: str, found: bool) -> None:
    (facts,) = Facts(statement).find([(0, len(statement))])
    mentions = [FactSources([source]).find(f) for f in facts if f.kind == "name"]
    assert [m is not None for m in mentions] == [found] * len(mentions)
    assert mentions
