"""Partial downloads of weights, checked part by part and resumable."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from veridical.weights.table import Part, Weights
from veridical.weights.watching import Watch

CHUNK = 1 << 20  # bytes


class Damaged(Exception):
    """The reason why added data are not the next part; they have been removed."""


class Partial:
    """The first parts of a file of weights.

    Existing content is hashed again. Valid parts are kept, and so is the following data until it is
    known to be wrong. Always close it.

    Attributes:
        weights: the weights to download.
        path: path of the partial file.
        size: bytes in the file.
        done: number of complete, valid parts.

    Raises:
        OSError: it cannot be read or written.
    """

    def __init__(self, weights: Weights, path: Path, watch: Watch) -> None:
        self.weights = weights
        self.path = path
        self.size = self.done = self._start = 0  # _start: bytes of the valid parts
        self._watch = watch
        self._whole, self._part = hashlib.sha256(), hashlib.sha256()
        self._before = self._whole.copy()  # hash of the valid parts
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
        """Return the missing parts, the next one first."""
        return self.weights.parts[self.done :]

    @property
    def next_part(self) -> str:
        """Return the name of the next part in messages."""
        return f"part {self.done + 1} of {len(self.weights.parts)}"

    def add(self, data: bytes) -> None:
        """Append the next bytes, no more than are missing.

        Raises:
            Damaged: they complete a part with a wrong hash.
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
        """Drop incomplete parts."""
        self.size = self._start
        self._whole, self._part = self._before.copy(), hashlib.sha256()
        self._file.seek(self.size)
        self._file.truncate()

    def finish(self, place: Path) -> None:
        """Rename the complete file to ``place``.

        Raises:
            Damaged: its hash is wrong, although its parts are valid.
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
        """Close the file; remove it if it is empty."""
        self._file.close()
        if self.size == 0:
            self.path.unlink(missing_ok=True)

    def _check(self) -> None:
        """Hash the existing content."""
        if self.path.stat().st_size > self.weights.size:
            self._file.truncate(self.weights.size)
        try:
            while data := self._file.read(CHUNK):
                self._hash(data)
        except Damaged as e:
            self._watch.say(
                f"{self.path}: {self.next_part} is damaged ({e}); it is downloaded again"
            )
            self.back()
        self._watch.at(self.size, self.done)

    def _hash(self, data: bytes) -> None:
        """Hash the next bytes, and check each part that they complete."""
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
