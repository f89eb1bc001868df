"""The gallery of scorers: a formula, a figure and a picture each, of the scorers as they are."""

from __future__ import annotations

import re
from types import ModuleType

import pytest
from colours import BLINDNESS
from docs_modules import docs_module
from places import ROOT

from veridical.core.registry import REGISTRY


@pytest.fixture(scope="module")
def gallery() -> ModuleType:
    return docs_module("gallery")


def test_every_scorer_that_needs_no_llm_is_drawn(gallery: ModuleType) -> None:
    """Of those that the examples have the fields for."""
    cheap = {"free", "embed", "tokens", "nli", "probabilities"}
    wanted = {s.name for s in REGISTRY.all() if "all" in s.presets and s.cost in cheap}
    # The examples have no conversation, tool call or citation; the small model tells no words.
    left = {"actions", "tool_calls", "turns", "citations", "spans"}
    assert wanted - set(gallery.kept()["scorers"]) <= left
    assert set(gallery.kept()["scorers"]) <= set(gallery.FORMULAS)


def test_the_pictures_are_of_the_versions_that_are_here(gallery: ModuleType) -> None:
    for name, made in gallery.kept()["scorers"].items():
        assert made["version"] == f"v{REGISTRY.get(name).version}", (
            f"{name} is another: run docs/gallery.py on a run of the examples"
        )


def test_each_section_has_formula_figure_and_picture(gallery: ModuleType) -> None:
    sections = re.split(r"^## ", gallery.page(), flags=re.MULTILINE)[1:]
    assert len(sections) == len(gallery.kept()["scorers"]) > 30
    for section in sections:
        name = section.partition("\n")[0]
        assert f"`{gallery.FORMULAS[name]}`" in section
        assert re.search(r"^- separates the examples: [01]\.\d\d$", section, re.MULTILINE), name
        picture = ROOT / "docs" / f"images/gallery/{name}.svg"
        assert f"(../images/gallery/{name}.svg)" in section and picture.is_file()
        assert "<title>" in picture.read_text("utf-8")


def test_figures_on_public_sets_are_those_of_the_results(gallery: ModuleType) -> None:
    found = gallery.published()
    page = (ROOT / "docs/evidence/wikibio-begin-halueval.md").read_text("utf-8")
    (line,) = [x for x in page.splitlines() if x.startswith("| `support` | ")][:1]
    shown = found["support"]["WikiBio, passages, Spearman"]
    assert shown in line.replace("*", "").replace("†", "")
    assert "BEGIN wow/test, average precision" in found["nli_grounding"]


def test_separation_is_the_area_under_the_curve(gallery: ModuleType) -> None:
    from sklearn.metrics import roc_auc_score

    right, wrong = [0.1, 0.4, 0.4, 0.7], [0.4, 0.6, 0.9]
    truth = [0] * len(right) + [1] * len(wrong)
    assert gallery.separates(right, wrong) == pytest.approx(roc_auc_score(truth, right + wrong))


def test_right_and_wrong_differ_by_shape_and_for_every_eye(gallery: ModuleType) -> None:
    drawn = gallery.picture("support")
    assert "<circle" in drawn and "l5 5-5 5-5-5z" in drawn
    import numpy as np

    for blindness in BLINDNESS.values():
        right, wrong = (
            blindness @ np.array([int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)]) ** 2.2
            for c in (gallery.RIGHT, gallery.WRONG)
        )
        assert float(np.abs(right - wrong).max()) > 0.15
