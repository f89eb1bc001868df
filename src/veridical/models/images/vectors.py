"""Shared base of image back ends: windows and unit vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.arrays import Floats32
from veridical.core.images import Picture
from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models.images.decoding import decoded
from veridical.models.images.preparing import Preparation


class ImageWindows:
    """A back end in which an image is one window, of length 1, with one vector.

    Attributes:
        width: width of the vectors, once known.
    """

    name: str
    width = 1
    _prepare: Preparation

    def windows(self, pictures: Sequence[Picture]) -> list[list[Window]]:
        return [[Window(1, picture)] for picture in pictures]

    def prepared(self, batch: Sequence[Window]) -> Floats32:
        """Return the (n, 3, height, width) pixels of a batch.

        Raises:
            ModelError: an image cannot be decoded.
        """
        return np.stack([self._prepare(decoded(window.content)) for window in batch])

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Floats32:
        """Return the (d,) float32 vector of unit length.

        Raises:
            ModelError: the vector is not finite, or has no direction.
        """
        (vector,) = outputs
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if not 0 < length < np.inf:
            raise ModelError(f"{self.name} returned a zero vector")
        return np.asarray(vector / length, np.float32)

    def pretend(self, window: Window) -> Floats32:
        """Return a possible result of :meth:`run`."""
        return np.ones(self.width, np.float32)
