"""Which failed attempts are made again, and after how long."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from veridical.core.messages import LlmError, Trouble

#: Statuses by which a server says that it is given too much.
OVERLOADED = frozenset({429, 503, 529})
#: Statuses of 500 and more by which a server says that it did not begin; so do 3xx and 4xx, but
#: for 408. With any other there may have been an answer, which may be charged.
_UNWORKED = frozenset({501, 503, 505, 529})
#: Words for an account that is empty: to wait does not help.
NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
#: Seconds: the longest wait of our own, and the longest that a server may ask for.
LONGEST_BACKOFF = 60.0
LONGEST_ASKED = 300.0
_FIRST_BACKOFF = 0.5
#: Most attempts after the first, by class, where the endpoint allows as many. Classes that are
#: not here are not tried again. A malformed answer is probably charged, so it is asked for less
#: often than one that a server has refused.
_AGAIN: dict[Trouble, float] = {
    "connection": math.inf,
    "rate_limited": math.inf,
    "server": math.inf,
    "timeout": 3,
    "malformed": 3,
}


class AttemptError(LlmError):
    """One attempt that brought no usable answer.

    Attributes:
        status: of the HTTP reply; None where there was none.
        retry_after: seconds the server asks to wait; None where it does not say.
        again: whether another attempt could bring more, as far as the class does not say.
    """

    def __init__(
        self,
        trouble: Trouble,
        message: str,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        possibly_paid: int = 0,
        again: bool = True,
    ) -> None:
        super().__init__(trouble, message, possibly_paid=possibly_paid)
        self.status = status
        self.retry_after = retry_after
        self.again = again

    @property
    def overloaded(self) -> bool:
        """Whether the server says that it is given too much."""
        return self.status in OVERLOADED


class Attempts:
    """The attempts of one call.

    Args:
        most: attempts in all, from 1.
    """

    def __init__(self, most: int) -> None:
        self.made = 0
        self._most = most
        self._failed: dict[Trouble, int] = {}

    def wait(self, problem: AttemptError) -> float | None:
        """Seconds until the next attempt after ``problem``; None if there is to be none.

        A server's Retry-After is kept to, with up to a tenth or half a second more, so that
        those who were sent away together do not come back together. Without one the wait
        doubles with each failure of the class, from 0.5 s to a minute, and half to the whole of
        it is taken.
        """
        self.made += 1
        failed = self._failed[problem.trouble] = self._failed.get(problem.trouble, 0) + 1
        if (
            self.made >= self._most
            or not problem.again
            or failed > _AGAIN.get(problem.trouble, 0)
            or (problem.retry_after or 0) > LONGEST_ASKED
        ):
            return None
        if problem.retry_after is not None:
            pause = problem.retry_after
            return pause + random.uniform(0, max(0.5, pause / 10))
        return backoff(failed)


def trouble_of(status: int, code: str = "") -> tuple[Trouble, bool]:
    """The class of an HTTP error, and whether another attempt may help.

    Args:
        code: what the server calls it.
    """
    if status == 429:
        return "rate_limited", code not in NO_MONEY
    if status == 408:
        return "timeout", True
    if status in (409, 425) or (status >= 500 and status not in (501, 505)):
        return "server", True
    filtered = code in ("content_filter", "content_policy_violation")
    return ("refused" if filtered else "rejected"), False


def may_be_paid(status: int) -> bool:
    """Whether an answer may have been made, and lost, behind a reply that is none."""
    return status == 408 or (status >= 500 and status not in _UNWORKED)


def backoff(failures: int) -> float:
    """Seconds to wait after so many failures (from 1) in a row, jittered."""
    longest = min(_FIRST_BACKOFF * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF)
    return random.uniform(longest / 2, longest)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply asks to wait, by ``Retry-After`` (seconds or an HTTP date, RFC 9110
    section 10.2.3) or ``Retry-After-Ms``; None where it does not, or not intelligibly.

    A date is compared with the server's own ``Date``, because clocks differ.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after")
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    until = _timestamp(value)
    if until is None:
        return None
    now = _timestamp(headers.get("date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _timestamp(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
