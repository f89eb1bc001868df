"""Violin plots as inline SVG (see :mod:`plots`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, stdev

from markupsafe import Markup, escape

from veridical.report.plots import HEIGHT, LEFT, RIGHT, WIDTH, Axis, Frame, classes, svg

_STEPS = 48  #: places up a violin at which its width is taken
_WIDEST = 34.0  #: half of a violin, at most


@dataclass(frozen=True)
class Violin:
    """The values of one violin, in its group, with the style of its kind."""

    group: str
    kind: str
    style: int
    values: Sequence[float]


def violins(title: str, x: str, y: Axis, shown: Sequence[Violin]) -> Markup:
    """Draw violins side by side: groups along the axis, kinds within them.

    A dot per value, a bar at the median. Every violin has the full width at its widest point.
    """
    groups = list(dict.fromkeys(v.group for v in shown))
    kinds = list(dict.fromkeys(v.kind for v in shown))
    middle = tuple((i + 0.5, g) for i, g in enumerate(groups))
    plot = Frame(Axis(x, 0, max(1, len(groups)), ticks=middle), y)
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = min(2 * _WIDEST, 0.86 * slot / max(1, len(kinds)))
    parts = [plot.axes()]
    for v in shown:
        if v.values:
            place = kinds.index(v.kind) - (len(kinds) - 1) / 2
            at = plot.x(groups.index(v.group) + 0.5) + place * wide
            parts.append(_violin(plot, v, at, wide * 0.46))
    return svg(title, WIDTH, HEIGHT, "".join(parts))


def _violin(plot: Frame, v: Violin, at: float, half: float) -> str:
    name = f"{escape(v.group)}, {escape(v.kind)}"
    mid = median(v.values)
    outline = ""
    widths = density(v.values)
    if widths:
        most = max(width for _, width in widths)
        edge = [(plot.y(value), half * width / most) for value, width in widths]
        right = "L".join(f"{at + w:.1f} {up:.1f}" for up, w in edge)
        left = "L".join(f"{at - w:.1f} {up:.1f}" for up, w in reversed(edge))
        outline = f'<path class="body" d="M{right}L{left}z"/>'
    dots = "".join(
        f'<circle class="cloud" cx="{at:.1f}" cy="{plot.y(value):.1f}" r="1.6"/>'
        for value in v.values
    )
    bar = f'<path class="median" d="M{at - half / 2:.1f} {plot.y(mid):.1f}h{half:.1f}"/>'
    return (
        f'<g class="violin {classes(v.style)}"><title>{name}: median {mid:.3f}, n '
        f"{len(v.values):,}</title>{outline}{dots}{bar}</g>"
    )


def density(values: Sequence[float]) -> list[tuple[float, float]]:
    """Estimate the density from the lowest to the highest value.

    Gaussian kernel of Scott's bandwidth, ``std n^(-1/5)``. Empty if all values are the same.
    """
    n = len(values)
    if n < 2 or max(values) - min(values) < 1e-9:
        return []
    width = stdev(values) * n**-0.2
    low, high = min(values), max(values)
    places = [low + (high - low) * i / _STEPS for i in range(_STEPS + 1)]
    scale = n * width * math.sqrt(2 * math.pi)
    return [
        (at, sum(math.exp(-0.5 * ((at - v) / width) ** 2) for v in values) / scale) for at in places
    ]
