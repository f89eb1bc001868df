"""Retry policy: attempts to repeat, and their delays."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from veridical.core.messages import LlmError, Trouble

#: HTTP statuses by which a server reports overload.
OVERLOADED = frozenset({429, 503, 529})
#: HTTP statuses from 500 that report that processing did not begin, as 3xx and 4xx do, except 408.
#: With any other status an answer may exist and may be charged.
_UNWORKED = frozenset({501, 503, 505, 529})
#: Error words for an empty account: waiting does not help.
NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
#: Seconds: maximum delay of our own, and maximum delay that a server may request.
LONGEST_BACKOFF = 60.0
LONGEST_ASKED = 300.0
_FIRST_BACKOFF = 0.5
#: Maximum attempts after the first, by class, where the endpoint allows as many. Other classes are
#: not retried. A malformed answer is probably charged, so it is retried less often than one that
#: the server refused.
_AGAIN: dict[Trouble, float] = {
    "connection": math.inf,
    "rate_limited": math.inf,
    "server": math.inf,
    "timeout": 3,
    "malformed": 3,
}


class AttemptError(LlmError):
    """Attempt without a usable answer.

    Attributes:
        status: of the HTTP reply; None without a reply.
        retry_after: seconds that the server asks to wait; None if unstated.
        again: whether another attempt could help, unless the class decides it.
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
        """Return True if the server reports overload."""
        return self.status in OVERLOADED


class Attempts:
    """Attempts of one call.

    Args:
        most: maximum attempts, from 1.
    """

    def __init__(self, most: int) -> None:
        self.made = 0
        self._most = most
        self._failed: dict[Trouble, int] = {}

    def wait(self, problem: AttemptError) -> float | None:
        """Return the seconds until the next attempt after ``problem``; None to give up.

        A server's Retry-After is kept, plus up to a tenth or half a second, so that rejected calls
        do not return together. Without it, the delay doubles with each failure of the class, from
        0.5 s to a minute. A random half to whole of it is used.
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
    """Return the class of an HTTP error, and whether another attempt may help.

    Args:
        code: the server's own code.
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
    """Return True if an answer may have been made and lost behind an error reply."""
    return status == 408 or (status >= 500 and status not in _UNWORKED)


def backoff(failures: int) -> float:
    """Return the jittered seconds to wait after this many failures (from 1) in a row."""
    longest = min(_FIRST_BACKOFF * 2.0 ** min(failures - 1, 30), LONGEST_BACKOFF)
    return random.uniform(longest / 2, longest)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a reply asks to wait; None if absent or invalid.

    Reads ``Retry-After`` (seconds or an HTTP date, RFC 9110 section 10.2.3) or ``Retry-After-Ms``.
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
