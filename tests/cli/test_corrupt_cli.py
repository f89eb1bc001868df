"""``veridical corrupt`` as a command: what it writes is read by ``tune`` and ``bench graded``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "veridical", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    rows = []
    for i in range(12):
        text = f"Hall {i} has {20 + i} rooms and was opened in {1950 + i}. It is not for rent."
        rows.append({"id": i, "prompt": f"What is hall {i}?", "response": text, "contexts": [text]})
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "answers.jsonl").write_text(text)
    return tmp_path


def test_from_right_answers_to_a_benchmark_and_an_ensemble(folder: Path) -> None:
    made = run(
        *("corrupt", "answers.jsonl", "--kinds", "figure,negation", "--n", "2"),
        *("--out", "labelled.jsonl"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    said = " ".join(made.stderr.split())
    assert "12 right answers and 24 wrong variants (12 figure, 12 negation): labelled.jsonl" in said
    first = (folder / "labelled.jsonl").read_bytes()
    assert len(first.splitlines()) == 36

    bench = run(
        *("bench", "graded", "--data", "labelled.jsonl", "--scorers", "support"),
        *("--bootstrap", "10", "--json", "-"),
        cwd=folder,
    )
    assert bench.returncode == 0, bench.stderr
    rows = {
        (r["level"], r["metric"]): r
        for r in json.loads(bench.stdout)["rows"]
        if r["scorer"] == "support"
    }
    assert rows["response", "auroc"]["n_total"] == 36
    assert rows["response", "precision"]["value"] == 1.0  # no right answer is flagged
    assert rows["response", "recall"]["value"] > 0.6
    assert rows["sentence", "auroc"]["value"] > 0.75
    assert rows["span", "span_overlap_precision"]["value"] == 1.0

    tuned = run(
        *("tune", "labelled.jsonl", "--scorers", "support, knowledge_f1", "--bootstrap", "0"),
        *("--out", "ensemble.json", "--json", "-"),
        cwd=folder,
    )
    assert tuned.returncode == 0, tuned.stderr
    assert "36 labels: 12 right, 24 hallucinated" in " ".join(tuned.stderr.split())

    again = run(
        *("corrupt", "answers.jsonl", "--kinds", "figure,negation", "--n", "2"),
        *("--out", "again.jsonl"),
        cwd=folder,
    )
    assert again.returncode == 0 and (folder / "again.jsonl").read_bytes() == first


def test_edits_by_a_model(folder: Path) -> None:
    (folder / "llm.json").write_text(json.dumps([{"text": '{"text": ""}'}]))
    made = run(
        *("corrupt", "answers.jsonl", "--kinds", "figure", "--limit", "2", "--n", "1"),
        *("--llm", "fake:llm.json", "--out", "labelled.jsonl"),
        cwd=folder,
    )
    assert made.returncode == 0, made.stderr
    assert "left out: 2 no error of the kind" in " ".join(made.stderr.split())


def test_errors_are_told_before_the_work(folder: Path) -> None:
    for arguments, why in (
        (["--budget", "1"], "--budget requires --llm NAME"),
        (["--kinds", "order"], "no rule makes it; name a model by --llm"),
        (["--out", "answers.jsonl"], "answers.jsonl"),
        (["--kinds", "unit"], "nothing to write: 12 answers left out: no edit of these kinds"),
    ):
        made = run("corrupt", "answers.jsonl", "--out", "out.jsonl", *arguments, cwd=folder)
        assert made.returncode == 1 and why in " ".join(made.stderr.split()), made.stderr
        assert not (folder / "out.jsonl").exists()
