"""``benchmarks/rule_errors.py``: errors that a rule puts into texts, and what is counted."""

from __future__ import annotations

import importlib
from difflib import SequenceMatcher
from types import ModuleType

import pytest
from places import ROOT

TEXT = (
    "Black holes are regions where gravity is so strong that nothing escapes. They form when "
    "massive stars collapse. Albert Einstein predicted them in 1915, before they were seen."
)
OTHER = (
    "Photosynthesis lets plants and, as Robert Hooke found, bacteria convert sunlight to glucose."
)


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    with monkeypatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        return importlib.import_module("rule_errors")


def _places(before: str, after: str) -> int:
    """Count the places where two texts differ."""
    found = SequenceMatcher(None, before.split(), after.split(), autojunk=False).get_opcodes()
    return sum(tag != "equal" for tag, *_ in found)


def test_as_many_places_are_changed_as_are_asked_for(errors: ModuleType) -> None:
    assert errors.with_errors(TEXT, OTHER, 0, seed=1) == TEXT
    for seed in range(20):
        single = errors.with_errors(TEXT, OTHER, 1, seed)
        assert _places(TEXT, single) == 1, single
        many = errors.with_errors(TEXT, OTHER, 6, seed)
        assert 3 <= _places(TEXT, many) <= 6, many  # neighbours are one place
        assert errors.with_errors(TEXT, OTHER, 6, seed) == many


def test_each_kind_of_error_is_made(errors: ModuleType) -> None:
    made = {errors.with_errors(TEXT, OTHER, 1, seed) for seed in range(200)}
    for piece in ("are not regions", "after they were", "Hooke", "sunlight"):
        assert any(piece in text for text in made), piece
    assert not all("1915" in text for text in made)


def test_a_text_is_compared_with_the_others_of_its_prompt(errors: ModuleType) -> None:
    answers = [
        {"id": "scientific/a", "response": TEXT, "samples": [OTHER]},
        {"id": "legal/0", "response": OTHER, "samples": [{"text": TEXT}]},
    ]
    rows = list(errors.records(answers))
    assert len(rows) == 2 * 2 * (1 + len(errors.LEVELS))
    assert rows[0] == {"id": "scientific/a/0/0", "response": TEXT, "samples": [OTHER]}
    assert rows[-1]["samples"] == [OTHER]
    assert rows[1]["response"] != TEXT and rows[1]["samples"] == [OTHER]


def test_figures_count_pairs_in_the_right_direction(errors: ModuleType) -> None:
    risks = {(t, 0, n): 0.1 * n + 0.01 * i for i, t in enumerate("abc") for n in (0, 1)}
    figure = errors._figure("legal", "cosine", 1, risks)
    assert figure["auroc"] == figure["own"] == 1.0 and figure["n"] == 3
    assert figure["wrong"] < figure["clean"]
    level = errors._figure("legal", "cosine", 1, dict.fromkeys(risks, 0.5))
    assert level["auroc"] == level["own"] == 0.5
