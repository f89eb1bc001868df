"""Pictures of counted objects on white, drawn by code.

The same seed gives the same picture.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from veridical.core.images import url_of

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 256  # points of a picture
_FINE = 2  # times finer while it is drawn
_GRID = 3  # places a side, of which each object has one
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
#: Most objects of a picture.
MOST = len(NUMBERS)


def prompt_of(name: str, count: int) -> str:
    """Return the prompt for an image model (Besta et al. 2025, appendix E)."""
    return f"{NUMBERS[count - 1]} {name}{'s' if count > 1 else ''} on a white background"


@dataclass(frozen=True)
class Scene:
    """``count`` objects, 1 to :data:`MOST`, whose places, sizes, turns and shades the seed draws.

    Attributes:
        object: one of :data:`OBJECTS`.
        seed: another for each picture, also of the same prompt.
    """

    object: str
    count: int
    seed: int

    def picture(self) -> Image:
        """Draw the picture, (256, 256) in RGB."""
        from PIL import Image

        random = Random(f"{self.object}/{self.count}/{self.seed}")
        side = SIDE * _FINE
        scene = Image.new("RGB", (side, side), "white")
        cell = side // _GRID
        for place in sorted(random.sample(range(_GRID * _GRID), self.count)):
            size = round(cell * random.uniform(0.7, 0.9))
            shade = random.uniform(0.88, 1.08)
            tile = Image.new("RGBA", (size, size), (255, 255, 255, 0))
            OBJECTS[self.object](_TileCanvas(tile, shade))
            tile = tile.rotate(random.uniform(-25, 25), Image.Resampling.BICUBIC)
            free = cell - size
            x = place % _GRID * cell + random.randint(0, free)
            y = place // _GRID * cell + random.randint(0, free)
            scene.paste(tile, (x, y), tile)
        return scene.resize((SIDE, SIDE), Image.Resampling.LANCZOS)

    def url(self) -> str:
        """Return the picture as a ``data:`` URL of a PNG file."""
        file = io.BytesIO()
        self.picture().save(file, "PNG")
        return url_of(file.getvalue())


class _TileCanvas:
    """Draws on a tile in shares of its side, from 0 to 1; colours are shaded."""

    def __init__(self, tile: Any, shade: float) -> None:
        from PIL import ImageDraw

        self._draw = ImageDraw.Draw(tile)
        self._side = tile.width
        self._shade = shade

    def _at(self, *shares: float) -> list[float]:
        return [share * self._side for share in shares]

    def _colour(self, red: int, green: int, blue: int) -> tuple[int, int, int]:
        r, g, b = (min(255, round(c * self._shade)) for c in (red, green, blue))
        return r, g, b

    def oval(self, x0: float, y0: float, x1: float, y1: float, *colour: int) -> None:
        self._draw.ellipse(self._at(x0, y0, x1, y1), fill=self._colour(*colour))

    def arc(
        self, x0: float, y0: float, x1: float, y1: float, turn: tuple[int, int], *colour: int
    ) -> None:
        width = max(2, self._side // 20)
        box = self._at(x0, y0, x1, y1)
        self._draw.arc(box, *turn, fill=self._colour(*colour), width=width)

    def shape(self, points: list[tuple[float, float]], *colour: int) -> None:
        placed = [(x * self._side, y * self._side) for x, y in points]
        self._draw.polygon(placed, fill=self._colour(*colour))

    def box(self, x0: float, y0: float, x1: float, y1: float, *colour: int) -> None:
        self._draw.rectangle(self._at(x0, y0, x1, y1), fill=self._colour(*colour))


def _ball(canvas: _TileCanvas) -> None:
    canvas.oval(0.1, 0.1, 0.9, 0.9, 205, 225, 50)
    canvas.arc(-0.35, 0.1, 0.35, 0.9, (-60, 60), 245, 245, 235)
    canvas.arc(0.65, 0.1, 1.35, 0.9, (120, 240), 245, 245, 235)


def _apple(canvas: _TileCanvas) -> None:
    canvas.oval(0.12, 0.25, 0.6, 0.9, 190, 30, 35)
    canvas.oval(0.4, 0.25, 0.88, 0.9, 200, 40, 40)
    canvas.box(0.47, 0.1, 0.53, 0.35, 95, 60, 30)
    canvas.oval(0.52, 0.1, 0.78, 0.24, 70, 140, 50)


def _cube(canvas: _TileCanvas) -> None:
    canvas.shape([(0.5, 0.1), (0.88, 0.3), (0.5, 0.5), (0.12, 0.3)], 130, 170, 230)
    canvas.shape([(0.12, 0.3), (0.5, 0.5), (0.5, 0.92), (0.12, 0.72)], 60, 100, 190)
    canvas.shape([(0.88, 0.3), (0.5, 0.5), (0.5, 0.92), (0.88, 0.72)], 40, 75, 150)


def _star(canvas: _TileCanvas) -> None:
    points = []
    for i in range(10):
        reach, turn = (0.42 if i % 2 == 0 else 0.18), math.pi * (i / 5 - 0.5)
        points.append((0.5 + reach * math.cos(turn), 0.5 + reach * math.sin(turn)))
    canvas.shape(points, 230, 180, 30)


def _mug(canvas: _TileCanvas) -> None:
    canvas.arc(0.55, 0.35, 0.92, 0.72, (-100, 100), 30, 130, 120)
    canvas.box(0.15, 0.25, 0.7, 0.85, 40, 150, 140)
    canvas.oval(0.15, 0.17, 0.7, 0.35, 90, 55, 35)


def _leaf(canvas: _TileCanvas) -> None:
    curve = [(x / 10, 0.32 * math.sin(math.pi * (x - 1) / 8)) for x in range(1, 10)]
    upper = [(x, 0.5 - y) for x, y in curve]
    canvas.shape([*upper, *((x, 0.5 + y) for x, y in reversed(curve))], 70, 150, 60)
    canvas.box(0.05, 0.485, 0.9, 0.515, 40, 95, 35)


def _coin(canvas: _TileCanvas) -> None:
    canvas.oval(0.12, 0.12, 0.88, 0.88, 160, 120, 40)
    canvas.oval(0.2, 0.2, 0.8, 0.8, 215, 175, 80)
    canvas.box(0.46, 0.32, 0.54, 0.68, 160, 120, 40)


def _candle(canvas: _TileCanvas) -> None:
    canvas.box(0.36, 0.4, 0.64, 0.92, 150, 90, 170)
    canvas.box(0.485, 0.3, 0.515, 0.42, 40, 40, 40)
    canvas.oval(0.43, 0.08, 0.57, 0.34, 240, 150, 40)


#: Objects to count, and the functions that draw them.
OBJECTS: dict[str, Callable[[_TileCanvas], None]] = {
    "yellow tennis ball": _ball,
    "apple": _apple,
    "blue cube": _cube,
    "star": _star,
    "mug": _mug,
    "green leaf": _leaf,
    "coin": _coin,
    "candle": _candle,
}
