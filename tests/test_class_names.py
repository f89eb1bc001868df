"""A public class name stands for one thing in each package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def classes_of(source: Path) -> dict[str, list[str]]:
    """Public class of a package's modules -> where it is defined."""
    places = defaultdict(list)
    for file in source.rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{file.relative_to(source)}:{node.lineno}")
    return places


@pytest.mark.parametrize("source", ["src/veridical", "packages/veridical-lab/src/veridical_lab"])
def test_a_public_class_name_occurs_once(source: str) -> None:
    places = classes_of(ROOT / source)
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_a_second_class_of_a_name_is_found(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("class Row: ...\nclass _Row: ...\n")
    (found,) = classes_of(tmp_path).items()
    assert found == ("Row", ["one.py:1", "two.py:1"]) or found[1] == ["two.py:1", "one.py:1"]
