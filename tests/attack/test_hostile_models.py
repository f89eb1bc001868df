"""Hostile GGUF files and adapters: a clear error in bounded time and memory, or a model."""

from __future__ import annotations

import math
import random
import struct
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf_files import metadata, save

from veridical.errors import VeridicalError
from veridical.models.causal.int8_weights import TurnedWeights
from veridical.models.gguf import Gguf
from veridical.models.gguf_tokenizer import read_tokenizer, token_text

MAX_SECONDS, MAX_BYTES = 5.0, 200 << 20
HUGE = 2**64 - 1
#: Values of every kind that a file may give to a key.
VALUES: tuple[Any, ...] = (
    *(0, 1, 2, 7, 2**31, 2**32 - 1),
    *(True, False, 0.5, -1.0, 1e30, math.nan, math.inf),
    *("", "x", "../../etc/passwd", "$A $B:1", "\x00", "llama"),
    *(["", ""], ["x"] * 9, ["a b", "c"], [1, 2, 3], [-1] * 4),
)


def read(path: Path) -> None:
    """Read all of a file that loading a model reads, without running it."""
    file = Gguf(path)
    weights = TurnedWeights(file)
    tokenizer = read_tokenizer(file)
    tokenizer.encode("some text of words")
    token_text(file, "bos")
    if weights.shape.vocabulary:
        weights.vectors(np.array([0]))


def outcome(path: Path) -> str | None:
    """Return the error of reading a file, None of one that is read."""
    begun = time.perf_counter()
    tracemalloc.start()
    try:
        read(path)
        error = None
    except VeridicalError as e:
        error = str(e)
        assert str(path) in error and len(error) < 1_000
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert time.perf_counter() - begun < MAX_SECONDS
    assert peak < MAX_BYTES
    return error


def cases(kind: str) -> list[tuple[str, Any]]:
    """Every key with half of the values, and each value with half of the keys."""
    step = 2 if kind == "llama" else 4  # the same reader
    return [(key, v) for i, key in enumerate(metadata(kind)) for v in VALUES[i % step :: step]]


@pytest.mark.parametrize("kind", ["llama", "qwen2"])
def test_every_key_with_every_kind_of_value(kind: str, tmp_path: Path) -> None:
    read_anyway = 0
    size = len(metadata(kind)["tokenizer.ggml.tokens"])
    for key, value in cases(kind):
        path = save(tmp_path / "model.gguf", kind, sized=size, **{key: value})
        read_anyway += outcome(path) is None
    assert read_anyway < len(cases(kind)) / 2


def test_bytes_that_are_flipped(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.gguf").read_bytes()
    draw = random.Random(5)
    path = tmp_path / "flipped.gguf"
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            content[draw.randrange(4, min(len(content), 60_000))] = draw.randrange(256)
        path.write_bytes(bytes(content))
        outcome(path)


def places(content: bytes) -> Iterator[int]:
    """Yield the places of all numbers of eight bytes in the head that are counts or lengths."""
    yield 8
    yield 16
    for at in range(24, min(len(content), 30_000) - 8):
        (number,) = struct.unpack_from("<Q", content, at)
        if 0 < number < 300 and content[at + 8 : at + 9].isalpha():
            yield at


def test_counts_and_lengths_that_are_huge(tmp_path: Path) -> None:
    whole = save(tmp_path / "whole.gguf").read_bytes()
    path = tmp_path / "huge.gguf"
    found = list(places(whole))
    assert len(found) > 50
    for at in found[:: max(1, len(found) // 80)]:
        for number in (HUGE, 2**63, 2**40, len(whole)):
            path.write_bytes(whole[:at] + struct.pack("<Q", number) + whole[at + 8 :])
            outcome(path)
    for at in (8, 16):
        path.write_bytes(whole[:at] + struct.pack("<Q", HUGE) + whole[at + 8 :])
        assert outcome(path) is not None
