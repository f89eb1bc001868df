"""Heat maps and critical-difference diagrams as inline SVG (see :mod:`plots`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from veridical.report.plots import clip, label_room, svg
from veridical.stats.tables import Rank


class Cell(NamedTuple):
    """Text of a cell with its fill: -1 .. 1, the sign selects the colour."""

    text: str
    strength: float


def heat_map(
    title: str,
    names: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    columns: Sequence[str] | None = None,
) -> Markup:
    """Draw a matrix with its numbers.

    Without ``columns`` it is square, and columns are numbered like the rows, so that long names
    need not be rotated.
    """
    numbered = columns is None
    heads = [str(i + 1) for i in range(len(names))] if columns is None else list(columns)
    rows = [f"{i + 1}  {n}" if numbered else n for i, n in enumerate(names)]
    wide = 40 if numbered else max(56, min(130, 16 + 7 * max(map(len, heads), default=0)))
    left, top, high = label_room(rows), 24, 26
    parts = []
    for j, head in enumerate(heads):
        at = left + (j + 0.5) * wide
        parts.append(f'<text class="tick mid" x="{at:g}" y="16">{clip(head, wide // 7)}</text>')
    for i, row in enumerate(cells):
        y = top + i * high
        parts.append(f'<text class="end" x="{left - 8}" y="{y + 17}">{clip(rows[i])}</text>')
        for j, cell in enumerate(row):
            parts.append(_cell(left + j * wide, y, wide, high, cell))
    return svg(title, left + wide * len(heads) + 8, top + high * len(cells) + 6, "".join(parts))


def filled(
    values: Sequence[Sequence[float | None]], cell: Callable[[float], Cell]
) -> list[list[Cell]]:
    """Return a cell per value; a dash if it is missing."""
    return [[Cell("–", 0.0) if v is None else cell(v) for v in row] for row in values]


def correlation(value: float) -> Cell:
    """Return the cell of a correlation: blue above zero, red below."""
    return Cell(_short(value), max(-1.0, min(1.0, value)))


def portion(value: float) -> Cell:
    """Return the cell of a share, as a percentage."""
    return Cell(f"{100 * value:.0f}", max(0.0, min(1.0, value)))


def significance(p: float) -> Cell:
    """Return the cell of a p-value: red above 0.05, blue if a difference was found."""
    text = "<.001" if p < 0.001 else "1" if p >= 0.9995 else f"{p:.3f}".removeprefix("0")
    return Cell(text, -0.55 if p > 0.05 else 0.55)


def critical_difference(
    title: str, ranks: Sequence[Rank], cliques: Sequence[Sequence[str]]
) -> Markup:
    """Draw mean ranks as dots, best first; a bar joins scorers without a significant difference.

    After Demsar (2006, figure 1), with a line per scorer, so that long names fit. Each member of a
    clique has a dot on the bar, because a clique may skip a scorer.
    """
    ordered = sorted(ranks, key=lambda r: r.rank)
    place = {r.scorer: i for i, r in enumerate(ordered)}
    bars = [sorted({place[n] for n in c if n in place}) for c in cliques]
    bars = [b for b in bars if len(b) > 1]
    left, width, top, step = label_room([r.scorer for r in ordered]) + 12, 320, 44, 26
    worst = max((r.rank for r in ordered), default=1.0)
    high = max(2.0, float(len(ordered)), worst)
    floor = top + step * len(ordered)

    def x(rank: float) -> float:
        return left + width * (rank - 1) / (high - 1)

    parts = [
        f'<text class="label mid" x="{left + width / 2:g}" y="14">mean rank (1 is best)</text>'
    ]
    for value in range(1, int(high) + 1, 1 + int(high) // 14):
        parts.append(f'<text class="tick mid" x="{x(value):.1f}" y="32">{value}</text>')
        parts.append(f'<path class="grid" d="M{x(value):.1f} {top - 6}V{floor}"/>')
    for i, r in enumerate(ordered):
        y = top + (i + 0.5) * step
        parts.append(f'<text class="end" x="{left - 14}" y="{y + 4:g}">{clip(r.scorer)}</text>')
        parts.append(f'<path class="lead" d="M{left - 8} {y:g}H{x(r.rank):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{x(r.rank):.1f}" cy="{y:g}" r="4.5"/>')
        side, anchor = (-9, " end") if r.rank > 1 + 0.85 * (high - 1) else (9, "")
        parts.append(
            f'<text class="tick halo{anchor}" x="{x(r.rank) + side:.1f}" y="{y + 4:g}">'
            f"{r.rank:.2f}</text>"
        )
    for k, bar in enumerate(bars):
        at = left + width + 26 + 15 * k
        first, last = (top + (i + 0.5) * step for i in (bar[0], bar[-1]))
        parts.append(f'<path class="clique" d="M{at} {first - 6:g}V{last + 6:g}"/>')
        for i in bar:
            parts.append(f'<circle class="knot" cx="{at}" cy="{top + (i + 0.5) * step:g}" r="2"/>')
    return svg(title, left + width + 40 + 15 * len(bars), floor + 8, "".join(parts))


def _cell(x: float, y: float, wide: float, high: float, cell: Cell) -> str:
    strength = abs(cell.strength)
    kind = "neg" if cell.strength < 0 else "pos"
    text = "on" if strength > 0.62 else "off"
    return (
        f'<rect class="cell-{kind}" fill-opacity="{strength:.2g}" x="{x + 1:g}" y="{y + 1:g}" '
        f'width="{wide - 2:g}" height="{high - 2:g}" rx="2"/>'
        f'<text class="cell-{text} mid" x="{x + wide / 2:g}" y="{y + high / 2 + 4:g}">'
        f"{escape(cell.text)}</text>"
    )


def _short(value: float) -> str:
    """Format two decimals without a leading zero."""
    text = f"{value:.2f}"
    if float(text) == 0:
        return "0"
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text.removesuffix(".00")
