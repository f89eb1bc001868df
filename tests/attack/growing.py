"""The growth of a function's work with its text."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

from hostile_texts import FAMILIES, Family

from veridical.text import words as splitter
from veridical.text.memo import TEXTS

Function = Callable[[str], object]
#: Those that found something, and some that might.
_TOLD = (
    "newline", "space", "comma", "backtick", "emoji", "([", "tags opened", "chinese",
    "distinct sentences", "negated numbers", "1 ", "111 ", "characters 0",
    "distinct numbers", "fraction", "dates", "ratios", "spaces, then stops",
)  # fmt: skip
ALL = os.environ.get("VERIDICAL_GROWTH") == "all"
CHOSEN = dict(FAMILIES) if ALL else {
    name: FAMILIES[name] for name in _TOLD
}  # fmt: skip
TIMES = 16
SUSPECT, MOST = 40.0, 120.0  # times as long
SHORT = 0.006  # seconds, of which nothing is concluded
LONG = 2.0  # seconds, beyond which nothing larger is tried
SIZES = (32_000, 128_000, 256_000)


def seconds(function: Function, family: Family, size: int, runs: int) -> float:
    """Process time of the fastest of some runs, with nothing remembered of texts before."""
    best = float("inf")
    for run in range(runs):
        text = family(size + 100 * run)  # another one, should it be kept elsewhere
        for memo in (splitter._tokens, splitter._lower_tokens):
            memo.__self__.clear()  # type: ignore[attr-defined]
            memo.__self__._old.clear()  # type: ignore[attr-defined]
        TEXTS.clear()
        start = time.process_time()
        function(text)
        best = min(best, time.process_time() - start)
    return best


def growth(function: Function, family: Family) -> float:
    """Return how many times as long a text takes as a sixteenth of it; 0 where it takes none.

    The size is the largest that was tried: the smallest, unless that looks more than linear.
    """
    times = 0.0
    gc.disable()  # collection takes longer the more there is, whoever made it
    try:
        for size in SIZES:
            large = seconds(function, family, size, 1)
            short = large <= SHORT
            times = 0.0 if short else large / seconds(function, family, size // TIMES, 3)
            if times < SUSPECT or large > LONG:
                break
    finally:
        gc.enable()
    return times
