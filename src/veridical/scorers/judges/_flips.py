"""Detection of judges that follow the order of the alternatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from veridical.notices import warn_once

#: Minimum statements before a judge is assessed, and the minimum share of changed answers for a
#: warning.
_MIN_ASKED, _MIN_FLIPPED_SHARE = 10, 0.3


class FlipCount:
    """Counts, per judge, of statements asked in both orders and of changed answers."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()
        self._flipped: Counter[str] = Counter()
        self._warned: set[str] = set()

    def note(self, judge: str, answers: Iterable[tuple[str, str]]) -> None:
        """Count pairs of answers, and warn once about a judge that changes many."""
        for first, second in answers:
            self._asked[judge] += 1
            self._flipped[judge] += first != second
        asked, flipped = self._asked[judge], self._flipped[judge]
        if judge in self._warned or asked < _MIN_ASKED or flipped < _MIN_FLIPPED_SHARE * asked:
            return
        self._warned.add(judge)
        warn_once(
            f"{judge} changes its answer to {flipped} of {asked} statements when Yes and No swap "
            "places, so its verdicts follow the order; use a larger judge"
        )
