"""Line charts as inline SVG, coloured by the page's style sheet.

A drawing has classes instead of colours. It then follows light and dark mode and needs no style
attribute, which the page's policy forbids. Series differ by colour, dash and marker. All text is
escaped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

Point = tuple[float, float]
WIDTH, HEIGHT = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 12, 44
COLOURS, DASHES, MARKERS = 7, 4, 5  #: pairwise coprime: 140 distinct styles


class Figure(NamedTuple):
    """A drawing with its caption, and its numbers as a table."""

    title: str
    note: str
    drawing: Markup
    head: list[str]
    rows: list[list[str]]
    legend: Markup = Markup("")


@dataclass(frozen=True)
class Axis:
    """A scale from ``low`` to ``high``. ``ticks`` (value, label) replace the round numbers."""

    label: str
    low: float
    high: float
    log: bool = False
    ticks: tuple[tuple[float, str], ...] = ()

    def share(self, value: float) -> float:
        """Return the position of a value, 0 .. 1; values outside are drawn at the edge."""
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log10(max(v, 1e-12)) for v in (value, low, high))
        return min(1.0, max(0.0, (value - low) / (high - low))) if high > low else 0.5

    def marks(self) -> list[tuple[float, str]]:
        return list(self.ticks) or (
            _decades(self) if self.log else round_ticks(self.low, self.high)
        )


@dataclass(frozen=True)
class Series:
    """A line. ``bounds`` are (x, low, high) of its intervals; ``dots`` marks every point."""

    name: str
    points: Sequence[Point]
    style: int
    bounds: Sequence[tuple[float, float, float]] = ()
    dots: bool = False


def lines(
    title: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    *,
    diagonal: bool = False,
    level: tuple[float, str] | None = None,
) -> Markup:
    """Draw lines over two axes; ``diagonal`` and ``level`` (y, label) are reference lines
    behind."""
    plot = Frame(x, y)
    parts = [plot.axes()]
    if diagonal:
        parts.append(f'<path class="ref" d="{plot.path([(x.low, y.low), (x.high, y.high)])}"/>')
    if level is not None:
        parts.append(f'<path class="ref" d="M{LEFT} {plot.y(level[0]):.1f}H{WIDTH - RIGHT}"/>')
    parts += [_line(plot, one) for one in series]
    if level is not None:  # above the lines, to be readable
        at = plot.y(level[0])
        above = at - 5 if at > TOP + 16 else at + 13
        parts.append(f'<text class="hint halo end" x="{WIDTH - RIGHT - 3}" y="{above:.1f}">')
        parts.append(f"{escape(level[1])}</text>")
    return svg(title, WIDTH, HEIGHT, "".join(parts))


def scatter(title: str, x: Axis, y: Axis, points: Sequence[Point]) -> Markup:
    """Draw a dot per point; overlapping dots are darker."""
    plot = Frame(x, y)
    dots = (
        f'<circle class="cloud" cx="{plot.x(a):.1f}" cy="{plot.y(b):.1f}" r="2.6"/>'
        for a, b in points
    )
    return svg(title, WIDTH, HEIGHT, plot.axes() + "".join(dots))


def columns(title: str, x: Axis, y: Axis, edges: Sequence[float], counts: Sequence[int]) -> Markup:
    """Draw a column for each bin of a histogram."""
    plot = Frame(x, y)
    bars = []
    for low, high, n in zip(edges, edges[1:], counts, strict=False):
        left, right, top = plot.x(low) + 0.5, plot.x(high) - 0.5, plot.y(n)
        bars.append(
            f'<rect class="bar-neg" x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" '
            f'height="{plot.y(y.low) - top:.1f}"><title>{low:g} to {high:g}: {n:,}</title></rect>'
        )
    return svg(title, WIDTH, HEIGHT, plot.axes() + "".join(bars))


def forest(
    value: float, low: float | None, high: float | None, axis: Axis, ref: float | None
) -> Markup:
    """Draw a dot with its interval, for a table cell; ``ref`` is a dashed line."""
    width, height = 150, 18
    where = [
        None if v is None else 5 + axis.share(v) * (width - 10) for v in (value, low, high, ref)
    ]
    dot, left, right, line = where
    inner = f'<path class="axis" d="M5 9H{width - 5}"/>'
    if line is not None:
        inner += f'<path class="ref" d="M{line:.1f} 1V17"/>'
    if left is not None and right is not None:
        inner += (
            f'<path class="range" d="M{left:.1f} 9H{right:.1f}M{left:.1f} 5v8M{right:.1f} 5v8"/>'
        )
    inner += f'<circle class="dot" cx="{dot:.1f}" cy="9" r="3.6"/>'
    return Markup(
        f'<svg class="plot forest" aria-hidden="true" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{inner}</svg>'
    )


def swatch(style: int) -> Markup:
    """Draw a sample of a series' line, for legends."""
    mark = _marker(style, 15, 7)
    return Markup(
        f'<svg class="plot swatch" aria-hidden="true" width="30" height="14" viewBox="0 0 30 14">'
        f'<g class="{classes(style)}"><path class="line" d="M1 7H29"/>{mark}</g></svg>'
    )


def legend(names: Sequence[tuple[str, int]]) -> Markup:
    """Return the names of series with samples of their lines."""
    items = (f"<li>{swatch(style)}<bdi>{escape(name)}</bdi></li>" for name, style in names)
    return Markup(f'<ul class="key">{"".join(items)}</ul>')


def svg(title: str, width: float, height: float, inner: str) -> Markup:
    """Return a drawing with its accessible name. ``inner`` must be escaped already."""
    return Markup(
        f'<svg class="plot" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><title>{escape(title)}</title>{inner}</svg>'
    )


def clip(text: str, most: int = 34) -> Markup:
    """Shorten text to fit a label; the full text becomes its tooltip. Escaped."""
    if len(text) <= most:
        return escape(text)
    return escape(text[: most - 1] + "…") + Markup("<title>") + escape(text) + Markup("</title>")


def round_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return about five round numbers from low to high."""
    if not high > low:
        return [(low, f"{low:g}")]
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = power * min((1, 2, 2.5, 5, 10), key=lambda m: abs(math.log(m * power / raw)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [(i * step, f"{i * step:.10g}") for i in range(first, last + 1)]


def thin(points: Sequence[Point], tolerance: float = 0.35) -> list[Point]:
    """Return the fewest corners within ``tolerance`` of the line (Ramer, Douglas, Peucker)."""
    if len(points) < 3:
        return list(points)
    corners = {0, len(points) - 1}
    todo = [(0, len(points) - 1)]
    while todo:
        first, last = todo.pop()
        (x0, y0), (x1, y1) = points[first], points[last]
        run = (x1 - x0) ** 2 + (y1 - y0) ** 2
        far, where = tolerance, 0
        for i in range(first + 1, last):
            px, py = points[i]
            along = ((px - x0) * (x1 - x0) + (py - y0) * (y1 - y0)) / run if run else 0.0
            along = min(1.0, max(0.0, along))
            off = math.hypot(px - x0 - along * (x1 - x0), py - y0 - along * (y1 - y0))
            if off > far:
                far, where = off, i
        if where:
            corners.add(where)
            todo += [(first, where), (where, last)]
    return [points[i] for i in sorted(corners)]


class Frame:
    """The two axes of a drawing."""

    def __init__(self, x: Axis, y: Axis) -> None:
        self._x, self._y = x, y

    def x(self, value: float) -> float:
        return LEFT + self._x.share(value) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - self._y.share(value) * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Sequence[Point]) -> str:
        return _path([(self.x(a), self.y(b)) for a, b in points])

    def axes(self) -> str:
        floor, side = HEIGHT - BOTTOM, WIDTH - RIGHT
        parts = []
        for value, text in self._y.marks():
            at = self.y(value)
            parts.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{side}"/>')
            parts.append(
                f'<text class="tick end" x="{LEFT - 6}" y="{at + 4:.1f}">{clip(text, 8)}</text>'
            )
        marks = self._x.marks()
        room = max(3, int((side - LEFT) / max(1, len(marks)) / 5.6))
        for value, text in marks:
            at = self.x(value)
            parts.append(f'<path class="grid" d="M{at:.1f} {floor}v4"/>')
            parts.append(
                f'<text class="tick mid" x="{at:.1f}" y="{floor + 16}">{clip(text, room)}</text>'
            )
        parts.append(f'<path class="axis" d="M{LEFT} {TOP}V{floor}H{side}"/>')
        parts.append(
            f'<text class="label mid" x="{(LEFT + side) / 2:g}" y="{HEIGHT - 8}">'
            f"{clip(self._x.label, 64)}</text>"
        )
        middle = (TOP + floor) / 2
        parts.append(
            f'<text class="label mid" transform="translate(13 {middle:g}) rotate(-90)">'
            f"{clip(self._y.label, 44)}</text>"
        )
        return "".join(parts)


def _line(plot: Frame, one: Series) -> str:
    places = [(plot.x(a), plot.y(b)) for a, b in one.points]
    if not places:
        return ""
    corners = places if one.dots else thin(places)
    whiskers = "".join(
        f"M{plot.x(x):.1f} {plot.y(low):.1f}V{plot.y(high):.1f}" for x, low, high in one.bounds
    )
    marked = corners if one.dots or len(corners) == 1 else _along(corners, one.style)
    return (
        f'<g class="series {classes(one.style)}" data-series="{one.style}">'
        f"<title>{escape(one.name)}</title>"
        + (f'<path class="whisker" d="{whiskers}"/>' if whiskers else "")
        + (f'<path class="line" d="{_path(corners)}"/>' if len(corners) > 1 else "")
        + "".join(_marker(one.style, x, y) for x, y in marked)
        + "</g>"
    )


def _along(points: Sequence[Point], style: int) -> list[Point]:
    """Return positions of markers on a line, at different shares of its length for each style."""
    steps = [math.hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(points)]
    total = sum(steps)
    distances = [total * (i + 0.1 + 0.16 * (style % 6)) / 4 for i in range(4)]
    places, walked = [], 0.0
    for (a, b), step in zip(pairwise(points), steps, strict=True):
        while distances and step and distances[0] <= walked + step:
            part = (distances.pop(0) - walked) / step
            places.append((a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])))
        walked += step
    return places


def _marker(style: int, x: float, y: float) -> str:
    shapes = (
        "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z",
        "m-2.9-2.9h5.8v5.8h-5.8z",
        "m0-4l3.8 6.6h-7.6z",
        "m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z",
        "m-3.8-2.6h7.6l-3.8 6.6z",
    )
    return f'<path class="mark" d="M{x:.1f} {y:.1f}{shapes[style % MARKERS]}"/>'


def classes(style: int) -> str:
    """Return the classes for a series' colour and dash."""
    return f"c{style % COLOURS} d{style % DASHES}"


def _path(points: Sequence[Point]) -> str:
    """Return a path of relative steps in tenths of a pixel: half the size of absolute positions."""
    tenths = [(round(10 * x), round(10 * y)) for x, y in points]
    steps = pairwise(tenths)
    moves = "".join(f"l{(c - a) / 10:g} {(d - b) / 10:g}" for (a, b), (c, d) in steps)
    return f"M{tenths[0][0] / 10:g} {tenths[0][1] / 10:g}{moves}" if points else ""


def _decades(axis: Axis) -> list[tuple[float, str]]:
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    values = [m * 10.0**e for e in range(first, last + 1) for m in steps]
    return [(v, f"{v:g}") for v in values if axis.low <= v <= axis.high]


def label_room(names: Sequence[str]) -> int:
    """Return the width of a column of labels."""
    return 20 + round(7.1 * min(34, max((len(n) for n in names), default=0)))
