"""No function that takes a text does work that grows with its square, whatever the text.

The process time of a text is set against that of one a sixteenth of it: about 16 times, with
sorting and a cold cache up to 50, and 256 where the work is quadratic. So far apart, the load of
the machine decides nothing. A screen at a small size picks what is measured at larger ones.
Each function is given every sixth family of texts, from another one on than its neighbours, which
have most of their code in common. ``VERIDICAL_GROWTH=all`` takes every family, and many more.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from growing import ALL, CHOSEN, MOST, Function, growth
from hostile_texts import FAMILIES, STRUCTURES, Family
from text_functions import FUNCTIONS
from value_functions import VALUE_FUNCTIONS

#: Families for functions of values and structure.
OF_VALUES = {
    **STRUCTURES,
    **{name: FAMILIES[name] for name in ("newline", "comma", "([", "distinct numbers")},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_work_grows_with_the_square_of_the_text(name: str) -> None:
    assert_linear(FUNCTIONS, name, CHOSEN)


@pytest.mark.parametrize("name", VALUE_FUNCTIONS)
def test_no_work_on_values_grows_with_the_square_of_the_text(name: str) -> None:
    assert_linear(VALUE_FUNCTIONS, name, OF_VALUES)


def assert_linear(
    functions: Mapping[str, Function], name: str, families: Mapping[str, Family]
) -> None:
    function = functions[name]
    # large patterns are compiled before the clock runs
    function("Ann Lee was born in Rome in 1990 (it is not known where). " * 9)
    kinds = list(families) if ALL else list(families)[list(functions).index(name) % 6 :: 6]
    found = {kind: growth(function, families[kind]) for kind in kinds}
    assert not {kind: times for kind, times in found.items() if times > MOST}


def test_quadratic_work_is_found() -> None:
    def quadratic(text: str) -> int:
        return sum(text[i:].count("x") for i in range(0, len(text), 20))

    family = FAMILIES["letter"]
    assert growth(quadratic, family) > MOST
    assert growth(lambda text: [c for c in text for _ in range(20)], family) < MOST
