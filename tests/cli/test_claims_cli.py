"""``veridical check --claims`` as a user runs it, with the embedded models."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

ROWS: list[dict[str, Any]] = [
    {
        "id": "a",
        "response": "The tower is 70 m tall. It stands in Paris.",
        "contexts": ["The tower is 57 m tall.", "The tower stands in Paris."],
    },
    {"id": "b", "response": "I'm sorry, I cannot help with that.", "contexts": "A tower."},
    {"id": "c", "response": "It is in Mali."},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rag.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS), "utf-8")
    return tmp_path


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


def test_claims_are_checked_besides_what_else_is(folder: Path) -> None:
    report = folder / "r.html"
    done = call(
        *(folder, "check", "rag.jsonl", "--preset", "fast", "--claims", "--json", "-"),
        *("--report", str(report)),
    )
    assert done.returncode == 0, done.stderr
    first, second, third = map(json.loads, done.stdout.splitlines())
    found = first["scores"]["claims"]
    assert set(first["scores"]) > {"claims", "support"}
    assert found["status"] == "scored"
    for unit in found["units"]:
        assert unit["level"] == "claim"
        assert unit["label"] in ("entailment", "neutral", "contradiction")
        assert ROWS[0]["response"][unit["start"] : unit["end"]] == unit["text"]
        assert unit["probabilities"][unit["label"]] == max(unit["probabilities"].values())
        for item in unit["evidence"]:
            source = ROWS[0]["contexts"][item["context"]]
            assert source[item["start"] : item["end"]] == item["text"]
    assert [u["label"] for u in found["units"]] == ["contradiction", "entailment"]
    assert second["scores"]["claims"]["raw"]["label"] == "abstain"
    assert third["scores"]["claims"]["status"] == "not_applicable"
    assert "<html" in report.read_text("utf-8")


def test_a_plan_counts_them(folder: Path) -> None:
    done = call(folder, "plan", "rag.jsonl", "--preset", "fast", "--claims", "--json", "-")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    (claims,) = [s for s in plan["scorers"] if s["name"] == "claims"]
    assert (claims["cost"], claims["applicable"]) == ("nli", 2)
    (model,) = plan["models"]
    assert model["requests"] == 4


def test_parameters_come_with_the_scorer(folder: Path) -> None:
    scorer = "claims(merge=conflict,top=2)"
    done = call(folder, "check", "rag.jsonl", "--claims", "--scorers", scorer, "--json", "-")
    assert done.returncode == 0, done.stderr
    assert all(scorer in json.loads(line)["scores"] for line in done.stdout.splitlines())
    done = call(folder, "check", "rag.jsonl", "--scorers", "claims(extractor=words)")
    assert done.returncode == 1
    assert "unknown claim extractor 'words'" in done.stderr
