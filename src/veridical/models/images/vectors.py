"""What back ends of images share: windows of images, and vectors of unit length."""

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
    """An image is one window, of length 1, and its answer one vector.

    Attributes:
        width: of the vectors, once it is known.
    """

    name: str
    width = 1
    _prepare: Preparation

    def windows(self, pictures: Sequence[Picture]) -> list[list[Window]]:
        return [[Window(1, picture)] for picture in pictures]

    def prepared(self, batch: Sequence[Window]) -> Floats32:
        """(n, 3, height, width) points of a batch.

        Raises:
            ModelError: an image cannot be decoded.
        """
        return np.stack([self._prepare(decoded(window.content)) for window in batch])

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Floats32:
        """(d,) float32 of unit length.

        Raises:
            ModelError: the vector is not finite, or has no direction.
        """
        (vector,) = outputs
        length = float(np.linalg.norm(vector.astype(np.float64)))
        if not 0 < length < np.inf:
            raise ModelError(f"{self.name} gave a vector without a direction")
        return np.asarray(vector / length, np.float32)

    def pretend(self, window: Window) -> Floats32:
        """A vector that :meth:`run` might give."""
        return np.ones(self.width, np.float32)
