"""Detection of rejections that do not depend on load."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

_LEAST, _MOST = 20, 1000  # calls a block
_EARLY = 60  # calls
_TELLING = 2  # rejections a block
_APART = 1.2  # seconds between two blocks: longer than a limit's window of a second
_FEW = 0.15  # share
_CLEARLY, _MUCH = 0.75, 0.5  # lower load
_TEST = 0.6  # below that
_ALIKE = 3.0  # few rejections say little of a share
_WORTH_IT, _BEARABLE = 0.006, 0.4  # share
_HOLDS = 20_000  # calls for which a finding is believed
_RECENT, _LONG = 64, 512  # calls, about, over which shares are taken
_GONE = 0.003


class _Block(NamedTuple):
    load: float  # mean calls under way; a change of latency changes it
    rate: float  # calls a second
    share: float  # rejected
    slots: float  # most
    begun: float  # loop time
    ended: float


class RejectionNoise:
    """Detector of rejections that the load does not cause.

    Calls are grouped in blocks. If the load is the cause and a share s of the calls is rejected,
    no call is rejected below 1 - s of that load. If the share stays about the same there, load is not
    the cause.
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
        return not (self._blocks or self._left) and self._calls < _EARLY

    def floor(self) -> tuple[float, float]:
        """Return the lowest calls in flight and calls per second needed to test for load.

        Until the test is made, a lower load is unnecessary. Zeros once it is made, or if so many
        calls are rejected that no test is needed.
        """
        if self._left or not self._blocks:
            return 0.0, 0.0
        first, newest = self._blocks[0], self._blocks[-1]
        if first.share > _FEW or newest.begun >= first.ended + _APART:
            return 0.0, 0.0
        part = _TEST * (1 - first.share)
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
        self._share += (rejected - self._share) / _RECENT
        if self._left:
            self._long += (rejected - self._long) / _LONG
            self._level = min(self._level, 1.5 * self._long)
            self._left = 0 if self._long < _GONE else self._left - 1
        if self._begun == -math.inf:
            self._begun = now
        self._calls += 1
        self._rejected += rejected
        self._load += load
        self._slots = max(self._slots, slots)
        enough = self._calls >= _LEAST and self._rejected >= _TELLING
        if not enough and self._calls < _MOST:
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
        self._left = _HOLDS
        self._blocks.clear()
        return max(alike)

    def _empty(self, now: float) -> None:
        self._calls = self._rejected = self._load = 0
        self._slots = 0.0
        self._begun = now


def _same_in_spite_of_load(old: _Block, new: _Block) -> bool:
    # A server that tolerates bursts rejects many calls once a burst is used up, and goes on doing
    # so at a much lower load.
    bearable = (_CLEARLY if old.share <= _FEW else _MUCH) * (1 - old.share)
    return (
        new.load <= bearable * old.load
        and new.rate <= bearable * old.rate
        and new.begun >= old.ended + _APART
        and min(old.share, new.share) >= _WORTH_IT
        and max(old.share, new.share) <= _BEARABLE
        and old.share / _ALIKE <= new.share <= _ALIKE * old.share
    )
