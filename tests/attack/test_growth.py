"""No function that takes a text does work that grows with its square, whatever the text.

The process time of a text is set against that of one a sixteenth of it: about 16 times, with
sorting and a cold cache up to 50, and 256 where the work is quadratic. So far apart, the load of
the machine decides nothing. A screen at a small size picks what is measured at larger ones.
``VERIDICAL_GROWTH=all`` takes every family of texts.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator, Mapping

import pytest
from hostile_texts import FAMILIES, STRUCTURES, Family
from text_functions import FUNCTIONS, Function
from value_functions import VALUE_FUNCTIONS

from veridical.text import words as splitter
from veridical.text.memo import TEXTS

#: Those that found something, and some that might.
_TOLD = (
    "newline", "space", "comma", "backtick", "emoji", "([", "tags opened", "chinese",
    "distinct sentences", "negated numbers", "1 ", "111 ", "characters 0",
    "distinct numbers", "fraction", "dates", "ratios", "spaces, then stops",
)  # fmt: skip
CHOSEN = dict(FAMILIES) if os.environ.get("VERIDICAL_GROWTH") == "all" else {
    name: FAMILIES[name] for name in _TOLD
}  # fmt: skip
#: Families for functions of values and structure.
OF_VALUES = {
    **STRUCTURES,
    **{name: FAMILIES[name] for name in ("newline", "comma", "([", "distinct numbers")},
}
TIMES = 16
SUSPECT, MOST = 40.0, 120.0  # times as long
SHORT = 0.006  # seconds, of which nothing is concluded
LONG = 2.0  # seconds, beyond which nothing larger is tried
SIZES = (32_000, 128_000, 256_000)


@pytest.fixture(autouse=True)
def no_collection() -> Iterator[None]:
    """Garbage collection takes longer the more there is, whoever made it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def seconds(function: Function, text: str, runs: int) -> float:
    """Process time of the fastest of some runs, with nothing remembered of texts before."""
    best = float("inf")
    for _ in range(runs):
        for memo in (splitter._tokens, splitter._lower_tokens):
            memo.__self__.clear()  # type: ignore[attr-defined]
            memo.__self__._old.clear()  # type: ignore[attr-defined]
        TEXTS.clear()
        start = time.process_time()
        function(text)
        best = min(best, time.process_time() - start)
    return best


def growth(function: Function, family: Family) -> float:
    """How many times as long a text takes as one a sixteenth of it, at the largest size that was
    tried: the smallest, unless that looks like more than linear; 0 where it takes no time."""
    times = 0.0
    for size in SIZES:
        large = seconds(function, family(size), 1)
        if large > SHORT:
            times = large / seconds(function, family(size // TIMES), 3)
        if times < SUSPECT or large > LONG:
            break
    return times


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_work_grows_with_the_square_of_the_text(name: str) -> None:
    assert_linear(FUNCTIONS[name], CHOSEN)


@pytest.mark.parametrize("name", VALUE_FUNCTIONS)
def test_no_work_on_values_grows_with_the_square_of_the_text(name: str) -> None:
    assert_linear(VALUE_FUNCTIONS[name], OF_VALUES)


def assert_linear(function: Function, families: Mapping[str, Family]) -> None:
    function("Ann Lee was born in Rome in 1990. " * 9)
    found = {kind: growth(function, family) for kind, family in families.items()}
    assert not {kind: times for kind, times in found.items() if times > MOST}


def test_quadratic_work_is_found() -> None:
    def quadratic(text: str) -> int:
        return sum(text[i:].count("x") for i in range(0, len(text), 20))

    family = FAMILIES["letter"]
    assert growth(quadratic, family) > MOST
    assert growth(lambda text: [c for c in text for _ in range(20)], family) < MOST
