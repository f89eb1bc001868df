"""What a policy promises, as a user reads it: in the terminal and in the report."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import run_command

import veridical
from veridical.decide.guarantees import GUARANTEES


def rows(n: int) -> list[dict[str, object]]:
    """Right answers are repeated by their samples, but for a few; half are of each task."""
    rng = np.random.default_rng(0)
    made: list[dict[str, object]] = []
    for i in range(n):
        wrong = bool(rng.random() < 0.4)
        same = wrong == (rng.random() < 0.03)
        other = f"It lies {rng.integers(1e6)} miles off."
        samples = [f"It is in Mali, {i}." if same else other] * 2
        row = {"response": f"It is in Mali, {i}.", "samples": samples, "label": float(wrong)}
        made.append({**row, "task": "qa" if i % 2 else "chat"})
    return made


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command(*arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    veridical.tune(
        rows(240),
        "ngram_presence, exact_match",
        alpha=0.2,
        by="task",
        out=tmp_path / "ensemble.json",
        bootstrap=0,
        store=None,
        processes=0,
    )
    (tmp_path / "policy.toml").write_text('ensemble = "ensemble.json"\n', "utf-8")
    (tmp_path / "plain.toml").write_text("accept = 0.5\n", "utf-8")
    lines = "".join(json.dumps(row) + "\n" for row in rows(60))
    (tmp_path / "a.jsonl").write_text(lines, "utf-8")
    return tmp_path


def test_the_report_says_what_the_terminal_says(folder: Path) -> None:
    check = ("check", "a.jsonl", "--scorers", "ensemble(file='ensemble.json')", "--out", "run")
    done = run(folder, *check, "--policy", "policy.toml", "--report", "r.html")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    page = (folder / "r.html").read_text("utf-8")
    tuned = json.loads((folder / "ensemble.json").read_text("utf-8"))
    for name, fit in tuned["strata"]["of"].items():
        threshold = fit["guarantee"]["threshold"]
        assert f"guarantee: task = {name}: at most 20 % of the accepted" in said
        assert f"(risk at most {threshold:g}, by {fit['guarantee']['n']} graded answers" in said
        assert f"task = {name}" in page and f">{threshold:.4f}<" in page
    assert "each of these holds separately" in said and "Each of these holds separately" in page
    assert "no drift from the answers it was tuned on" in said
    assert "No drift from the answers it was tuned on." in page
    again = run(folder, "report", "run", "--out", "again.html")
    assert again.returncode == 0, again.stderr
    assert "Guarantee of accepted answers" in (folder / "again.html").read_text("utf-8")
    done = run(folder, *check, "--policy", "plain.toml", "--report", "r.html")
    assert done.returncode == 0 and "guarantee:" not in done.stderr
    assert "Guarantee of" not in (folder / "r.html").read_text("utf-8")
    assert not (folder / "run" / GUARANTEES).exists()
