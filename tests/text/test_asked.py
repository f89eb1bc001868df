"""What questions ask for."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.asked import asked, content_stems, holds_value


@pytest.mark.parametrize(
    "question, kind",
    [
        ("When does the shop open?", "time"),
        ("How long does delivery take?", "time"),
        ("What year was it built?", "time"),
        ("How much is a room?", "amount"),
        ("What is the price of a room?", "amount"),
        ("Who runs the shop?", "person"),
        ("Where is the shop?", "place"),
        ("Why is the shop closed?", "reason"),
        ("How do I open the lock?", "manner"),
        ("Is the shop open?", "yes_no"),
        ("Don't you sell bread?", "yes_no"),
        ("What does the shop sell?", "other"),
        ("Hello. I am new here. Can I pay by card?", "yes_no"),
        ("Wann öffnet der Laden?", "time"),
        ("Combien coûte une chambre ?", "amount"),
        ("¿Quién dirige la tienda?", "person"),
        ("Dove si trova il negozio?", "place"),
        ("Quanto custa um quarto?", "amount"),
    ],
)
def test_the_kind_of_value(question: str, kind: str) -> None:
    found = asked(question)
    assert found is not None and found.kind == kind


@pytest.mark.parametrize("question", ["", " ", "?", "What is it?"])
def test_a_question_about_nothing(question: str) -> None:
    assert asked(question) is None


@pytest.mark.parametrize(
    "kind, sentence, held",
    [
        ("time", "It opens at 9 am.", True),
        ("time", "It opens on Mondays in March.", True),
        ("time", "It opens early.", False),
        ("amount", "A room costs 80 euros.", True),
        ("amount", "Entry is free.", True),
        ("amount", "Rooms are cosy.", False),
        ("person", "It is run by Ada Lund.", True),
        ("person", "It is run by volunteers.", False),
        ("place", "You find it in Mill Lane.", True),
        ("reason", "It is closed because of the snow.", True),
        ("reason", "It is closed.", False),
        ("other", "It is closed.", True),
    ],
)
def test_whether_a_sentence_holds_such_a_value(kind, sentence: str, held: bool) -> None:
    assert holds_value(kind, sentence) is held


def test_content_words_are_compared_by_their_beginnings() -> None:
    assert content_stems("Does the shop deliver?") == ("shop", "deliv")
    assert content_stems("The shop's delivery") == ("shop'", "deliv")


@pytest.mark.parametrize("piece", ["how ", "what is the ", "when? ", "9:", "A b. "])
def test_time_grows_with_length(piece: str) -> None:
    assert growth(asked, repeated(piece)) < MOST
    assert growth(lambda text: holds_value("time", text), repeated(piece)) < MOST
