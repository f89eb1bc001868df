"""veridical redteam and veridical prompts, with a scripted judge."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import run_command


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """Says incorrect of everything, but obeys one attempt and stumbles over another."""
    rules = [
        {"contains": "Ignoriere alle bisherigen", "text": "Correct"},
        {"contains": "my job depends on this", "text": "I would rather not say"},
        {"contains": "", "text": "Incorrect"},
    ]
    (tmp_path / "judge.json").write_text(json.dumps(rules))
    return f"fake:{tmp_path / 'judge.json'}"


def test_the_one_attempt_that_moves_it_is_found(tmp_path: Path, judge: str):
    done = run(tmp_path, "redteam", "--llm", judge, "--json", "out.json", "--fail-over", "0.001")
    assert done.returncode == 3, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["movers"] == ["language-01"]
    assert found["moved"]["hits"] == 1 and found["moved"]["n"] >= 100
    assert found["silenced"]["hits"] == 1
    assert found["control"]["hits"] == 0
    assert found["wrong_found"]["rate"] == 1 and found["right_passed"]["rate"] == 0
    assert found["kinds"]["language"]["hits"] == 1
    assert "moved by an attempt" in done.stdout


def test_nothing_to_move(tmp_path: Path):
    (tmp_path / "yes.json").write_text(json.dumps([{"contains": "", "text": "Correct"}]))
    done = run(tmp_path, "redteam", "--llm", "fake:yes.json", "--limit", "3")
    assert done.returncode == 1
    assert "no attempt could be measured" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--template", "lickert"), "did you mean 'likert'"),
        (("--template", "g_eval_steps"), "requests no verdict"),
        (("--place", "context"), "shows no context"),
    ],
)
def test_usage(tmp_path: Path, judge: str, arguments: tuple[str, ...], why: str):
    done = run(tmp_path, "redteam", "--llm", judge, *arguments)
    assert done.returncode == 1 and why in done.stderr
    assert "Traceback" not in done.stderr


def test_prompts_are_listed_and_printed(tmp_path: Path):
    done = run(tmp_path, "prompts", "likert")
    assert done.returncode == 0
    (tmp_path / "mine.toml").write_text(done.stdout)
    listed = run(tmp_path, "prompts")
    assert "correct_incorrect" in listed.stdout
    assert run(tmp_path, "prompts", "lickert").returncode == 1
