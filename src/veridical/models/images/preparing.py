"""What is done to an image before a model sees it, as ``preprocessor_config.json`` tells it."""

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
#: Changed whenever the same image would be prepared in another way; part of a model's revision.
VERSION = "prepare-1"
_LONGEST = 4096  # points of a side that a model may ask for


@dataclass(frozen=True)
class Preparation:
    """Resizing, cutting out the middle, scaling and normalising, in this order.

    Attributes:
        size: (height, width) that the whole image is squeezed into; None where ``shortest`` says.
        shortest: points of the shorter side, the other in proportion; None where ``size`` says.
        resample: number of Pillow's filter: 2 bilinear, 3 bicubic.
        crop: (height, width) of the middle that is cut out; None: nothing is.
        factor: what points, from 0 to 255, are multiplied by.
        mean, std: of each channel, subtracted and divided by.
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
        """Of a model folder.

        Raises:
            ModelError: it has no such file, or the file asks for what is not known here.
        """
        path = folder / CONFIG
        config = read_json(path, {})
        if not config:
            raise ModelError(f"{folder} has no {CONFIG}: it is no model of images")
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
            raise ModelError(f"{path} tells no preparation that is known: {e!r}") from None
        return made

    def _check(self) -> None:
        if self.crop is None and self.size is None:
            raise ValueError("images of one size do not come of it")
        sides = [*(self.size or ()), *(self.crop or ())]
        sides += [] if self.shortest is None else [self.shortest]
        if not all(0 < side <= _LONGEST for side in sides):
            raise ValueError(f"sides of {sides} points")
        if self.resample not in range(6) or not math.isfinite(self.factor):
            raise ValueError(f"resample {self.resample}, rescale_factor {self.factor}")
        if not all(map(math.isfinite, (*self.mean, *self.std))) or 0 in self.std:
            raise ValueError(f"image_mean {self.mean}, image_std {self.std}")

    def __call__(self, image: Image) -> Floats32:
        """(3, height, width) float32 of an RGB image."""
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
    """Width and height with a shorter side of ``shortest`` points, rounded down.

    Raises:
        ModelError: the longer side would be too long.
    """
    width, height = size
    longest = int(shortest * max(size) / min(size))
    if longest > 4 * _LONGEST:
        raise ModelError(f"has sides of {width} and {height} points: too unlike for this model")
    return (shortest, longest) if width <= height else (longest, shortest)


def _middle(image: Image, height: int, width: int) -> Image:
    """The middle of an image; where the image is smaller, black around it."""
    left, top = (image.width - width) // 2, (image.height - height) // 2
    return image.crop((left, top, left + width, top + height))


def _size(size: Any) -> tuple[tuple[int, int] | None, int | None]:
    if isinstance(size, dict) and "shortest_edge" in size:
        if "longest_edge" in size:
            raise ValueError("size with longest_edge")
        return None, int(size["shortest_edge"])
    if isinstance(size, int):  # as older files tell the shorter side
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
