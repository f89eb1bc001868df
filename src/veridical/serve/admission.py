"""How much may wait at the models: a request that would wait too long is refused at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from veridical.serve.problems import Problem

if TYPE_CHECKING:
    from veridical.core.records import Record

_A_TOKEN = 4  # characters, roughly
_A_SENTENCE = 100  # characters, roughly
_LEAST = 16  # tokens that a record counts for
_MEMORY = 0.9  # weight of what was known of the rate when a request ends
_LONGEST_WAIT = 60


def tokens_of(record: Record) -> int:
    """Tokens that scoring a record takes, roughly: a model reads each sentence of the answer with
    what it is compared with."""
    answer = len(record.response) // _A_TOKEN
    sentences = 1 + len(record.response) // _A_SENTENCE
    sources = sum(len(c.text) for c in record.contexts)
    sources += sum(map(len, (*record.sample_texts, *record.reference)))
    return _LEAST + answer + sentences * (sources // _A_TOKEN)


class Admission:
    """Requests that are let in while those before them have not too much left to do.

    Args:
        most: tokens that may be in work or waiting, by :func:`tokens_of`. One request is let in
            whatever its size where nothing else is there.
        requests: that may be in work at a time.
    """

    def __init__(self, most: int, requests: int = 512) -> None:
        self._most = most
        self._requests = requests
        self.tokens = 0
        self.requests = 0
        self.refused = 0
        self._rate = 0.0  # tokens a second, as far as known

    @contextmanager
    def room(self, records: Sequence[Record]) -> Iterator[None]:
        """While it lasts, the records count as waiting.

        Raises:
            Problem: 429, with the seconds after which to try again.
        """
        size = sum(map(tokens_of, records))
        full = self.tokens and self.tokens + size > self._most
        if full or self.requests >= self._requests:
            self.refused += 1
            raise self._busy()
        self.tokens += size
        self.requests += 1
        begun = time.monotonic()
        before = self.tokens
        try:
            yield
            took = max(time.monotonic() - begun, 1e-3)
            rate = before / took  # what was there when it came is about what was done meanwhile
            self._rate = _MEMORY * self._rate + (1 - _MEMORY) * rate if self._rate else rate
        finally:
            self.tokens -= size
            self.requests -= 1

    def _busy(self) -> Problem:
        wait = math.ceil(self.tokens / self._rate) if self._rate else 1
        seconds = min(max(wait, 1), _LONGEST_WAIT)
        return Problem(
            429,
            f"{self.tokens:,} tokens wait already; try again in {seconds} s",
            headers={"retry-after": str(seconds)},
        )
