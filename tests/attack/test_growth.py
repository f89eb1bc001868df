"""No function that takes a text does work that grows with its square, whatever the text.

The process time of a text is set against that of one a sixteenth of it: about 16 times, with
sorting and a cold cache up to 50, and 256 where the work is quadratic. So far apart, the load of
the machine decides nothing. A screen at a small size picks what is measured at larger ones.
``VERIDICAL_GROWTH=all`` takes every family of texts.
"""

from __future__ import annotations

import pytest
from growing import CHOSEN, MOST, growth, no_collection
from hostile_texts import FAMILIES
from text_functions import FUNCTIONS

__all__ = ["no_collection"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_work_grows_with_the_square_of_the_text(name: str) -> None:
    function = FUNCTIONS[name]
    function("Ann Lee was born in Rome in 1990. " * 9)
    found = {kind: growth(function, family) for kind, family in CHOSEN.items()}
    assert not {kind: times for kind, times in found.items() if times > MOST}


def test_quadratic_work_is_found() -> None:
    def quadratic(text: str) -> int:
        return sum(text[i:].count("x") for i in range(0, len(text), 20))

    family = FAMILIES["letter"]
    assert growth(quadratic, family) > MOST
    assert growth(lambda text: [c for c in text for _ in range(20)], family) < MOST
