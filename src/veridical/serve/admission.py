"""Admission control: requests that would wait too long are refused immediately."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from veridical.serve.problems import Problem

if TYPE_CHECKING:
    from veridical.core.records import Record

_A_TOKEN = 4  # approximate characters per token
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[\n。！？]")
_LEAST = 16  # minimum tokens that a record counts for
_MOST_READ = 8192  # maximum tokens of contexts per sentence: of longer ones a part is selected
_MEMORY = 0.9  # weight of the earlier estimate of the rate when a request ends
_LONGEST_WAIT = 60


def tokens_of(record: Record) -> int:
    """Estimate the tokens that scoring a record takes.

    A model reads each sentence of the answer with the texts that it is compared with.
    """
    answer = len(record.response) // _A_TOKEN
    sentences = 1 + sum(1 for _ in _SENTENCE_END.finditer(record.response))
    contexts = sum(len(c.text) for c in record.contexts) // _A_TOKEN
    others = sum(map(len, (*record.sample_texts, *record.reference))) // _A_TOKEN
    read = min(contexts, _MOST_READ) + others
    return _LEAST + answer + max(contexts - _MOST_READ, 0) // 4 + sentences * read


class Admission:
    """Admission of requests, limited by the tokens in work or waiting.

    Args:
        most: maximum tokens in work or waiting, by :func:`tokens_of`. A single request of any size
            is admitted if nothing else is there.
        requests: maximum requests in work at a time.
        largest: maximum tokens of one request; None: no limit.
    """

    def __init__(self, most: int, requests: int = 512, largest: int | None = None) -> None:
        self._most = most
        self._largest = largest
        self._requests = requests
        self.tokens = 0
        self.requests = 0
        self.refused = 0
        self._rate = 0.0  # tokens per second, as estimated so far

    @contextmanager
    def room(self, records: Sequence[Record]) -> Iterator[None]:
        """Count the records as waiting within this context.

        Raises:
            Problem: 413, the request is larger than any may be; 429, with the seconds after which
                to try again.
        """
        size = sum(map(tokens_of, records))
        if self._largest is not None and size > self._largest:
            self.refused += 1
            raise Problem(
                413,
                f"the request takes about {size:,} tokens of work and {self._largest:,} are "
                "allowed; send fewer records, shorter answers or shorter contexts, or use a job",
            )
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
            rate = before / took  # the work queued on arrival is about what was done meanwhile
            self._rate = _MEMORY * self._rate + (1 - _MEMORY) * rate if self._rate else rate
        finally:
            self.tokens -= size
            self.requests -= 1

    def _busy(self) -> Problem:
        wait = math.ceil(self.tokens / self._rate) if self._rate else 1
        seconds = min(max(wait, 1), _LONGEST_WAIT)
        return Problem(
            429,
            f"{self.tokens:,} tokens are queued already; try again in {seconds} s",
            headers={"retry-after": str(seconds)},
        )
