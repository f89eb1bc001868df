"""Requests to named checkpoints, and the packing of their answers.

Every answer is one float32 array, as the store keeps it. Log-probabilities and scores are kept as
they are, offsets and Unicode code points as whole numbers (exact up to 2^24).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.requests import Packed

#: Input of an encoder. A string is a text. A tuple alternates between the method's own words, in
#: which special tokens such as ``</s>`` are interpreted, and texts, in which they are not. It
#: begins with the former. The last text is windowed if the whole is too long.
Source: TypeAlias = "str | tuple[str, ...]"


def as_source(source: Source) -> tuple[str, ...]:
    """Return ``source`` as a tuple.

    Raises:
        ValueError: it contains no text.
    """
    if isinstance(source, str):
        return ("", source)
    if len(source) < 2:
        raise ValueError("a source must hold a text after the method's own words")
    return tuple(source)


@dataclass(frozen=True)
class Reading:
    """Asks for the probabilities of the tokens of ``targets`` after ``source``.

    Attributes:
        longest: tokens of the source that are read at once, at most; None: what the model takes.
        language: code of source and targets in a multilingual model's tokenizer.
    """

    source: tuple[str, ...]
    targets: tuple[str, ...]
    longest: int | None = None
    language: str | None = None

    def __iter__(self) -> Iterator[str]:
        yield from (*self.source, *self.targets)


@dataclass(frozen=True)
class Writing:
    """Request for texts generated from ``source``.

    Attributes:
        max_tokens: of each text, the end token included.
        beams: width of the beam search; 1 is greedy.
        returned: number of the best beams.
        no_repeat: length of n-grams that may not repeat in a text; 0: no limit.
        draw: seed and turn of random sampling at temperature 1; None: the most likely text.
    """

    source: tuple[str, ...]
    max_tokens: int
    beams: int = 1
    returned: int = 1
    no_repeat: int = 0
    draw: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[str]:
        yield from self.source


class Question(NamedTuple):
    """A question about a context."""

    question: str
    context: str


class Choice(NamedTuple):
    """A question about a context, and the answers to choose from."""

    question: str
    context: str
    options: tuple[str, ...]


class WindowRead(NamedTuple):
    """Likelihood of the targets after one window of the source.

    Attributes:
        start, end: of the window, in code points of the source's last text, end exclusive.
        logprobs: natural logarithms of the token probabilities of each target. Includes the end
            token and other tokens that the tokenizer adds, except a language token.
    """

    start: int
    end: int
    logprobs: tuple[NDArray[np.float64], ...]


class Likelihood(NamedTuple):
    """The likelihoods of the targets of a :class:`Reading`, window by window."""

    windows: tuple[WindowRead, ...]


class Answer(NamedTuple):
    """Span of a context that answers a question.

    Attributes:
        text: ``context[start:end]``.
        margin: the span's score (the sum of its start and end logits) minus that of no answer, in
            the same window; above 0.
    """

    start: int
    end: int
    text: str
    margin: float


def pack_likelihood(windows: Sequence[WindowRead]) -> Packed:
    """Pack ``windows, targets``, then per window ``start, end``, target lengths,
    log-probabilities.
    """
    row: list[float] = [len(windows), len(windows[0].logprobs) if windows else 0]
    for window in windows:
        row += [window.start, window.end, *map(len, window.logprobs)]
        for values in window.logprobs:
            row += values.tolist()
    return np.array(row, np.float32)


def unpack_likelihood(packed: Packed) -> Likelihood:
    row = packed.astype(np.float64)
    count, targets = int(row[0]), int(row[1])
    at, windows = 2, []
    for _ in range(count):
        start, end, *lengths = row[at : at + 2 + targets].astype(int).tolist()
        at += 2 + targets
        logprobs = []
        for length in lengths:
            logprobs.append(np.minimum(row[at : at + length], 0.0))
            at += length
        windows.append(WindowRead(start, end, tuple(logprobs)))
    return Likelihood(tuple(windows))


def pack_texts(texts: Sequence[str]) -> Packed:
    """Return the number of texts, the length of each, and their code points."""
    points = [ord(c) for text in texts for c in text]
    return np.array([len(texts), *map(len, texts), *points], np.float32)


def unpack_texts(packed: Packed) -> list[str]:
    row = packed.astype(np.int64).tolist()
    count = row[0]
    at, texts = 1 + count, []
    for length in row[1 : 1 + count]:
        texts.append("".join(map(chr, row[at : at + length])))
        at += length
    return texts


def pack_answer(start: int, end: int, margin: float) -> Packed:
    return np.array([start, end, margin], np.float32)


def unpack_answer(packed: Packed, context: str) -> Answer | None:
    """Unpack an answer; None if the margin is 0 or below, or the span is blank."""
    start, end, margin = int(packed[0]), int(packed[1]), float(packed[2])
    text = context[start:end]
    start += len(text) - len(text.lstrip())
    text = text.strip()
    return Answer(start, start + len(text), text, margin) if margin > 0 and text else None
