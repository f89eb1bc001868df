"""Retry-After in all its forms, and which failures are tried again."""

from __future__ import annotations

import time
from email.utils import formatdate

import pytest

from veridical.core.messages import Trouble
from veridical.llm.retries import AttemptError, Attempts, backoff, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        # RFC 9110's own example date, against the server's clock two minutes before.
        (
            {
                "retry-after": "Fri, 31 Dec 1999 23:59:59 GMT",
                "date": "Fri, 31 Dec 1999 23:57:59 GMT",
            },
            120.0,
        ),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),  # long over
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": "Fri, 99 Dec 1999 23:59:59 GMT"}, None),
        ({"retry-after": "\x00"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_by_our_own_clock() -> None:
    asked = retry_after({"retry-after": formatdate(time.time() + 100, usegmt=True)})
    assert asked is not None and 95 < asked <= 100


def test_waits_double_and_are_jittered() -> None:
    for failures, longest in ((1, 0.5), (2, 1.0), (3, 2.0), (8, 60.0), (10_000, 60.0)):
        waits = [backoff(failures) for _ in range(50)]
        assert longest / 2 <= min(waits) < max(waits) <= longest


@pytest.mark.parametrize(
    ("trouble", "again"),
    [
        ("connection", 5),
        ("rate_limited", 5),
        ("server", 5),
        ("timeout", 3),
        ("malformed", 3),
        ("rejected", 0),
        ("refused", 0),
    ],
)
def test_classes_are_tried_again_so_often(trouble: Trouble, again: int) -> None:
    attempts = Attempts(6)
    waits = 0
    while attempts.wait(AttemptError(trouble, "")) is not None:
        waits += 1
    assert waits == again and attempts.made == again + 1


def test_classes_are_counted_apart() -> None:
    attempts = Attempts(100)
    for _ in range(3):
        for trouble in ("malformed", "timeout", "server"):
            assert attempts.wait(AttemptError(trouble, "")) is not None
    assert attempts.wait(AttemptError("malformed", "")) is None


def test_one_attempt_is_one() -> None:
    assert Attempts(1).wait(AttemptError("server", "")) is None
