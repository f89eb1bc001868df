"""The counts of cases on the page of promises are those of the tests' own data."""

from __future__ import annotations

import json
from pathlib import Path

import evasive_forms
from test_hostile_models import cases

PAGE = (Path(__file__).parents[2] / "docs/security.md").read_text("utf-8")


def test_replies_of_judges() -> None:
    lines = (Path(__file__).parent / "verdict_corpus.jsonl").read_text("utf-8").splitlines()
    hostile = sum(not json.loads(line)["honest"] for line in lines)
    assert f"{len(lines)} replies with their right readings, {hostile} of them hostile" in PAGE


def test_evasive_answers() -> None:
    wrong = sum(row["id"].endswith("/wrong") for row in evasive_forms.rows())
    assert f"{wrong} wrong answers in courtesies" in PAGE


def test_model_files() -> None:
    count = sum(len(cases(kind)) for kind in ("llama", "qwen2"))
    assert f"{count} files with a value of another kind" in PAGE
