"""A tiny encoder that learns which words are wrong, and what it is then worth as a detector."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_command
from nli_checkpoints import save

import veridical
from veridical.errors import UsageError
from veridical_lab.training.spans import read_marked, train_spans

WRONG, RIGHT = "guitar", "tower"


def rows(n: int = 240, wrong: float = 0.5) -> list[dict[str, Any]]:
    """Answers in RAGTruth's format: ``guitar`` is wrong, and nothing else."""
    rng = np.random.default_rng(0)
    made = []
    for i in range(n):
        word = WRONG if rng.random() < wrong else RIGHT
        response = f"The {word} was finished in 1889."
        at = response.index(word)
        spans = [{"start": at, "end": at + len(word), "text": word}] if word == WRONG else []
        made.append(
            {"id": str(i), "source_id": str(i // 3), "response": response, "labels": spans}
            | {"split": "train", "model": "m"}
        )
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """RAGTruth's two files."""
    found = rows()
    (tmp_path / "response.jsonl").write_text("".join(json.dumps(r) + "\n" for r in found))
    sources = [
        {"source_id": str(k), "source_info": f"Paris is in France, number {k}."}
        for k in range(len(found) // 3)
    ]
    (tmp_path / "source_info.jsonl").write_text("".join(json.dumps(s) + "\n" for s in sources))
    return tmp_path


def test_sources_are_joined(folder: Path) -> None:
    data = read_marked([folder / "response.jsonl"], reader="ragtruth")
    assert len(data.answers) == 240 and not data.missing
    first = next(a for a in data.answers if a.wrong)
    ((start, end),) = first.wrong
    assert first.asked.answer[start:end] == WRONG
    assert first.asked.passages[0].startswith("Paris is in France, number ")
    assert len({a.group for a in data.answers}) == 80


def test_records_of_ones_own_and_what_is_left_out(tmp_path: Path) -> None:
    units = [{"start": 0, "end": 3, "label": 1}, {"start": 4, "end": 7, "label": 0.2}]
    good = {"response": "Ada was here.", "contexts": ["Bob was here."], "unit_labels": units}
    lines = [
        good | {"prompt": "Who was here?"},
        {k: v for k, v in good.items() if k != "contexts"},
        {k: v for k, v in good.items() if k != "unit_labels"},
        good | {"response": "?! ?! ?! ?!"},
    ]
    path = tmp_path / "marked.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in lines) + "[]\n")
    data = read_marked([path])
    (answer,) = data.answers
    assert answer.wrong == ((0, 3),) and answer.asked.question == "Who was here?"
    assert sum(data.missing.values()) == 4
    assert {"no contexts", "no unit_labels", "the response holds no word"} <= set(data.missing)
    path.write_text(json.dumps(lines[1]) + "\n")
    with pytest.raises(UsageError, match=r"no answers with marked pieces .*1 rows: no contexts"):
        read_marked([path])


@pytest.mark.torch
def test_it_learns_and_marks_the_words(folder: Path) -> None:
    pytest.importorskip("torch")
    base = save(folder / "base", "bert", names=None, classes=5)
    data = read_marked([folder / "response.jsonl"], reader="ragtruth")
    seen: list[tuple[int, int]] = []
    made = train_spans(
        data,
        str(base),
        folder / "mine",
        epochs=12,
        rate=3e-3,
        bootstrap=50,
        device="cpu",
        progress=lambda *x: seen.append(x),
    )
    found = {(r.method, r.metric): r.value for r in made.figures}
    # each run has a tokenizer of its own, and some learn slowly
    assert found["detector", "span_f1"] > 0.7 and found["detector", "auroc"] > 0.9
    assert found["all words", "span_recall"] == 1 and found["all words", "span_precision"] < 0.2
    assert seen[-1][0] == seen[-1][1] and min(made.loss) == made.loss[made.epoch - 1]
    assert made.n_held_out + made.n_validation + made.n_train == 240
    row = {
        "response": "The guitar was finished in 1889.",
        "contexts": ["Paris is in France, number 7."],
    }
    (result,) = veridical.check([row], "spans", spans=str(folder / "mine"), store=None)
    (score,) = result.scores.values()
    assert [u.text for u in score.units if u.level == "span"] == ["guitar"]
    with pytest.raises(UsageError, match="already exists"):
        train_spans(data, str(base), folder / "mine")


@pytest.mark.torch
def test_too_few_of_a_kind(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    base = save(tmp_path / "base", "bert", names=None, classes=5)
    path = tmp_path / "response.jsonl"
    path.write_text("".join(json.dumps(r | {"contexts": ["a"]}) + "\n" for r in rows(60, wrong=0)))
    data = read_marked([path], reader="ragtruth", mapping={"contexts": "contexts"})
    with pytest.raises(UsageError, match="0 answers with marked pieces"):
        train_spans(data, str(base), tmp_path / "mine")
    assert not (tmp_path / "mine").exists()


@pytest.mark.torch
def test_from_the_command_line(folder: Path) -> None:
    pytest.importorskip("torch")
    save(folder / "base", "bert", names=None, classes=5)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return run_command("train", "spans", *arguments, cwd=folder)

    given = ("response.jsonl", "--reader", "ragtruth", "--base", "base", "--out", "mine")
    done = run(*given, "--epochs", "4", "--rate", "1e-3", "--bootstrap", "20", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert "model: mine" in done.stderr and "span_f1" in done.stderr
    made = json.loads(done.stdout)
    assert made["n_train"] > 0 and made["left_out"] == {}
    again = run(*given)
    assert again.returncode == 1 and "mine already exists" in again.stderr
    piped = run("-", *given[1:-1], "other")
    assert piped.returncode == 1 and "reads files" in piped.stderr
