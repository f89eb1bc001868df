from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import veridical
from veridical import UsageError
from veridical.api import AUTO, reopen
from veridical.errors import StrictError

ROWS = [
    {"id": "a", "response": "It is in Mali.", "samples": ["It is in Mali.", "In Niger."]},
    {"id": "b", "response": "It is in Peru.", "samples": ["It is in Mali."]},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    return path


def test_reopen_gives_the_results_and_the_report_without_scoring(
    file: Path, tmp_path: Path
) -> None:
    first = veridical.check(str(file), "ngram(n=2), exact_match", samples=1, out=tmp_path / "run")
    again = reopen(tmp_path / "run")
    assert list(again.lines()) == list(first.lines())
    assert [s.key for s in again.scorers] == ["ngram(n=2)", "exact_match"]
    again.report(tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 10_000
    file.write_text('{"response": "other"}\n')
    with pytest.raises(UsageError, match="changed"):
        reopen(tmp_path / "run")
    with pytest.raises(UsageError, match="not a readable run directory"):
        reopen(tmp_path)


def test_a_run_over_rows_in_memory_cannot_be_reopened_and_says_so(tmp_path: Path) -> None:
    veridical.check(ROWS, "ngram", out=tmp_path / "run")
    with pytest.raises(UsageError):
        reopen(tmp_path / "run")


def test_what_can_be_read_once_is_kept_in_the_run(tmp_path: Path) -> None:
    results = veridical.check((r for r in ROWS), "ngram", out=tmp_path / "run")
    assert [r.id for r in results] == ["a", "b"]
    results.report(tmp_path / "r.html")
    assert (tmp_path / "run" / "input").exists()


def test_standard_input_resumes_and_reopens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    for _ in range(2):
        stream = io.TextIOWrapper(io.BytesIO(file.read_bytes()))
        monkeypatch.setattr(sys, "stdin", stream)
        results = veridical.check("-", "ngram", out=tmp_path / "runs" / AUTO)
    (run,) = (tmp_path / "runs").iterdir()
    assert len(run.name) == 16 and len(results) == 2
    assert list(reopen(run).lines()) == list(results.lines())


def test_strict_also_holds_for_rows_found_bad_before(tmp_path: Path) -> None:
    rows = [*ROWS, {"prompt": "no answer"}]
    veridical.check(rows, "ngram", out=tmp_path / "run")
    with pytest.raises(StrictError, match="row 2"):
        veridical.check(rows, "ngram", out=tmp_path / "run", strict=True)


def test_plan_leaves_streams_alone() -> None:
    with pytest.raises(UsageError, match="name a file, not a stream"):
        veridical.plan((r for r in ROWS), "ngram")


def test_a_failed_start_leaves_the_directory_free(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such model folder: '\./nowhere'"):
        veridical.check(ROWS, "cosine", embedder="./nowhere", out=tmp_path / "run")
    assert len(veridical.check(ROWS, "ngram", out=tmp_path / "run")) == 2
