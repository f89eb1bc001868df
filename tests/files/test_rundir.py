from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.files.rowlog import DISORDER, Rows
from veridical.files.rundir import RunDirectory, RunFiles

IDENTITY = {"inputs": "a", "scorers": ["x|v1"], "models": {}, "parameters": {}}


def line(row: int, status: str = "scored", name: str | int | None = None) -> bytes:
    scores = {"x": {"status": status}}
    found = {"id": row if name is None else name, "row": row, "scores": scores}
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False).encode()


def put(run: RunDirectory, row: int, text: bytes) -> None:
    run.write(Record(row=row, response="an answer"), text)


def opened(path: Path, identity: dict[str, object] = IDENTITY) -> RunDirectory:
    return RunDirectory(path, dict(identity), {"inputs": []})


def test_rows_are_a_set() -> None:
    rows = Rows()
    rng = random.Random(1)
    chosen = {rng.randrange(100_000) for _ in range(500)}
    for row in [*chosen, *chosen]:
        rows.add(row)
    assert rows.count == len(chosen)
    assert all((r in rows) == (r in chosen) for r in range(0, 100_100))
    whole = Rows()
    for row in range(20):
        assert whole.first_gap() == row
        whole.add(row)
    whole.add(30)
    assert whole.first_gap() == 20


def test_lines_come_back_in_row_order(tmp_path: Path) -> None:
    run = opened(tmp_path)
    rows = list(range(3000))
    rng = random.Random(2)
    for i in range(0, 3000, 100):  # bounded disorder, as the engine makes it
        part = rows[i : i + 100]
        rng.shuffle(part)
        rows[i : i + 100] = part
    for row in rows:
        put(run, row, line(row))
    run.close()
    assert [row for row, _ in RunFiles(tmp_path).lines()] == list(range(3000))
    assert DISORDER >= 100


def test_a_half_written_last_line_is_cut_off_and_its_row_is_not_done(tmp_path: Path) -> None:
    run = opened(tmp_path)
    put(run, 0, line(0))
    put(run, 1, line(1))
    run.write_error(RowError(2, "f", 3, None, "bad"))
    run.close()
    with (tmp_path / "results.jsonl").open("ab") as f:
        f.write(line(3)[:-5])
    run = opened(tmp_path)
    assert run.resumed == 2
    assert [r in run.done for r in range(4)] == [True, True, True, False]
    put(run, 3, line(3))
    run.close()
    assert [r for r, _ in run.lines()] == [0, 1, 3]


@pytest.mark.parametrize("name", ['","row":7,"x":"', "\\", 'a"b', "é\u2028", -5, 12])
def test_a_hostile_id_cannot_pass_for_a_row(tmp_path: Path, name: str | int) -> None:
    run = opened(tmp_path)
    put(run, 41, line(41, name=name))
    run.close()
    run = opened(tmp_path)
    assert 41 in run.done and 7 not in run.done and 12 not in run.done
    run.close()


def test_another_run_in_the_same_folder_is_refused_with_what_differs(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(UsageError, match=r"scorers: it has \[\"x\|v1\"\], this run has"):
        opened(tmp_path, {**IDENTITY, "scorers": ["y|v1"]})
    opened(tmp_path).close()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UsageError, match=r"thesis\.tex"):
        opened(tmp_path)
    with pytest.raises(UsageError, match="not a readable run directory"):
        RunFiles(tmp_path).manifest()


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    run = opened(tmp_path)
    with pytest.raises(UsageError, match="in use"):
        opened(tmp_path)
    run.close()
    opened(tmp_path).close()


def test_retry_failed_supersedes_without_altering_what_is_written(tmp_path: Path) -> None:
    run = opened(tmp_path)
    for row in range(6):
        put(run, row, line(row, "failed" if row in (1, 4) else "scored"))
    run.write_error(RowError(6, "f", 7, None, "bad"))
    before = (tmp_path / "results.jsonl").read_bytes()
    assert run.retry_failed() == 2
    assert [r in run.done for r in range(7)] == [True, False, True, True, False, True, True]
    put(run, 4, line(4))
    run.close()
    run = opened(tmp_path)  # killed between: row 1 keeps its old line
    found = dict(run.lines())
    assert sorted(found) == list(range(6))
    assert b"failed" in found[1] and b"failed" not in found[4]
    assert run.retry_failed() == 1
    put(run, 1, line(1))
    run.close()
    assert not any(b"failed" in text for _, text in run.lines())
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_row_errors_are_kept_once(tmp_path: Path) -> None:
    error = RowError(3, "answers.jsonl", 4, "response", "missing")
    for _ in range(2):
        run = opened(tmp_path)
        run.write_error(error)
        run.close()
    assert list(RunFiles(tmp_path).errors()) == [error]


def test_very_many_bad_rows_are_counted_and_not_kept_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.files.rundir.MOST_ERRORS", 10)
    for life in range(3):
        run = opened(tmp_path)
        assert run.done.count == (0 if life == 0 else 10)
        for row in range(1000):
            if row not in run.done:
                run.write_error(RowError(row, "f", row + 1, None, "odd" if row % 2 else "even"))
        assert run.done.count == 1000
        assert run.more_errors() == {"odd": 495, "even": 495}
        run.close()
    files = RunFiles(tmp_path)
    assert len(list(files.errors())) == 10
    assert files.more_errors() == {"odd": 495, "even": 495}
    (tmp_path / "errors.more.json").write_text("[1")
    assert files.more_errors() == {}


def test_long_row_errors_are_cut_and_their_bytes_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veridical.files.rundir.MOST_ERROR_BYTES", 5000)
    run = opened(tmp_path)
    for row in range(100):
        run.write_error(RowError(row, "f", None, None, f"{row} " + "x" * 100_000))
    run.close()
    assert (tmp_path / "errors.jsonl").stat().st_size <= 5000
    kept = len(list(RunFiles(tmp_path).errors()))
    assert kept > 5 and kept + RunFiles(tmp_path).more_errors().total() == 100


def test_coverage_counts_bad_rows_that_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import veridical
    from veridical.api import reopen

    monkeypatch.setattr("veridical.files.rundir.MOST_ERRORS", 3)
    path = tmp_path / "in.jsonl"
    good = '{"response": "a b", "samples": ["a b"]}\n'
    path.write_text("bad\n" * 20 + good + "bad\n" * 19, "utf-8")
    for _ in range(2):  # resumed, nothing is counted twice
        results = veridical.check(str(path), "ngram", out=tmp_path / "run")
        summary = results.summary()
        assert (summary.records, summary.row_errors, summary.coverage) == (1, 39, 1 / 40)
        assert results.counted_errors == 36
    assert reopen(tmp_path / "run").summary().row_errors == 39
