"""Image preprocessing, as defined by ``preprocessor_config.json``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.arrays import Floats32
from veridical.errors import ModelError
from veridical.models.folder import read_json

if TYPE_CHECKING:
    from PIL.Image import Image

CONFIG = "preprocessor_config.json"
#: Change it whenever the same image would be prepared differently; part of a model's revision.
VERSION = "prepare-1"
_MAX_SIDE_PIXELS = 4096  # in a model's configuration


@dataclass(frozen=True)
class Preparation:
    """Resizing, cropping, scaling and normalising, in this order.

    Attributes:
        size: (height, width) that the whole image is resized to; None if ``shortest`` is used.
        shortest: pixels of the shorter side, keeping the aspect ratio; None if ``size`` is used.
        resample: Pillow's filter number: 2 bilinear, 3 bicubic.
        crop: (height, width) of the centre crop; None disables it.
        factor: factor for pixel values from 0 to 255.
        mean, std: mean and standard deviation of each channel, for normalising.
    """

    size: tuple[int, int] | None
    shortest: int | None
    resample: int
    crop: tuple[int, int] | None
    factor: float
    mean: tuple[float, ...]
    std: tuple[float, ...]

    @classmethod
    def read(cls, folder: Path) -> Preparation:
        """Read the preprocessing of a model folder.

        Raises:
            ModelError: it has no such file, or an operation is not supported.
        """
        path = folder / CONFIG
        config = read_json(path, {})
        if not config:
            raise ModelError(f"{folder} has no {CONFIG}, so it is not an image model")
        try:
            size, shortest = None, None
            if config.get("do_resize", True):
                size, shortest = _size(config["size"])
            crop = config.get("crop_size") if config.get("do_center_crop", False) else None
            normal = bool(config.get("do_normalize", True))
            made = cls(
                size=size,
                shortest=shortest,
                resample=int(config.get("resample", 2)),
                crop=None if crop is None else _sides(crop),
                factor=float(config.get("rescale_factor", 1 / 255))
                if config.get("do_rescale", True)
                else 1.0,
                mean=_channels(config["image_mean"]) if normal else (0.0,) * 3,
                std=_channels(config["image_std"]) if normal else (1.0,) * 3,
            )
            made._check()
        except (KeyError, TypeError, ValueError) as e:
            raise ModelError(f"{path} has an unsupported preprocessing: {e!r}") from None
        return made

    def _check(self) -> None:
        if self.crop is None and self.size is None:
            raise ValueError("images would have different sizes")
        sides = [*(self.size or ()), *(self.crop or ())]
        sides += [] if self.shortest is None else [self.shortest]
        if not all(0 < side <= _MAX_SIDE_PIXELS for side in sides):
            raise ValueError(f"sides of {sides} pixels")
        if self.resample not in range(6) or not math.isfinite(self.factor):
            raise ValueError(f"resample {self.resample}, rescale_factor {self.factor}")
        if not all(map(math.isfinite, (*self.mean, *self.std))) or 0 in self.std:
            raise ValueError(f"image_mean {self.mean}, image_std {self.std}")

    def __call__(self, image: Image) -> Floats32:
        """Return the (3, height, width) float32 array of an RGB image."""
        from PIL import Image as images

        filter = images.Resampling(self.resample)
        if self.size is not None:
            image = image.resize(self.size[::-1], filter)
        elif self.shortest is not None:
            image = image.resize(_in_proportion(image.size, self.shortest), filter)
        if self.crop is not None:
            image = _middle(image, *self.crop)
        points = np.asarray(image, np.float32) * np.float32(self.factor)
        points = (points - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(points.transpose(2, 0, 1))


def _in_proportion(size: tuple[int, int], shortest: int) -> tuple[int, int]:
    """Return width and height with a shorter side of ``shortest`` pixels, rounded down.

    Raises:
        ModelError: the longer side would be too long.
    """
    width, height = size
    longest = int(shortest * max(size) / min(size))
    if longest > 4 * _MAX_SIDE_PIXELS:
        raise ModelError(
            f"has sides of {width} and {height} pixels, too extreme an aspect ratio for this model"
        )
    return (shortest, longest) if width <= height else (longest, shortest)


def _middle(image: Image, height: int, width: int) -> Image:
    """Return the centre of an image, with black borders if the image is smaller."""
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def _size(size: Any) -> tuple[tuple[int, int] | None, int | None]:
    if isinstance(size, dict) and "shortest_edge" in size:
        if "longest_edge" in size:
            raise ValueError("size with longest_edge")
        return None, int(size["shortest_edge"])
    if isinstance(size, int):  # the shorter side, in older files
        return None, size
    return _sides(size), None


def _sides(size: Any) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return int(size["height"]), int(size["width"])


def _channels(values: Any) -> tuple[float, ...]:
    channels = tuple(float(v) for v in values)
    if len(channels) != 3:
        raise ValueError(f"{len(channels)} channels")
    return channels
