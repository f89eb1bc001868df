"""Bars and boxes as inline SVG (see :mod:`plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from veridical.report.plots import (
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    Axis,
    Frame,
    classes,
    clip,
    label_room,
    svg,
)


@dataclass(frozen=True)
class BoxGlyph:
    """Five numbers of a box plot, in its group, with the style of its kind."""

    group: str
    kind: str
    style: int
    low: float
    q1: float
    median: float
    q3: float
    high: float
    n: int


@dataclass(frozen=True)
class Bar:
    """A bar from 0 to a value, at most 1, with its interval."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


def ranked(title: str, bars: Sequence[Bar], ref: float | None = None) -> Markup:
    """Draw a bar per row, in the given order; ``ref`` is a line through all of them."""
    label, width, step = label_room([b.name for b in bars]), 300, 24
    bottom = 6 + len(bars) * step
    inner = []
    for i, bar in enumerate(bars):
        y, end = 6 + i * step, width * min(1.0, max(0.0, bar.value))
        inner.append(f'<text class="end" x="{label - 8}" y="{y + 13}">{clip(bar.name)}</text>')
        inner.append(
            f'<rect class="bar-neg" x="{label}" y="{y}" width="{end:.1f}" height="18">'
            f"<title>{escape(bar.name)}: {bar.value:.3f}</title></rect>"
        )
        if bar.low is not None and bar.high is not None:
            left, right = (label + width * min(1.0, max(0.0, v)) for v in (bar.low, bar.high))
            inner.append(
                f'<path class="range" d="M{left:.1f} {y + 9}H{right:.1f}M{left:.1f} {y + 5}v8'
                f'M{right:.1f} {y + 5}v8"/>'
            )
        inner.append(
            f'<text class="tick" x="{label + width + 6}" y="{y + 13}">{bar.value:.3f}</text>'
        )
    if ref is not None:
        inner.append(f'<path class="ref" d="M{label + width * ref:.1f} 2V{bottom}"/>')
    inner.append(f'<path class="axis" d="M{label} {bottom}H{label + width}"/>')
    for share in (0, 0.5, 1):
        at = label + width * share
        inner.append(f'<text class="tick mid" x="{at:g}" y="{bottom + 14}">{share:g}</text>')
    return svg(title, label + width + 50, bottom + 20, "".join(inner))


def histogram(title: str, label: str, up: Sequence[int], down: Sequence[int]) -> Markup:
    """Draw two distributions over 0 .. 1, one up and one down, each in shares of its own total."""
    width, height, top, bottom = 208, 128, 20, 24
    middle, room = top + (height - top - bottom) / 2, (height - top - bottom) / 2
    most = max((_most(up), _most(down), 1e-9))
    inner = [f'<text class="strong" x="4" y="13">{clip(label, 27)}</text>']
    for counts, sign, name in ((up, -1, "pos"), (down, 1, "neg")):
        total = sum(counts) or 1
        wide = (width - 8) / max(1, len(counts))
        path = "".join(
            f"M{4 + i * wide:.1f} {middle:.1f}v{sign * room * (c / total) / most:.1f}"
            f"h{wide - 0.6:.1f}V{middle:.1f}z"
            for i, c in enumerate(counts)
            if c
        )
        inner.append(f'<path class="bar-{name}" d="{path}"/>')
    inner.append(f'<path class="axis" d="M4 {middle:.1f}H{width - 4}"/>')
    for at, text, place in ((4, "0", ""), (width / 2, "risk", "mid"), (width - 4, "1", "end")):
        inner.append(f'<text class="tick {place}" x="{at:g}" y="{height - 8}">{text}</text>')
    return svg(title, width, height, "".join(inner))


def stacked(title: str, rows: Sequence[tuple[str, int, int]], names: tuple[str, str]) -> Markup:
    """Draw a bar per row with two counts; the shares are written into them."""
    label, width, step = label_room([r[0] for r in rows]), 330, 24
    inner = []
    for i, (name, first, second) in enumerate(rows):
        y, total = 6 + i * step, first + second
        cut = width * first / total if total else 0.0
        inner.append(f'<text class="end" x="{label - 8}" y="{y + 13}">{clip(name)}</text>')
        for x, wide, count, kind in (
            (label, cut, first, "pos"),
            (label + cut, width - cut, second, "neg"),
        ):
            if not total:
                continue
            inner.append(
                f'<rect class="bar-{kind}" x="{x:.1f}" y="{y}" width="{wide:.1f}" height="18">'
                f"<title>{escape(names[kind == 'neg'])}: {count:,}</title></rect>"
            )
            if wide > 46:
                inner.append(
                    f'<text class="on mid" x="{x + wide / 2:.1f}" y="{y + 13}">{count:,}</text>'
                )
    return svg(title, label + width + 10, 12 + len(rows) * step, "".join(inner))


def boxes(title: str, y: Axis, glyphs: Sequence[BoxGlyph]) -> Markup:
    """Draw box plots side by side: groups along the axis, kinds within them."""
    groups = list(dict.fromkeys(g.group for g in glyphs))
    kinds = list(dict.fromkeys(g.kind for g in glyphs))
    middle = tuple((i + 0.5, g) for i, g in enumerate(groups))
    plot = Frame(Axis("decoding", 0, max(1, len(groups)), ticks=middle), y)
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(groups))
    wide = min(26.0, 0.8 * slot / max(1, len(kinds)))
    parts = [plot.axes()]
    for g in glyphs:
        place = kinds.index(g.kind) - (len(kinds) - 1) / 2
        at = plot.x(groups.index(g.group) + 0.5) + place * wide
        low, q1, mid, q3, high = (plot.y(v) for v in (g.low, g.q1, g.median, g.q3, g.high))
        left, right = at - wide * 0.42, at + wide * 0.42
        name = f"{escape(g.group)}, {escape(g.kind)}"
        parts.append(
            f'<g class="box {classes(g.style)}"><title>{name}: median {g.median:.3f}, '
            f"quartiles {g.q1:.3f} to {g.q3:.3f}, n {g.n:,}</title>"
            f'<path class="whisker" d="M{at:.1f} {low:.1f}V{q1:.1f}M{at:.1f} {q3:.1f}V{high:.1f}"/>'
            f'<rect x="{left:.1f}" y="{q3:.1f}" width="{right - left:.1f}" '
            f'height="{max(0.5, q1 - q3):.1f}"/>'
            f'<path class="median" d="M{left:.1f} {mid:.1f}H{right:.1f}"/></g>'
        )
    return svg(title, WIDTH, HEIGHT, "".join(parts))


def _most(counts: Sequence[int]) -> float:
    return max(counts, default=0) / (sum(counts) or 1)
