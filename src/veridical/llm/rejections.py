"""Detection of rejections that do not depend on load."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

_MIN_CALLS_PER_BLOCK, _MAX_CALLS_PER_BLOCK = 20, 1000
_MAX_EARLY_CALLS = 60
_MIN_REJECTIONS_PER_BLOCK = 2
#: Longer than the window of a limit per second.
_MIN_SECONDS_BETWEEN_BLOCKS = 1.2
_FEW_REJECTIONS_SHARE = 0.15
#: Load of a later block, as a part of an earlier one's, that is clearly lower.
_LOWER_LOAD_FEW_REJECTIONS, _LOWER_LOAD_MANY_REJECTIONS = 0.75, 0.5
_TEST_LOAD = 0.6
#: A few rejections estimate a share only roughly.
_MAX_SHARE_RATIO = 3.0
_MIN_SHARE, _MAX_SHARE = 0.006, 0.4
_CALLS_A_FINDING_HOLDS = 20_000
#: Calls, about, over which shares are averaged.
_RECENT_CALLS, _LONG_TERM_CALLS = 64, 512
_MIN_LASTING_SHARE = 0.003


class _Block(NamedTuple):
    load: float  # mean calls in flight; changes with latency
    rate: float  # calls per second
    share: float  # share rejected
    slots: float  # maximum
    begun: float  # loop time
    ended: float


class RejectionNoise:
    """Detector of rejections that the load does not cause.

    Calls are grouped in blocks. Let a share s of the calls be rejected. If the load is the cause,
    no call is rejected below 1 - s of that load. If the share stays about the same there,
    load is not the cause.
    """

    def __init__(self) -> None:
        self._share = self._long = 0.0
        self._level = 0.0
        self._left = 0
        self._blocks: deque[_Block] = deque(maxlen=16)
        self._slots = 0.0
        self._begun = -math.inf
        self._empty(-math.inf)

    @property
    def early(self) -> bool:
        """Return True if it is too early to estimate a load-independent share."""
        return not (self._blocks or self._left) and self._calls < _MAX_EARLY_CALLS

    def floor(self) -> tuple[float, float]:
        """Return the lowest calls in flight and calls per second needed to test for load.

        Until the test is made, a lower load is unnecessary. Zeros once it is made, or if many
        calls are rejected.
        """
        if self._left or not self._blocks:
            return 0.0, 0.0
        first, newest = self._blocks[0], self._blocks[-1]
        if (
            first.share > _FEW_REJECTIONS_SHARE
            or newest.begun >= first.ended + _MIN_SECONDS_BETWEEN_BLOCKS
        ):
            return 0.0, 0.0
        part = _TEST_LOAD * (1 - first.share)
        return part * first.load, part * first.rate

    def bears(self) -> bool:
        """Return True if a rejection now is expected at any load."""
        if self._share > 1.5 * self._level + 0.08:
            self._left = 0
        return self._left > 0

    def report(self, load: int, rejected: bool, slots: float, now: float) -> float | None:
        """Record one call made while ``load`` calls were in flight, itself included.

        Returns:
            The slots to restore if cutting them has proved useless, else None.
        """
        self._share += (rejected - self._share) / _RECENT_CALLS
        if self._left:
            self._long += (rejected - self._long) / _LONG_TERM_CALLS
            self._level = min(self._level, 1.5 * self._long)
            self._left = 0 if self._long < _MIN_LASTING_SHARE else self._left - 1
        if self._begun == -math.inf:
            self._begun = now
        self._calls += 1
        self._rejected += rejected
        self._load += load
        self._slots = max(self._slots, slots)
        enough = self._calls >= _MIN_CALLS_PER_BLOCK and self._rejected >= _MIN_REJECTIONS_PER_BLOCK
        if not enough and self._calls < _MAX_CALLS_PER_BLOCK:
            return None
        new = _Block(
            load=self._load / self._calls,
            rate=self._calls / max(now - self._begun, 1e-3),
            share=self._rejected / self._calls,
            slots=self._slots,
            begun=self._begun,
            ended=now,
        )
        self._empty(now)
        if self._left or not enough:
            return None
        alike = [old.slots for old in self._blocks if _same_in_spite_of_load(old, new)]
        self._blocks.append(new)
        if not alike:
            return None
        self._level = self._share = self._long = new.share
        self._left = _CALLS_A_FINDING_HOLDS
        self._blocks.clear()
        return max(alike)

    def _empty(self, now: float) -> None:
        self._calls = self._rejected = self._load = 0
        self._slots = 0.0
        self._begun = now


def _same_in_spite_of_load(old: _Block, new: _Block) -> bool:
    # A server that tolerates bursts rejects many calls once a burst is used up, and goes on doing
    # so at a much lower load.
    bearable = (
        _LOWER_LOAD_FEW_REJECTIONS
        if old.share <= _FEW_REJECTIONS_SHARE
        else _LOWER_LOAD_MANY_REJECTIONS
    ) * (1 - old.share)
    return (
        new.load <= bearable * old.load
        and new.rate <= bearable * old.rate
        and new.begun >= old.ended + _MIN_SECONDS_BETWEEN_BLOCKS
        and min(old.share, new.share) >= _MIN_SHARE
        and max(old.share, new.share) <= _MAX_SHARE
        and old.share / _MAX_SHARE_RATIO <= new.share <= _MAX_SHARE_RATIO * old.share
    )
