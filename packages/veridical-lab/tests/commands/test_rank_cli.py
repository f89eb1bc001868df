"""``veridical rank`` as a user runs it, with the embedded models."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import run_command

from veridical_lab.rank import Ranking

FACTS = ["Paris is in France.", "Rome is in Italy.", "Oslo is in Norway."]
WRONG = ["Paris is in Spain.", "Rome is in Italy.", "Oslo is in Peru."]


def rows(answers: list[str], **more: Any) -> str:
    found = [
        {"prompt": f"Question {i}?", "response": a, "contexts": FACTS[i], **more}
        for i, a in enumerate(answers)
    ]
    return "".join(json.dumps(r) + "\n" for r in found)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_command("rank", *arguments, cwd=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "right.jsonl").write_text(rows(FACTS), "utf-8")
    (tmp_path / "wrong.jsonl").write_text(rows(WRONG), "utf-8")
    return tmp_path


def test_files_of_two_models(folder: Path) -> None:
    done = run(folder, "right.jsonl", "other=wrong.jsonl", "--json", "-", "--report", "r.html",
               "--report", "r.md", "--bootstrap", "100")  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = Ranking.model_validate_json(done.stdout)
    first, second = made.parts[0].models
    assert (first.model, first.rates["hallucination"].value) == ("right", 0)
    assert second.model == "other"
    assert second.rates["contradiction"].value == pytest.approx(2 / 3)
    assert "models by hallucination rate" in done.stderr
    assert "<table>" in (folder / "r.html").read_text("utf-8")
    assert (folder / "r.md").read_text("utf-8").startswith("## Models by hallucination rate")
    again = run(folder, f"other={made.runs[1]}", f"right={made.runs[0]}", "--json", "again.json",
                "--bootstrap", "100")  # fmt: skip
    assert again.returncode == 0, again.stderr
    stored = Ranking.model_validate_json((folder / "again.json").read_text("utf-8"))
    assert stored.parts == made.parts
    assert "scoring into" not in again.stderr and "other" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["right.jsonl"], "at least two models, not right; name the column"),
        (["gone.jsonl", "right.jsonl"], "gone.jsonl: no such file"),
        (["right.jsonl", "wrong.jsonl", "--report", "r.pdf"], ".html, .md"),
        (["right.jsonl", "wrong.jsonl", "--json", "right.jsonl"], "it is an input"),
        (["right.jsonl", "wrong.jsonl", "--scorers", "cosine"], "one scorer 'claims'"),
    ],
)
def test_usage(arguments: list[str], said: str, folder: Path) -> None:
    done = run(folder, *arguments)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert said in " ".join(done.stderr.split())


def test_answers_that_could_not_be_judged(folder: Path) -> None:
    bad = rows(FACTS) + rows(FACTS[:1], claims=5)
    (folder / "bad.jsonl").write_text(bad, "utf-8")
    (folder / "good.jsonl").write_text(rows(FACTS, claims=[FACTS[0]]), "utf-8")
    done = run(folder, "bad.jsonl", "good.jsonl", "--scorers", "claims(extractor=given)",
               "--every-prompt")  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "coverage under 98 %: bad 0.0 %" in done.stderr
