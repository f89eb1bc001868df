"""A model for queues: cheap, and it remembers what it was asked."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.protocols import Window
from veridical.files.store import content_key


class Value:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array


class CountingModel:
    """Gives each word of a text the vector of its length; remembers what it was asked."""

    budget = 64
    workers = 2
    shares = True

    def __init__(self, poison: str = "\0") -> None:
        self.poison = poison
        self.seen: Counter[str] = Counter()
        self.batches: list[list[int]] = []
        self.lock = threading.Lock()

    def key(self, request: str) -> bytes:
        return content_key("count", request)

    def windows(self, requests: Sequence[str]) -> list[list[Window]]:
        if any("untokenisable" in r for r in requests):
            raise ValueError("cannot tokenise")
        return [[Window(1 + len(r.split()), r)] for r in requests]

    def order(self, window: Window) -> int:
        return -window.length

    def size(self, batch: Sequence[Window]) -> int:
        return len(batch) * max(w.length for w in batch)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        with self.lock:
            self.batches.append([w.length for w in batch])
            if any(self.poison in w.content for w in batch):
                raise RuntimeError("poisoned")
            self.seen.update(w.content for w in batch)
        return [len(w.content) for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Value:
        return Value(np.array(outputs, np.float32))

    def load(self, stored: np.ndarray) -> Value:
        return Value(stored)

    def dump(self, value: Value) -> np.ndarray:
        return value.array
