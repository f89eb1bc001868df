"""What a text states word for word, and what it only quotes, asks, supposes or denies."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.copies import is_copy, is_whole

TEXT = """# Opening hours

The **tower** opens at 9 and closes at 5. Entry is free; parking is not.
Guides say “mind the steps”.

Tools:
- hammer
- a small saw

Myths:
- Bats are blind.

If it rains, the lift stops and the café opens. Is the roof open? Owls can turn their heads.
That is false. It is not true that the wall is high. The lid costs 5 euros and 50 cents.
Some claim: "The stairs are made of gold."
"""


@pytest.mark.parametrize(
    "statement",
    [
        "The tower opens at 9 and closes at 5.",
        "the tower opens  at 9 and closes at 5",
        "The tower opens at 9.",
        "Entry is free.",
        "Entry is free; parking is not.",
        'Guides say "mind the steps".',
        "- hammer",
        "A small saw.",
        "Opening hours",
        "It is not true that the wall is high.",
        "If it rains, the lift stops and the café opens.",
        "Is the roof open?",
        "The lid costs 5 euros and 50 cents.",
    ],
)
def test_copies(statement):
    assert is_copy(statement, TEXT)


@pytest.mark.parametrize(
    "statement",
    [
        "The tower closes at 9.",
        "The wall is high.",
        "Bats are blind.",
        "Owls can turn their heads.",
        "The stairs are made of gold.",
        "The roof is open.",
        "The café opens.",
        "The lift stops.",
        "The lid costs 5 euros.",
        "Is entry free?",
        "Parking is free.",
        "mind the steps",
        "9",
        "",
        "...",
    ],
)
def test_what_is_no_copy(statement):
    assert not is_copy(statement, TEXT)


def test_line_breaks_and_hyphens_do_not_matter():
    assert is_copy("The library is open.", "Soon. The libra-\nry is\nopen. Late.")
    assert is_whole("H2SO4", " H2SO4. ")
    assert not is_whole("H2SO4", "H2SO4 is an acid.")


@pytest.mark.parametrize(
    "piece",
    ["a and was ", "- a\n", "Myths:\n", "It is; ", "**a** ", "[a](b) ", "a: b. ", '"a" ', "not "],
)
def test_time_grows_with_length_alone(piece):
    assert growth(lambda text: is_copy("It is so.", text), repeated(piece)) < MOST
