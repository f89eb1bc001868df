"""Violins: the density against SciPy's, and what the drawing says."""

from __future__ import annotations

import pytest
from scipy.stats import gaussian_kde

from veridical.report.plots import Axis
from veridical_lab.bench.report.plots_violin import Violin, density, violins


def test_the_density_is_scipys() -> None:
    values = [0.1, 0.2, 0.25, 0.7, 0.9]
    kernel = gaussian_kde(values)  # Scott's rule too
    for place, width in density(values):
        assert width == pytest.approx(kernel(place)[0])
    assert density(values)[0][0] == 0.1 and density(values)[-1][0] == pytest.approx(0.9)


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5, 0.5]])
def test_values_without_spread_have_no_outline(values: list[float]) -> None:
    drawing = violins("v", "x", Axis("y", 0, 1), [Violin("g", "k", 0, values)])
    assert density(values) == [] and 'class="body"' not in drawing
    assert drawing.count('class="cloud"') == len(values)


def test_names_are_escaped_and_the_median_is_told() -> None:
    shown = [Violin("<g>", "a & b", 0, [0.1, 0.4, 0.6]), Violin("h", "c", 1, [0.2, 0.3])]
    drawing = violins("<t>", "x", Axis("y", 0, 1), shown)
    assert "<g>" not in drawing and "&lt;g&gt;, a &amp; b: median 0.400, n 3" in drawing
    assert drawing.count('class="body"') == 2 and "c1 d1" in drawing
