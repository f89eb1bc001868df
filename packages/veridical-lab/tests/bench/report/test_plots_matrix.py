"""Matrices and rank diagrams: what they show, and that they are sound SVG."""

from __future__ import annotations

import math

import pytest
from drawings import HOSTILE, check_drawing

from veridical.stats.tables import Rank
from veridical_lab.bench.report.plots_matrix import (
    Cell,
    correlation,
    critical_difference,
    filled,
    heat_map,
    significance,
)


def test_heat_maps_show_their_numbers_and_signs() -> None:
    cells = filled([[1.0, -0.25], [None, 0.004]], correlation)
    assert [c.text for row in cells for c in row] == ["1", "-.25", "–", "0"]
    made = heat_map("t", ["a", "b"], cells)
    assert 'class="cell-neg" fill-opacity="0.25"' in made
    assert ">2  b<" in made


@pytest.mark.parametrize(
    ("p", "wanted"),
    [(0.0002, ("<.001", 1)), (0.05, (".050", 1)), (0.051, (".051", -1)), (1.0, ("1", -1))],
)
def test_p_values_above_five_per_cent_are_red(p: float, wanted: tuple[str, int]) -> None:
    cell = significance(p)
    assert (cell.text, math.copysign(1, cell.strength)) == wanted


def test_cliques_join_the_lines_of_their_members() -> None:
    ranks = [Rank(scorer=s, rank=r, value=0.5) for s, r in (("c", 3.0), ("a", 1.0), ("b", 1.5))]
    made = critical_difference("t", ranks, [["a", "b"], ["c"], ["gone", "c"]])
    assert made.index(">a<") < made.index(">b<") < made.index(">c<")
    assert made.count('class="clique"') == 1
    assert made.count('class="knot"') == 2


def test_every_drawing_is_sound_named_and_escaped() -> None:
    ranks = [Rank(scorer=HOSTILE, rank=1, value=0.5)]
    for drawing in (
        heat_map(HOSTILE, [HOSTILE], [[Cell(HOSTILE, 0)]], [HOSTILE]),
        heat_map(HOSTILE, [], []),
        critical_difference(HOSTILE, ranks, [[HOSTILE]]),
        critical_difference(HOSTILE, [], []),
    ):
        check_drawing(drawing, HOSTILE)
