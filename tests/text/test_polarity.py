"""Statements that say the opposite in the same words, and those that do not."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.polarity import agrees, opposes

OPPOSITE = [
    ("Dogs are allowed.", "Dogs are not allowed."),
    ("Dogs are not allowed on deck.", "Dogs are allowed on deck."),
    ("Dogs are forbidden on deck.", "Dogs are allowed on deck."),
    ("Dogs are allowed on deck.", "No dogs are allowed on deck."),
    ("The shop is closed on Monday.", "The shop is open on Monday."),
    ("Breakfast is included in the price.", "Breakfast is not included in the price."),
    ("Breakfast is excluded from the price.", "Breakfast is included in the price."),
    ("Call at least 3 days before the trip.", "Call at most 3 days before the trip."),
    ("Report it after leaving the airport.", "Report it before leaving the airport."),
    ("Sales increased in May.", "Sales decreased in May."),
    ("Tea without sugar is served.", "Tea with sugar is served."),
    ("Phones never ring here.", "Phones ring here."),
    ("The fee is refundable.", "The fee is non-refundable."),
    ("The licence is valid.", "The licence is invalid."),
    ("The team lost the final.", "The team won the final in May."),
    ("You must not pay in cash.", "You must pay in cash."),
    ("He did not attend the fair.", "He attended the fair."),
    ("The audit found gaps: one clerk signs.", "The audit found no gaps, but one clerk signs."),
    ("Season tickets can be shared.", "Season tickets cannot be shared."),
    ("Season tickets can be shared.", "Season tickets and passes cannot be shared."),
    ("Sale items can be refunded.", "Sale items may be exchanged but not refunded."),
    ("Sale items can't be exchanged.", "Sale items may be exchanged, but not refunded."),
    (
        "Dogs are not allowed in the garden.",
        "Dogs are allowed in the garden but not in the house.",
    ),
]
OTHER = [
    ("Sale items can be exchanged.", "Sale items may be exchanged but not refunded."),
    ("Sale items can't be refunded.", "Sale items may be exchanged but not refunded."),
    ("Sale items can be exchanged but not refunded.", "Items may be exchanged but not refunded."),
    ("Dogs are allowed in the garden.", "Dogs are allowed in the garden but not in the house."),
    ("No, it is free of nuts.", "It is free of nuts."),
    ("Dogs are allowed on deck.", "Cats are not allowed on deck."),
    ("Dogs are allowed.", "Dogs are allowed, but not on deck."),
    ("Wash before drying.", "Dry after washing."),
    ("The tower is blue.", "The tower is not red but blue."),
    ("Members can borrow books.", "Members can borrow books, and guests cannot borrow books."),
    ("It is not impossible to win.", "It is possible to win."),
    ("Items can be returned.", "Items can be returned unless opened."),
    ("Dogs are allowed on Sunday.", "Dogs are not allowed on Monday."),
    ("The shop is open on Sunday.", "The shop is open on Monday and closed on Sunday mornings."),
    ("Dogs are allowed if leashed.", "Dogs are not allowed."),
    ("Not all dogs are allowed.", "Dogs are allowed."),
    ("Refunds take 5 days.", "Refunds do not take 7 days."),
    ("The pool is not only warm.", "The pool is warm."),
    ("No fee is charged.", "A fee is not charged."),
    ("It is open before 9.", "It is open before 9 and after 5."),
    ("The bus leaves at 9.", "The bus arrives at 10."),
    ("Children under 6 travel free.", "Children over 6 do not travel free."),
    ("The lid is not hot.", "The lid, which is not metal, is hot."),
    ("Sales rose in May.", "Sales fell in April and rose in May."),
    ("Ann is older than Bob.", "Bob is younger than Ann."),
    ("You need no ticket.", "A ticket is not required."),
    ("Dogs are not allowed inside.", "Dogs are allowed outside."),
    ("Refunds are paid.", "Late refunds are not paid."),
    ("The swimmers who won took part.", "The swimmers who lost took no part in it."),
]


def test_a_pronoun_has_the_name_before_it() -> None:
    river = "The Oder is a long river in Europe. "
    assert opposes("The Oder is in South Asia.", "It is not in South Asia.", river)
    assert not opposes("The Lena is in South Asia.", "It is not in South Asia.", river)
    assert not opposes("The Oder is in South Asia.", "It is not in South Asia.")


@pytest.mark.parametrize(("statement", "sentence"), OPPOSITE)
def test_opposites(statement, sentence):
    assert opposes(statement, sentence)
    assert not agrees(statement, sentence)


@pytest.mark.parametrize(("statement", "sentence"), OTHER)
def test_no_opposites(statement, sentence):
    assert not opposes(statement, sentence)


@pytest.mark.parametrize("sentence", sorted({s for pair in OPPOSITE for s in pair}))
def test_nothing_is_its_own_opposite(sentence):
    assert not opposes(sentence, sentence)


@pytest.mark.parametrize(
    "piece", ["dogs are not ", "no longer ", "open closed ", "not ", "is x but not "]
)
def test_time_grows_with_length_alone(piece):
    assert growth(lambda text: opposes("Dogs are open.", text[:900]), repeated(piece)) < MOST
    assert growth(lambda text: opposes(text[:900], text[:900]), repeated(piece)) < MOST
