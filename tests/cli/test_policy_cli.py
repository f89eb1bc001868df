"""``check --policy``, ``--select`` and ``--repair`` as a user runs them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

ROWS: list[dict[str, Any]] = [
    {"id": "a", "task": "qa", "response": "It is in Mali.", "samples": ["It is in Mali."] * 2},
    {"id": "b", "task": "qa", "response": "It is in Peru.", "samples": ["It is in Mali."] * 2},
]
POLICY = """
accept = 0.2
reject = 0.95
by = "task"

[[rules]]
scorer = "exact_match"
over = 0.5
then = "reject"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS), "utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return tmp_path


def run(folder: Path, *arguments: str, command: str = "check") -> subprocess.CompletedProcess[str]:
    return run_command(command, "a.jsonl", "--preset", "fast", *arguments, cwd=folder)


def test_decisions_are_on_the_lines_in_the_summary_and_in_the_report(folder: Path) -> None:
    done = run(
        folder, "--policy", "policy.toml", "--select", "best", "--json", "-", "--report", "r.html"
    )
    assert done.returncode == 0, done.stderr  # a rejected answer is no failed run
    lines = [json.loads(x) for x in done.stdout.splitlines()]
    assert [x["decision"] for x in lines] == ["accept", "reject"]
    assert [x["selected"]["text"] for x in lines] == ["It is in Mali."] * 2
    assert "decisions: 1 accept, 0 review, 1 reject" in done.stderr
    assert "reject: rules[0]: exact_match over 0.5 (1)" in done.stderr
    assert "selected: 1 responses, 1 samples" in done.stderr
    assert "rules[0]: exact_match over 0.5" in (folder / "r.html").read_text("utf-8")
    runs = list((folder / ".veridical" / "runs").iterdir())
    other = (folder / "policy.toml").write_text("accept = 1", "utf-8")
    assert other
    done = run(folder, "--policy", "policy.toml", "--json", "-")
    assert [json.loads(x)["decision"] for x in done.stdout.splitlines()] == ["accept"] * 2
    assert list((folder / ".veridical" / "runs").iterdir()) == runs  # the same run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "absent.toml"], "cannot read policy absent.toml"),
        (["--policy", "a.jsonl"], "is not a TOML file"),
        (["--repair", "rewrite"], "no LLM is named; give one (--llm NAME)"),
        (["--select", "worst"], "worst"),
        (["--policy", "policy.toml", "--report", "policy.toml"], "it is an input"),
        (["--json", "same.out", "--report", "same.out"], "two outputs have that name"),
    ],
)
def test_what_is_refused(folder: Path, arguments: list[str], message: str) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 1
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (folder / ".veridical" / "runs").exists()


def test_plan_takes_the_options_of_check(folder: Path) -> None:
    options = (
        "--policy",
        "policy.toml",
        "--select",
        "best",
        "--repair",
        "drop",
        "--json",
        "p.json",
    )
    done = run(folder, *options, command="plan")
    assert done.returncode == 0, done.stderr
    assert "samples judged instead of the response: 1\n" in done.stdout
    # of the second record's selected answer, one of the two others supports as much as not
    assert "repaired answers: 1\n" in done.stdout
    done = run(folder, *options[:-1], "a.jsonl", command="plan")
    assert done.returncode == 1 and "it is an input" in done.stderr
