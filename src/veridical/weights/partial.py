"""A file of weights as far as it has been fetched, which the next attempt goes on with."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from veridical.weights.table import Part, Weights
from veridical.weights.watching import Watch

CHUNK = 1 << 20  # bytes


class Damaged(Exception):
    """Why what was added is not the next part; it is gone again."""


class Partial:
    """The beginning of a file of weights.

    What is in the file already is hashed anew: the parts that are right are kept, and what comes
    after them, up to where it is known to be wrong. Close it, whatever has become of it.

    Attributes:
        weights: what it is to become.
        path: where it is.
        size: bytes that are there.
        done: parts that are there, and right.

    Raises:
        OSError: it cannot be read or written.
    """

    def __init__(self, weights: Weights, path: Path, watch: Watch) -> None:
        self.weights = weights
        self.path = path
        self.size = self.done = self._start = 0  # _start: bytes of the parts that are done
        self._watch = watch
        self._whole, self._part = hashlib.sha256(), hashlib.sha256()
        self._before = self._whole.copy()  # of the parts that are done
        path.touch()
        self._file = path.open("r+b")
        try:
            self._check()
        except BaseException:
            self._file.close()
            raise

    @property
    def complete(self) -> bool:
        return self.done == len(self.weights.parts)

    @property
    def missing(self) -> tuple[Part, ...]:
        """The parts that are not there, the next one first."""
        return self.weights.parts[self.done :]

    @property
    def next_part(self) -> str:
        """What messages call the next part."""
        return f"part {self.done + 1} of {len(self.weights.parts)}"

    def add(self, data: bytes) -> None:
        """Add the next bytes, no more than are missing.

        Raises:
            Damaged: they end a part that is not the right one.
            OSError: they cannot be written.
        """
        self._file.write(data)
        try:
            self._hash(data)
        except Damaged:
            self.back()
            raise
        self._watch.at(self.size, self.done)

    def back(self) -> None:
        """Forget what is no whole part."""
        self.size = self._start
        self._whole, self._part = self._before.copy(), hashlib.sha256()
        self._file.seek(self.size)
        self._file.truncate()

    def finish(self, place: Path) -> None:
        """Give the whole file the name ``place``.

        Raises:
            Damaged: it is another file, although its parts are right.
            OSError: it cannot be written.
        """
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self._whole.hexdigest() != self.weights.sha256:
            self.path.unlink()
            raise Damaged(_other(self._whole.hexdigest(), self.weights.sha256))
        self.path.replace(place)

    def close(self) -> None:
        """Leave the file as it is; an empty one is removed."""
        self._file.close()
        if self.size == 0:
            self.path.unlink(missing_ok=True)

    def _check(self) -> None:
        """Hash what is in the file."""
        if self.path.stat().st_size > self.weights.size:
            self._file.truncate(self.weights.size)
        try:
            while data := self._file.read(CHUNK):
                self._hash(data)
        except Damaged as e:
            self._watch.say(f"{self.path}: {self.next_part} is damaged ({e}); it is fetched again")
            self.back()
        self._watch.at(self.size, self.done)

    def _hash(self, data: bytes) -> None:
        """Hash the next bytes, and hold each part that they end against what it should be."""
        rest = memoryview(data)
        while rest:
            part = self.weights.parts[self.done]
            piece = rest[: part.size - (self.size - self._start)]
            rest = rest[len(piece) :]
            self._whole.update(piece)
            self._part.update(piece)
            self.size += len(piece)
            if self.size - self._start == part.size:
                if self._part.hexdigest() != part.sha256:
                    raise Damaged(_other(self._part.hexdigest(), part.sha256))
                self.done, self._start = self.done + 1, self.size
                self._before, self._part = self._whole.copy(), hashlib.sha256()


def _other(found: str, wanted: str) -> str:
    return f"its sha256 is {found[:12]}..., not {wanted[:12]}..."
