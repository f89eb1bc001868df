"""Drawings: where things are put, and that they are sound SVG."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from drawings import HOSTILE, check_drawing
from hypothesis import given
from hypothesis import strategies as st

from veridical.report.plots import (
    COLOURS,
    DASHES,
    MARKERS,
    Axis,
    Series,
    clip,
    forest,
    legend,
    lines,
    round_ticks,
    thin,
)
from veridical.report.plots_bars import BoxGlyph, boxes, histogram, stacked

UNIT = Axis("x", 0, 1)


def corners(path: str) -> list[tuple[float, float]]:
    """Absolute points of a path of one M and relative l."""
    first, *steps = re.split("[Ml]", path)[1:]
    x, y = map(float, first.split())
    found = [(x, y)]
    for step in steps:
        dx, dy = map(float, step.split())
        x, y = x + dx, y + dy
        found.append((x, y))
    return found


def test_a_line_runs_through_its_points() -> None:
    made = lines("t", UNIT, UNIT, [Series("s", [(0, 0), (0.5, 1), (1, 0.5)], 0)])
    (path,) = re.findall(r'class="line" d="([^"]+)"', made)
    # The plot is 376 wide from x = 50, and 244 high from y = 256 upwards.
    wanted = [(50, 256), (238, 12), (426, 134)]
    assert all(math.dist(a, b) < 0.06 for a, b in zip(corners(path), wanted, strict=True))


def test_values_outside_are_drawn_at_the_edge_and_log_axes_are_even() -> None:
    axis = Axis("size", 0.1, 10, log=True)
    assert [axis.share(v) for v in (0.1, 1, 10, 100, 0.0001)] == pytest.approx([0, 0.5, 1, 1, 0])
    assert [t for _, t in axis.marks()] == ["0.1", "0.2", "0.5", "1", "2", "5", "10"]


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e6))
def test_ticks_are_round_ordered_and_inside(low: float, width: float) -> None:
    high = low + width
    ticks = [v for v, _ in round_ticks(low, high)]
    slack = 1e-6 * max(abs(low), abs(high), width)
    assert 2 <= len(ticks) <= 12
    assert all(low - slack <= v <= high + slack for v in ticks)
    steps = {round((b - a) / width, 6) for a, b in pairwise(ticks)}
    assert max(steps) - min(steps) < 1e-4


def test_a_line_that_turns_back_keeps_its_turn() -> None:
    assert thin([(0, 0), (10, 0), (5, 0)]) == [(0, 0), (10, 0), (5, 0)]


@given(st.lists(st.tuples(st.floats(0, 400), st.floats(0, 300)), max_size=60))
def test_thinning_stays_near_every_point(points: list[tuple[float, float]]) -> None:
    kept = thin(points, 0.5)
    assert kept[:1] == points[:1] and kept[-1:] == points[-1:]

    def off(p: tuple[float, float]) -> float:
        best = math.inf
        for a, b in pairwise(kept):
            run = (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2
            t = ((p[0] - a[0]) * (b[0] - a[0]) + (p[1] - a[1]) * (b[1] - a[1])) / run if run else 0
            t = min(1.0, max(0.0, t))
            near = (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))
            best = min(best, math.dist(p, near))
        return best

    if len(kept) > 1:
        assert all(off(p) <= 0.5 + 1e-6 for p in points)


def test_a_straight_line_keeps_its_ends_only() -> None:
    assert thin([(i, 2 * i) for i in range(50)]) == [(0, 0), (49, 98)]


def test_styles_of_many_series_differ() -> None:
    styles = {(i % COLOURS, i % DASHES, i % MARKERS) for i in range(140)}
    assert len(styles) == 140


def test_a_histogram_shows_shares_of_each_own_total() -> None:
    made = histogram("t", "s", [1, 1], [100, 100])
    heights = [abs(float(v)) for v in re.findall(r"\dv(-?[\d.]+)h", made)]
    assert len(heights) == 4 and len(set(heights)) == 1


def test_every_drawing_is_sound_named_and_escaped() -> None:
    box = BoxGlyph(HOSTILE, HOSTILE, 0, 0, 0.2, 0.4, 0.5, 0.9, 12)
    made = [
        lines(
            HOSTILE, Axis(HOSTILE, 0, 1), UNIT, [Series(HOSTILE, [(0, 0)], 0)], level=(1, HOSTILE)
        ),
        lines(HOSTILE, UNIT, UNIT, [Series("s", [], 3, [(0, 0, 1)])], diagonal=True),
        lines(HOSTILE, Axis("x", 0, 2, ticks=((1, HOSTILE),)), UNIT, []),
        histogram(HOSTILE, HOSTILE, [0, 0], []),
        stacked(HOSTILE, [(HOSTILE, 3, 0), ("none", 0, 0)], (HOSTILE, "b")),
        boxes(HOSTILE, UNIT, [box]),
    ]
    for drawing in made:
        check_drawing(drawing, HOSTILE)
    ET.fromstring(legend([(HOSTILE, 1)]))
    ET.fromstring(forest(0.5, None, None, UNIT, None))


def test_cut_labels_keep_the_whole_as_a_tooltip() -> None:
    assert clip("abc", 5) == "abc"
    assert clip("a<cdefgh", 4) == "a&lt;c…<title>a&lt;cdefgh</title>"
