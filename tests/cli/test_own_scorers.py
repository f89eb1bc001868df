"""``--scorers ./file.py:name``: scorers of the user's own files on the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import run_command
from places import ROOT

SHOUT = (ROOT / "docs" / "new-scorer.md").read_text("utf-8").split("```python\n")[1].split("```")[0]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shout.py").write_text(SHOUT, "utf-8")
    words = ["It is {i} m tall. That is all.", "IT IS {i} M TALL. That is all."]
    rows = [
        {
            "question": f"How tall is {i}?",
            "answer": words[i % 2].format(i=i),
            "sampled_responses": [f"It is {i + i % 3} m tall."],
            "label": ("right", "wrong")[i % 2],
        }
        for i in range(40)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(text, "utf-8")
    return tmp_path


def test_check_takes_a_file_with_parameters_beside_others(folder: Path) -> None:
    scorers = "exact_match, ./shout.py:shouting(share=0.9)"
    done = run(folder, "check", "rows.jsonl", "--scorers", scorers, "--json", "-")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["scores"]["shouting(share=0.9)"]["risk"] for line in lines] == [0.0, 1.0] * 20


def test_bench_and_tune_take_it_too(folder: Path) -> None:
    scorers = "./shout.py:shouting, exact_match"
    bench = ["bench", "graded", "--data", "rows.jsonl", "--bootstrap", "0"]
    done = run(folder, *bench, "--scorers", scorers, "--report", "own.csv")
    assert done.returncode == 0, done.stderr
    assert "shouting" in (folder / "own.csv").read_text("utf-8")
    done = run(folder, "tune", "rows.jsonl", "--scorers", scorers, "--bootstrap", "0")
    assert done.returncode == 0 and "shouting" in done.stdout, done.stderr


def test_the_page_begins_with_what_a_scorer_needs_to_be_used() -> None:
    head = (ROOT / "docs" / "new-scorer.md").read_text("utf-8").partition("```python")[0]
    assert len(head.splitlines()) < 20
    for said in ("--scorers ./shout.py:shouting", "`record.samples` holds", 'level="response"'):
        assert said in head


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("./none.py:shouting", "--scorers: no such file: none.py"),
        ("./shout.py:loud", "has no scorer 'loud'; it has shouting."),
        ("./broken.py:loud", "broken.py cannot be run: ZeroDivisionError: division by zero"),
        ("./plain.py:plain", "has no scorer 'plain'; it declares no scorer."),
    ],
)
def test_a_file_that_cannot_be_used_is_named(folder: Path, named: str, said: str) -> None:
    (folder / "broken.py").write_text("1 / 0\n", "utf-8")
    (folder / "plain.py").write_text("def plain(record): ...\n", "utf-8")
    done = run(folder, "check", "rows.jsonl", "--scorers", named)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.split())


def test_only_the_command_line_runs_files(folder: Path) -> None:
    """A name of a scorer that comes from elsewhere is never a path."""
    from veridical.core.registry import REGISTRY
    from veridical.errors import UsageError

    with pytest.raises(UsageError, match="cannot read scorer"):
        REGISTRY.parse(f"{folder}/shout.py:shouting")
