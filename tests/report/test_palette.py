"""Colours that carry meaning are told apart by the colour-blind, and texts can be read."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from colours import BLINDNESS, contrast, difference, variables

import veridical
from veridical.core.explain import CSS

STATIC = Path(veridical.__file__).parent / "report" / "static"
COLOURS = {
    name: pair
    for sheet in ("page", "bench")
    for name, pair in variables((STATIC / f"{sheet}.css").read_text("utf-8")).items()
}
#: What stands side by side, and how different it must be: 2 is just noticeable.
APART = {
    ("v-entailment", "v-neutral", "v-contradiction"): 10,
    ("good", "warn", "alarm"): 10,
    ("positive", "negative"): 10,
    ("heat", "risk"): 10,
    tuple(f"c{i}" for i in range(7)): 8,
}
TEXTS = (
    *("ink", "soft", "accent", "risk", "alarm", "good", "warn"),
    *("v-entailment", "v-neutral", "v-contradiction"),
)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
@pytest.mark.parametrize("names", APART, ids=" ".join)
def test_what_stands_side_by_side_is_told_apart(
    names: tuple[str, ...], blindness: str, theme: int
) -> None:
    for one, other in combinations(names, 2):
        apart = difference(COLOURS[one][theme], COLOURS[other][theme], blindness)
        assert apart >= APART[names], (one, other)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_texts_and_lines_stand_out_from_their_ground(theme: int) -> None:
    for ground in ("paper", "wash"):
        for name in TEXTS:
            assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, name
    for name in (*(f"c{i}" for i in range(7)), "positive", "negative"):
        assert contrast(COLOURS[name][theme], COLOURS["paper"][theme]) >= 3, name


def test_the_lines_under_an_explanation() -> None:
    lines = {style: CSS[style].split()[-1] for style in ("good", "doubtful", "bad")}
    for blindness in BLINDNESS:
        for one, other in combinations(lines.values(), 2):
            assert difference(one, other, blindness) >= 10
    for colour in lines.values():  # on the page of a notebook, light or dark
        assert contrast(colour, "#ffffff") >= 3 and contrast(colour, "#15181b") >= 3


def test_the_measures_themselves() -> None:
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # a known border case
    assert difference("#ffffff", "#000000") == pytest.approx(100, abs=0.1)
    # the red and green that those without red or green cones take for each other
    assert difference("#d1242f", "#2da44e") > 3 * difference("#d1242f", "#2da44e", "deuteranopia")
