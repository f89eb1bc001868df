"""Growth of a function's time with the length of its text."""

from __future__ import annotations

import time
from collections.abc import Callable

from veridical.text.memo import TEXTS

SHORT, FACTOR = 20_000, 10
FLOOR = 5e-3  # seconds
#: A quadratic function takes FACTOR times as much.
MOST = 4 * FACTOR


def growth(function: Callable[[str], object], piece: str) -> float:
    """Return by how much ten times the text takes longer; of short times, than :data:`FLOOR`."""

    def seconds(length: int) -> float:
        best = float("inf")
        for _ in range(3):
            TEXTS.clear()
            text = piece * (length // len(piece))
            began = time.perf_counter()
            function(text)
            best = min(best, time.perf_counter() - began)
        return best

    return seconds(SHORT * FACTOR) / max(seconds(SHORT), FLOOR)
