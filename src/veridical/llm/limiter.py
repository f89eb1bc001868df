"""Adaptive limits on concurrent calls and call rate.

Two quantities are limited: calls in flight (``slots``) and calls per second (``rate``). Servers
reject calls for either without saying which. So the limit that delayed the rejected call is cut,
and the limit that delays waiting calls grows.

- Slow start: while all slots are in use, slots at most double per round of calls and per
  second. This ends when a call is first rejected. Only then is there a rate. If one of the
  first few dozen calls is rejected, slots only stop growing until a second rejection. Servers
  fail now and then, and at a tiny load such a failure looks like a limit.
- A rejection (429, 503, 529) halves the limit, or cuts it by a fifth after a calm period. It
  does so once per episode: rejections of calls sent before the cut carry no information
  about the cut.
- The share of those calls that were rejected shows how far above the limit they were. Within
  a second of the cut, growth is back just under the limit that follows.
- After that, growth is 1 % per second, doubling every four seconds since the last cut. A
  limit grows only while calls wait for it.
- After several rejections in a row nothing is sent until the server's Retry-After is over.
  Then one call is sent, and its outcome decides.
- Rejections that do not get rarer at a lower load have another cause. The cuts are undone and
  that share of rejections is accepted (:mod:`veridical.llm.rejections`).
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from dataclasses import dataclass
from typing import Literal

from veridical.llm.rejections import RejectionNoise
from veridical.llm.retries import LONGEST_ASKED, backoff

Outcome = Literal["accepted", "rejected", "lost"]
Hindrance = Literal["slots", "pace"]

_INITIAL_SLOTS = 10
_CUT, _GENTLE_CUT = 0.5, 0.8
#: Without a cut for this long, the next one is gentle.
_CALM_SECONDS = 2.0
_MIN_EPISODE_SECONDS = 0.1
#: Part of the limit that rejections indicate.
_RECOVERY_PART_OF_LIMIT = 0.97
#: Part of a level that was just rejected: a first estimate, not far above the limit.
_ESTIMATED_PART_OF_REJECTED_LEVEL = 0.8
#: Calls whose rejections show how far above the limit they were.
_CALLS_FOR_ESTIMATE = 8
_GROWTH_PER_SECOND = 0.01
_GROWTH_DOUBLING_SECONDS = 4.0
_MAX_GROWTH_PER_SECOND = 0.5
#: Calls per second: rejections alone cannot lead to fewer.
_MIN_RATE = 4.0
_REJECTIONS_BEFORE_PAUSE = 8
#: Without an accepted call for this long, the server counts as silent.
_SILENCE_SECONDS = 0.5
#: Maximum lateness that may be caught up.
_MAX_LATENESS_SECONDS = 0.05
#: Finer than timers are.
_TIMER_SECONDS = 0.001
_LONG_PAUSE_SECONDS = 5.0
#: Pace in slow start, relative to what the slots can take.
_SLOW_START_HEADROOM = 1.25


@dataclass(eq=False)
class Ticket:
    """Call in flight.

    Attributes:
        serial: ordinal of the call.
        started: loop time.
        load: calls in flight when it was sent, itself included.
        hindered: the limit that delayed it.
    """

    serial: int
    started: float
    load: int
    hindered: Hindrance | None


@dataclass
class _Episode:
    """State after a first rejection.

    Attributes:
        what: the limit that was cut.
        before: its level until then.
        calm: whether no cut had occurred for a while.
        first, end: serials of the rejected call, and of the first call sent after the cut.
        limit: the estimated limit, if known.
        calls, rejected: counts between these serials, of calls with an outcome.
    """

    what: Hindrance
    before: float
    calm: bool
    first: int
    end: int
    at: float
    limit: float
    calls: int = 1
    rejected: int = 1
    over: bool = False


class Limiter:
    """Adaptive limiter of calls, for one event loop.

    Args:
        most: maximum calls in flight, from 1.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.slots = float(min(_INITIAL_SLOTS, most))
        self.rate = math.inf  # calls per second
        self.under_way = 0
        self._waiting: deque[asyncio.Future[Ticket | None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._serial = 0
        self._next = -math.inf  # when the next call may be sent
        self._hindrance: Hindrance | None = None
        self._slow_start = True
        self._credit = 0.0  # growth earned by accepted calls
        self._grown_at = -math.inf
        self._episode = _Episode("pace", math.inf, True, 0, 0, -math.inf, math.inf, over=True)
        self._goal: dict[Hindrance, float] = {
            "slots": 0.0,
            "pace": 0.0,
        }  # level up to which growth is fast
        self._latency: float | None = None
        self._accepted: deque[float] = deque()  # times, back to the horizon
        self._began = math.inf  # when the first call was sent
        self._rejections_in_a_row = 0
        self._longest_retry_after = 0.0  # longest Retry-After among these
        self._pauses = 0  # in a row
        self._paused = -math.inf  # since when
        self._paused_until = -math.inf
        self._before_pause = 0  # serials below this were sent before it
        self._trying = False  # after a pause: one call at a time
        self._trial: Ticket | None = None
        self._quota_since: float | None = None
        self._quota_taken = 0
        self._held = False  # in slow start, after a rejection: no growth until the next one
        self._noise = RejectionNoise()

    async def acquire(self, *, again: bool = False, at_once: bool = False) -> Ticket | None:
        """Wait until a call may be sent. Each ticket must be returned by :meth:`release`.

        Args:
            again: the call was tried before: it goes first.
            at_once: do not wait.

        Returns:
            None if the call may not be sent: it would have to wait, or :meth:`dismiss` was called.
        """
        turn: asyncio.Future[Ticket | None] = asyncio.get_running_loop().create_future()
        if again:
            self._waiting.appendleft(turn)
        else:
            self._waiting.append(turn)
        self._admit()
        if at_once and not turn.done():
            turn.cancel()
            return None
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                ticket = turn.result()
                if ticket is not None:
                    self.release(ticket, "lost")
            raise

    def dismiss(self) -> None:
        """Cancel all waiting calls."""
        waiting, self._waiting = self._waiting, deque()
        for turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def release(
        self, ticket: Ticket, outcome: Outcome, *, retry_after: float | None = None
    ) -> None:
        """Record the outcome of a call.

        The server accepted it (with any answer) or rejected it because of load, or neither is
        known.
        """
        now = asyncio.get_running_loop().time()
        self.under_way -= 1
        if ticket is self._trial:
            self._trial = None
            self._end_trial(outcome, now, retry_after)
        if outcome != "lost":
            slots = self._noise.report(ticket.load, outcome == "rejected", self.slots, now)
            if slots is not None:
                self.slots, self.rate, self._slow_start = max(slots, self.slots), math.inf, True
                self._held = False
                self._grown_at = now
            self._follow(ticket, outcome == "rejected", now)
        if outcome == "accepted":
            self._accept(ticket, now)
        elif outcome == "rejected":
            self._reject(ticket, now, retry_after)
        self._admit()

    def _admit(self) -> None:
        now = asyncio.get_running_loop().time()
        while self._waiting:
            if self._waiting[0].done():  # cancelled
                self._waiting.popleft()
                continue
            wake = self._earliest_start(now)
            if wake is not None:
                self._set_timer(wake)
                return
            self.under_way += 1
            self._began = min(self._began, now)
            ticket = Ticket(self._serial, now, self.under_way, self._hindrance)
            self._serial += 1
            self._next = max(self._next, now - _MAX_LATENESS_SECONDS) + self._interval()
            if self._trying:
                self._trial = ticket
            self._waiting.popleft().set_result(ticket)
        self._hindrance = None

    def _earliest_start(self, now: float) -> float | None:
        """Return the time to check again (``inf``: when a call ends); None if a call may be
        sent.
        """
        if self._paused_until > now:
            return self._paused_until
        if self._trial is not None:
            return math.inf
        if self.under_way >= int(self.slots):
            self._hindrance = "slots"
            return math.inf
        if self._next > now + _TIMER_SECONDS:
            self._hindrance = "pace"
            return self._next
        return None

    def _set_timer(self, when: float) -> None:
        if self._timer is not None:
            if self._timer.when() == when:
                return
            self._timer.cancel()
            self._timer = None
        if when < math.inf:
            self._timer = asyncio.get_running_loop().call_at(when, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._admit()

    def _interval(self) -> float:
        """Return the seconds between two calls."""
        if self.rate < math.inf:
            return 1 / self.rate
        # Slow start without a pace would send bursts, which per-second limits reject.
        if self._slow_start and self._latency is not None and self.slots < self.most:
            return self._latency / (_SLOW_START_HEADROOM * self.slots)
        return 0.0

    def _accept(self, ticket: Ticket, now: float) -> None:
        took = now - ticket.started
        self._latency = took if self._latency is None else 0.9 * self._latency + 0.1 * took
        self._accepted.append(now)
        while self._accepted[0] < now - self._horizon():
            self._accepted.popleft()
        if self._quota_since is None:
            self._quota_since = ticket.started
        self._quota_taken += 1
        self._rejections_in_a_row, self._longest_retry_after = 0, 0.0
        self._grow(now)

    def _horizon(self) -> float:
        """Return the seconds over which the accepted rate is measured."""
        return max(1.0, 2 * (self._latency or 0.0))

    def _accepted_rate(self, now: float) -> float:
        """Return the calls per second that the server has recently accepted."""
        since = max(now - self._horizon(), self._quota_since or -math.inf)
        return sum(1 for at in self._accepted if at >= since) / max(now - since, _TIMER_SECONDS)

    def _end_trial(self, outcome: Outcome, now: float, retry_after: float | None) -> None:
        """Process the outcome of the single call after a pause."""
        if outcome == "rejected":
            self._longest_retry_after = retry_after or 0.0
            self._pause(now)
        elif outcome == "accepted":
            self._trying = False
            self._pauses = 0
            if self._paused_until - self._paused > _LONG_PAUSE_SECONDS and self._quota_taken:
                # A quota for longer than a second: the pause belongs to the allowed rate.
                assert self._quota_since is not None
                allowed = self._quota_taken / (now - self._quota_since)
                self.rate = max(min(self.rate, allowed), _MIN_RATE)
                self._slow_start = False
                self._grown_at = now
                self._goal["pace"] = 0.0
                self._episode = _Episode("pace", self.rate, True, 0, 0, now, self.rate, over=True)
                self._quota_since, self._quota_taken = now, 0

    def _grow(self, now: float) -> None:
        self._credit = min(self._credit + 1, self.slots)
        if self._hindrance is None:
            self._grown_at = now
            return
        passed = min(now - self._grown_at, 1.0)
        if self._slow_start and self._held and self._noise.early:
            self._grown_at = now
        elif self._slow_start:
            step = min(self._credit, self.slots * math.log(2) * passed)
            self._credit -= step
            # Time that the credit did not cover is kept for the next call at the same instant.
            self._grown_at = max(self._grown_at, now - 1) + step / (self.slots * math.log(2))
            self.slots += step
        elif self._episode.over:
            self._grown_at = now
            if self._hindrance == "pace":
                self.rate = self._grown("pace", self.rate, self.rate, passed, now)
            else:
                base = max(self.slots, _INITIAL_SLOTS)
                self.slots = self._grown("slots", self.slots, base, passed, now)
        self.slots = min(self.slots, self.most)

    def _grown(
        self, what: Hindrance, level: float, base: float, passed: float, now: float
    ) -> float:
        goal = self._goal[what]
        if level < goal:
            return min(level + goal * passed, goal)
        doublings = min((now - self._episode.at) / _GROWTH_DOUBLING_SECONDS, 10.0)
        return (
            level + base * min(_GROWTH_PER_SECOND * 2**doublings, _MAX_GROWTH_PER_SECOND) * passed
        )

    def _reject(self, ticket: Ticket, now: float, retry_after: float | None) -> None:
        if ticket.serial >= self._before_pause:
            self._rejections_in_a_row += 1
            self._longest_retry_after = max(self._longest_retry_after, retry_after or 0.0)
            silence = now - (self._accepted[-1] if self._accepted else self._began)
            if (
                self._rejections_in_a_row >= _REJECTIONS_BEFORE_PAUSE
                and silence >= _SILENCE_SECONDS
            ):
                self._pause(now)
        episode = self._episode
        if self._slow_start and self._noise.early:
            self._held = True
        elif (
            ticket.serial >= episode.end
            and now >= episode.at + _MIN_EPISODE_SECONDS
            and not self._noise.bears()
        ):
            self._cut(ticket, now)

    def _pause(self, now: float) -> None:
        self._pauses += 1
        self._paused = now
        self._paused_until = now + min(
            self._longest_retry_after or backoff(self._pauses), LONGEST_ASKED
        )
        self._before_pause = self._serial
        self._trying = True
        self._rejections_in_a_row, self._longest_retry_after = 0, 0.0

    def _cut(self, ticket: Ticket, now: float) -> None:
        calm = not self._slow_start and now - self._episode.at > _CALM_SECONDS
        paced = self._slow_start or ticket.hindered == "pace"
        if self._slow_start:
            self._slow_start = False
            self.slots = max(float(ticket.load), (self.under_way + 1) / 2)
            took = self._latency or max(now - ticket.started, 0.1)
            self.rate = self.slots / max(took, _TIMER_SECONDS)
        before = self.rate if paced else min(self.slots, ticket.load)
        least = self._noise.floor()[paced]
        after = max(before * (_GENTLE_CUT if calm else _CUT), min(before, least))
        if paced:
            self.rate = max(after, min(before, _MIN_RATE))
        else:
            self.slots = max(after, 1.0)
        what: Hindrance = "pace" if paced else "slots"
        most = before if calm or self._episode.what != what else self._episode.limit
        self._episode = _Episode(what, before, calm, ticket.serial, self._serial, now, most)
        self._grown_at = now
        self._next = max(self._next, now + self._interval())  # there is no lateness to catch up

    def _follow(self, ticket: Ticket, rejected: bool, now: float) -> None:
        """Estimate from the calls around a cut how deep it should have been."""
        episode = self._episode
        if episode.over or ticket.serial < episode.first:
            return
        if ticket.serial < episode.end:
            episode.calls += 1
            episode.rejected += rejected
            return
        episode.over = True
        limit = episode.before
        if episode.calls >= _CALLS_FOR_ESTIMATE:
            # The first was rejected by definition and carries no information about the share.
            limit *= 1 - (episode.rejected - 1) / (episode.calls - 1)
        elif not episode.calm:
            limit *= _ESTIMATED_PART_OF_REJECTED_LEVEL
        if not episode.calm and episode.what == "pace":
            # The recently accepted level is sustainable, unless it was a burst.
            limit = max(limit, min(self._accepted_rate(now), episode.limit))
        episode.limit = limit
        self._goal[episode.what] = _RECOVERY_PART_OF_LIMIT * limit
