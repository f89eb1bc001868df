"""Values of structured answers are looked up without a model, in both directions."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.passages import passages
from veridical.text.structure.checking import asked_values, check_value

TARIFFS = (
    "Our tariffs. With Sun you pay 12 euros a month and get 5 GB; support is by e-mail. "
    "With Moon you pay 30 euros a month and get 60 GB; support is by telephone."
)
TICKET = "Ticket QX7: train 614 leaves Basel from platform 3, coach C.\nTicket QX9: coach F."


def found(answer: str, source: str) -> dict[str, str]:
    (window,) = passages(source)
    return {text: check_value(one, window.text) for text, one in asked_values(answer).items()}


def test_values_beside_the_name_of_their_row_are_supported() -> None:
    answer = (
        "| Tariff | Price | Data |\n|---|---|---|\n| Sun | €12 | 5 GB |\n| Moon | €30 | 60 GB |"
    )
    said = found(answer, TARIFFS)
    assert said["Sun, price: €12."] == said["Sun, data: 5 GB."] == "supported"
    assert said["Moon, price: €30."] == said["Moon, data: 60 GB."] == "supported"


def test_values_of_another_row_are_contradicted() -> None:
    answer = "Tariff,Support,Data\nSun,telephone,60 GB\nMoon,e-mail,5 GB"
    assert {v for k, v in found(answer, TARIFFS).items() if "," in k} == {"contradicted"}


@pytest.mark.parametrize(
    "source",
    [
        "Tariff,Support,Data\nSun,e-mail,5 GB\nMoon,telephone,60 GB",
        "|Tariff|Support|Data|\n|---|---|---|\n|Sun|e-mail|5 GB|\n|Moon|telephone|60 GB|",
        '[{"tariff": "Sun", "support": "e-mail", "data": "5 GB"},'
        ' {"tariff": "Moon", "support": "telephone", "data": "60 GB"}]',
    ],
)
def test_rows_of_a_source_decide(source: str) -> None:
    right = '[{"tariff": "Sun", "support": "e-mail"}, {"tariff": "Moon", "data": "60 GB"}]'
    assert {v for k, v in found(right, source).items() if "," in k} == {"supported"}
    wrong = '[{"tariff": "Sun", "support": "telephone"}, {"tariff": "Moon", "data": "5 GB"}]'
    assert {v for k, v in found(wrong, source).items() if "," in k} == {"contradicted"}
    unknown = '[{"tariff": "Star", "support": "fax"}, {"tariff": "Moon", "colour": "blue"}]'
    assert {v for k, v in found(unknown, source).items() if "," in k} == {"unknown"}


def test_an_object_is_read_where_its_other_values_stand() -> None:
    right = '{"ticket": "QX7", "from": "Basel", "platform": 3, "coach": "C"}'
    assert found(right, TICKET)["Coach: C."] == "supported"
    wrong = '{"ticket": "QX7", "from": "Basel", "platform": 3, "coach": "F"}'
    assert found(wrong, TICKET)["Coach: F."] == "contradicted"


def test_an_identifier_of_another_line_is_contradicted() -> None:
    source = "Ines Roth leaves from Basel for Ulm, seat 21B.\nShe leaves again at noon, seat 9F."
    answer = '{"passenger": "Ines Roth", "from": "Basel", "to": "Ulm", "seat": "%s"}'
    assert found(answer % "21B", source)["Seat: 21B."] == "supported"
    assert found(answer % "9F", source)["Seat: 9F."] == "contradicted"


def test_two_figures_of_a_kind_decide_nothing() -> None:
    source = "The excess is 250 euros for water damage and 150 euros for all else."
    for amount in (250, 150):
        answer = f'{{"excess_eur": {amount}, "cause": "hose"}}'
        assert set(found(answer, source).values()) == {"unknown"}


def test_what_is_not_looked_up() -> None:
    assert asked_values("The tariff costs 12 euros.") == {}
    assert asked_values("Tariff: Sun\nPrice: 12") == {}
    assert asked_values('{"included": true, "note": null}') == {}


@pytest.mark.parametrize("piece", ["Sun 12 ", "Sun. ", "12 euros, ", "Sun: price 12; ", "a\n"])
def test_time_is_linear(piece: str) -> None:
    (one, *_) = asked_values('[{"tariff": "Sun", "price": "12 euros"}]').values()
    assert growth(lambda text: check_value(one, text), repeated(piece)) < MOST
