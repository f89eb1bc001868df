"""Answers whose meaning is known, and records of them, for the tests of the sampling scorers."""

from __future__ import annotations

from itertools import permutations

from veridical.core.records import Record

SAME = (0.9, 0.07, 0.03)
OTHER = (0.05, 0.15, 0.8)


def table_of(meanings):
    """(e, n, c) of every ordered pair of ``meanings`` = {text: what it means}."""
    return {
        (a, b): SAME if meanings[a] == meanings[b] else OTHER for a, b in permutations(meanings, 2)
    }


def logprobs(*values):
    return [{"token": "t", "logprob": v} for v in values]


def record_of(response, samples, **fields):
    """A record; a sample is a text, or a text and the logarithms of its tokens' probabilities."""
    listed = [
        s if isinstance(s, str) else {"text": s[0], "logprobs": logprobs(*s[1])} for s in samples
    ]
    return Record(response=response, samples=listed, **fields)


def now(coroutine):
    """What a coroutine that waits for nothing returns: an event loop an example is slow."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")
