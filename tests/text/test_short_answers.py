from __future__ import annotations

import pytest

from veridical.text.short_answers import changed, figures_differ, short_match

ROOT = "What is the square root of 81?"


@pytest.mark.parametrize(
    ("question", "answer", "gold"),
    [
        (ROOT, "9", "9"),
        (ROOT, "It is nine.", "9"),
        (ROOT, "The square root of 81 is 9 because 9*9 = 81.", "9"),
        ("Height?", "It is 41 metres high.", "41 m"),
        ("How much?", "$1,000", "1000"),
        ("How many?", "eighty-one", "81"),
        ("When?", "1713-05-04", "4 May 1713"),
        ("When?", "It was signed on May 4, 1713.", "4 May 1713"),
        ("When was it signed?", "They did not sign it until 1731.", "1731"),
        ("Where?", "It is not in London but in Paris.", "Paris"),
        ("How many sides has it?", "It has 7.", "A heptagon has seven sides."),
        ("In water or in air?", "In water, or so they say.", "Water"),
        ("Who?", "The actor Guy Henry", "Guy Henry"),
        ("Who?", "Shelley", "Mary Shelley"),
    ],
)
def test_stated(question: str, answer: str, gold: str) -> None:
    match = short_match(question, answer, gold)
    assert match is not None
    assert (match.share, match.denied) == (1.0, False)


@pytest.mark.parametrize(
    ("question", "answer", "gold"),
    [
        (ROOT, "It is not 9.", "9"),
        ("Capital?", "Paris, London or Rome", "Paris"),
        ("Where?", "It is not in Paris but in London.", "Paris"),
    ],
)
def test_named_but_denied(question: str, answer: str, gold: str) -> None:
    match = short_match(question, answer, gold)
    assert match is not None
    assert (match.share, match.denied) == (1.0, True)


def test_numbers_decide() -> None:
    assert short_match(ROOT, "The square root of 81 is 3.", "9") == (0.0, False, True, False)
    assert short_match("How many eggs?", "3 + 4 = 7\nA: 7", "7") == (1.0, False, True, False)
    assert short_match("How many eggs?", "3 + 7 = 10\nA: 10", "7") == (0.0, False, True, False)
    # a year is a quantity where one is asked for
    assert short_match("How many?", "1400 of 2000 make 600", "1400") == (0.0, False, True, False)
    assert short_match("When?", "In 1400, with 600 men.", "1400") == (1.0, False, False, False)


def test_part_of_a_short_answer_and_none_of_a_statement() -> None:
    match = short_match("Who wrote it?", "Percy Shelley", "Mary Shelley")
    assert match is not None and match.share == pytest.approx(0.5)
    gold = "Dissolving salt lowers the freezing point of water."
    assert short_match("What happens?", "It goes down.", gold) is None
    match = short_match("Who wrote it?", "Bob Jones", "The book was written by Ann Jones in May.")
    assert match == (0.0, False, False, True)
    assert short_match("Why?", gold, gold) is None
    assert short_match("Why?", "?", gold) is None


@pytest.mark.parametrize(
    ("answer", "gold", "is_changed"),
    [
        ("Saturn is the largest planet.", "Jupiter is the largest planet.", True),
        ("The rebels beat the royal army there.", "The royal army beat the rebels there.", True),
        ("The tickets cannot be refunded.", "The tickets can be refunded.", True),
        ("In 1903 Marie Curie won the prize.", "Marie Curie won the prize in 1903.", False),
        ("Jupiter is the largest planet of all.", "Jupiter is the largest planet.", False),
        ("It has more mass than the others.", "Jupiter is the largest planet.", False),
        ("A heptagon has 7 sides.", "A heptagon has seven sides.", False),
        ("", "Jupiter", False),
        ("a " * 300, "b " * 300, False),
    ],
)
def test_exchanged_words(answer: str, gold: str, is_changed: bool) -> None:
    assert changed(answer, gold) is is_changed


def test_figures_of_both_differ() -> None:
    assert figures_differ("", "It had eight rooms.", "There were 7 rooms.")
    assert not figures_differ("", "It had seven rooms.", "There were 7 rooms.")
    assert not figures_differ("", "It had rooms.", "There were 7 rooms.")
    assert not figures_differ("Of the 8?", "All 8 of them.", "There were 7 rooms.")


def test_short_statements_with_other_figures_are_not_found() -> None:
    gold = "The tower is 57 m tall."
    assert short_match("", "The tower is 70 m tall.", gold) == (0.0, False, True, False)
    assert short_match("When?", "April 27, 2017", "1 December 2018") == (0.0, False, True, False)
    same = short_match("", "The spire is 57 m tall.", gold)
    assert same is not None and same.share > 0 and not same.absent
