"""``veridical tune`` as a command: figures, files, reports, exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from commands import run_command
from graded_answers import answers

SCORERS = "ngram_presence, ngram, exact_match"


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=cwd)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    lines = (json.dumps(row) + "\n" for row in answers())
    (tmp_path / "graded.jsonl").write_text("".join(lines))
    return tmp_path


def test_from_graded_answers_to_a_check(folder: Path) -> None:
    made = run(
        *("tune", "graded.jsonl", "--scorers", SCORERS, "--out", "ensemble.json"),
        *("--json", "-", "--report", "tuned.html", "--report", "tuned.md", "--report", "t.txt"),
        *("--bootstrap", "40", "--calibrate", "platt"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    told = json.loads(made.stdout)  # figures only
    assert told["honest"]["folds"] == 5
    assert told["honest"]["ensemble"]["ci_low"] < told["honest"]["ensemble"]["value"]
    assert "AUROC on answers it was not fitted to" in " ".join(made.stderr.split())
    assert told["ensemble"] == json.loads((folder / "ensemble.json").read_text())
    page = (folder / "tuned.html").read_text()
    assert "default-src &#39;none&#39;" in page and page.count("<script") == 1
    assert "ECE" in (folder / "tuned.md").read_text() and (folder / "t.txt").stat().st_size
    runs = list((folder / ".veridical" / "runs").iterdir())
    again = run("tune", "graded.jsonl", "--scorers", SCORERS, "--bootstrap", "0", cwd=folder)
    assert again.returncode == 0
    assert "not saved" in again.stderr
    assert list((folder / ".veridical" / "runs").iterdir()) == runs  # scored once
    checked = run(
        *("check", "graded.jsonl", "--scorers", "ensemble(file='ensemble.json')", "--json", "-"),
        cwd=folder,
    )
    assert checked.returncode == 0, checked.stderr
    assert len(checked.stdout.splitlines()) == 80


def test_a_precision_gives_a_threshold_and_its_recall_on_other_folds(folder: Path) -> None:
    made = run(
        *("tune", "graded.jsonl", "--scorers", SCORERS, "--min-precision", "0.8"),
        *("--bootstrap", "40", "--out", "ensemble.json", "--report", "tuned.html", "--json", "-"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    found = json.loads(made.stdout)["honest"]["at_precision"]
    assert found["recall"]["ci_low"] <= found["recall"]["value"] <= found["recall"]["ci_high"]
    wrong = sum(row["label"] for row in answers())
    assert f"finds {found['right']} of {wrong:.0f} wrong answers (recall" in " ".join(
        made.stderr.split()
    )
    assert "Of wrong answers, at every threshold" in (folder / "tuned.html").read_text("utf-8")


def test_errors_are_told_before_the_work(folder: Path) -> None:
    for arguments, why in (
        (["--objective", "auroc", "--joint"], "--joint requires an objective with a threshold"),
        (["--out", "missing/ensemble.json"], "its folder must exist"),
        (["--out", "graded.jsonl"], "it is an input"),
        (["--report", "report.pdf"], "a report must be .html"),
        (["--alpha", "2"], "alpha must be between 0 and 1"),
        (["--scorers", "ngramm"], "did you mean 'ngram'"),
    ):
        made = run("tune", "graded.jsonl", "--scorers", SCORERS, *arguments, cwd=folder)
        assert made.returncode == 1, made.stderr
        assert why in " ".join(made.stderr.split())
        assert "Traceback" not in made.stderr
        assert not (folder / ".veridical" / "runs").exists()


def test_too_few_graded_answers(folder: Path) -> None:
    made = run("tune", "graded.jsonl", "--scorers", SCORERS, "--limit", "12", cwd=folder)
    assert made.returncode == 1
    assert "too few to tune on" in " ".join(made.stderr.split())


def test_coverage_turns_the_exit_code(folder: Path) -> None:
    with (folder / "graded.jsonl").open("a") as out:
        out.write('{"id": "broken"}\n' * 5)
    made = run("tune", "graded.jsonl", "--scorers", SCORERS, "--bootstrap", "0", cwd=folder)
    assert made.returncode == 2, made.stderr
    assert "coverage under 98 %" in made.stderr
