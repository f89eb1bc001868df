"""Colours as people see them: contrast, and differences under three kinds of colour blindness."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: Machado, Oliveira and Fernandes 2009, severity 1.0; applied to linear RGB.
BLINDNESS: dict[str, Array] = {
    "none": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}


def linear(colour: str) -> Array:
    """Linear RGB, (3,) in [0, 1], of ``#rrggbb``."""
    values = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of WCAG 2, from 1 to 21."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def difference(one: str, other: str, blindness: str = "none") -> float:
    """Distance in Oklab (Ottosson 2020), times 100; 2 is just noticeable."""
    return float(100 * np.linalg.norm(_oklab(one, blindness) - _oklab(other, blindness)))


def _oklab(colour: str, blindness: str) -> Array:
    seen = np.clip(BLINDNESS[blindness] @ linear(colour), 0, 1)
    to_lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    lab: Array = to_lab @ np.cbrt(to_lms @ seen)
    return lab


def variables(css: str) -> dict[str, tuple[str, str]]:
    """Custom properties that are ``light-dark(#..., #...)``: name -> light, dark."""
    pattern = r"--([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)"
    return {name: (light, dark) for name, light, dark in re.findall(pattern, css)}
