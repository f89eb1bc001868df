"""An input that changes while it is being scored stops the run; what is shown was scored."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.api import Job, reopen
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Result, Score
from veridical.errors import UsageError
from veridical.files.rundir import RunDirectory, RunFiles
from veridical.io import open_source
from veridical.report.results import Results

COUNT = 3000


def rows(count: int = COUNT) -> list[dict[str, Any]]:
    return [{"id": f"r{i}", "response": f"answer {i:05}", "samples": ["x"]} for i in range(count)]


def lines(made: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(r).encode() + b"\n" for r in made)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(lines(rows(1)))


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().replace(b"answer", b"lie No"))
    other.replace(path)


def in_place(path: Path) -> None:
    """The same size, the same inode, and the old time put back."""
    before = path.stat()
    data = path.read_bytes().replace(b"answer", b"lie No")
    with path.open("rb+") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size and path.stat().st_ino == before.st_ino


def removed(path: Path) -> None:
    path.unlink()


CHANGES = (appended, truncated, replaced, in_place, removed)


def write(path: Path) -> Path:
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(lines(rows())))
    elif path.suffix == ".csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, ["id", "response"])
            out.writeheader()
            out.writerows({"id": r["id"], "response": r["response"]} for r in rows())
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows()))
    elif path.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows()), path, row_group_size=500)
    else:
        path.write_bytes(lines(rows()))
    return path


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.json", "a.parquet"])
def test_a_file_that_changes_while_it_is_read_stops_the_reading(
    tmp_path: Path, name: str, change: Callable[[Path], None]
) -> None:
    path = write(tmp_path / name)
    whole = [r.response for r in open_source(path).rows() if isinstance(r, Record)]
    source = open_source(path)
    source.fingerprint()
    reading = source.rows()
    read = [next(reading) for _ in range(100)]
    change(path)
    if name.endswith("gz") and change in (replaced, in_place):
        path.write_bytes(gzip.compress(lines(rows(2 * COUNT))))
    if name == "a.parquet" and change in (replaced, in_place):
        path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(UsageError, match="has changed since it was first read"):
        read.extend(reading)
    assert [r.response for r in read if isinstance(r, Record)] == whole[: len(read)]
    with pytest.raises(UsageError, match="has changed since it was first read"):
        list(source.rows())


def test_a_file_that_is_touched_or_replaced_by_its_copy_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl")
    source = open_source(path)
    source.fingerprint()
    reading = source.rows()
    read = [next(reading) for _ in range(100)]
    path.touch()
    read += [next(reading) for _ in range(100)]
    copy = tmp_path / "copy"
    copy.write_bytes(path.read_bytes())
    copy.replace(path)
    assert len([*read, *reading]) == COUNT


def test_one_of_several_files(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a.jsonl"), write(tmp_path / "b.csv")
    source = open_source([first, second])
    source.fingerprint()
    reading = source.rows()
    for _ in range(COUNT // 2):
        next(reading)
    appended(second)
    with pytest.raises(UsageError, match=r"b\.csv: the file has changed"):
        list(reading)


@pytest.fixture
def meddling() -> Iterator[list[Callable[[], None]]]:
    """The scorer ``meddles``, which does what is in the list at its tenth record."""
    todo: list[Callable[[], None]] = []
    seen = [0]

    @scorer("meddles", level="response", needs={"response"}, raw_is="risk", source="test")
    async def meddles(record: Record, evidence: Any) -> Score:
        """Does what is to be done."""
        seen[0] += 1
        if seen[0] >= 10 and todo:
            todo.pop()()
        return Score.of(0.0)

    yield todo
    REGISTRY._scorers.pop("meddles")


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_on_a_changing_file_stops_and_keeps_what_it_scored(
    tmp_path: Path, change: Callable[[Path], None], meddling: list[Callable[[], None]]
) -> None:
    path = write(tmp_path / "a.jsonl")
    before = path.read_bytes()
    meddling.append(lambda: change(path))
    job = Job(path, "meddles", out=tmp_path / "run", processes=0)
    with pytest.raises(UsageError, match="has changed since it was first read"):
        job.wait()
    assert not job.results.summary().row_errors, "no half line became a bad row"
    kept = job.progress.records
    assert 0 < kept < COUNT
    with pytest.raises(UsageError):
        job.results.report(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()
    path.write_bytes(before)  # put back: it goes on
    again = Job(path, "meddles", out=tmp_path / "run", processes=0)
    results = again.wait()
    assert again.progress.resumed == kept and len(results) == COUNT
    assert [record.id for record, _ in results.pairs()] == [f"r{i}" for i in range(COUNT)]


@pytest.mark.parametrize("what", ["text", "append", "pop", "swap"])
def test_rows_in_memory_that_change_stop_the_run(
    what: str, meddling: list[Callable[[], None]]
) -> None:
    made = rows()

    def change() -> None:
        if what == "text":
            made[-1]["samples"][0] = "another"
        elif what == "append":
            made.append(made[0])
        elif what == "pop":
            made.pop()
        else:
            made[-1], made[-2] = made[-2], made[-1]

    meddling.append(change)
    job = Job(made, "meddles", processes=0)
    with pytest.raises(UsageError, match="changed since the rows were first read"):
        job.wait()
    assert job.progress.records > 0


def test_rows_that_change_after_the_run_are_not_reported_on(tmp_path: Path) -> None:
    made = rows(20)
    results = veridical.check(made, "exact_match")
    made[7]["response"] = "never scored"
    with pytest.raises(UsageError, match="row 7 has changed"):
        results.report(tmp_path / "report.html")
    with pytest.raises(UsageError, match="row 7 has changed"):
        list(results.records())
    assert len(list(results)) == 20, "results stay readable"


def test_a_result_is_bound_to_the_record_that_was_scored(tmp_path: Path) -> None:
    """Where the input looks unchanged, as after a change that was undone in time."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(rows(3)))
    source = open_source(path)
    results = veridical.check(path, "exact_match", out=tmp_path / "run")
    identity = results.identity
    run = RunDirectory(tmp_path / "run", identity, {})
    line = dict(RunFiles(tmp_path / "run").lines())[1]
    run.write(Record(row=1, id="r1", response="answer 00009", samples=["x"]), line)  # type: ignore[arg-type]
    run.close()
    shown = Results(RunFiles(tmp_path / "run"), source, results.scorers)
    for read in (shown.pairs, shown.records):
        with pytest.raises(UsageError, match="row 1 differs from the record that was scored"):
            list(read())
    with pytest.raises(UsageError, match="row 1 differs from the record that was scored"):
        reopen(tmp_path / "run").report(tmp_path / "report.html")


def test_digests_tell_records_apart() -> None:
    base: dict[str, Any] = {"row": 1, "id": "a", "response": "b", "meta": {"c": [1, None]}}
    others: list[dict[str, Any]] = [
        {},
        *({"id": "z"}, {"response": "z"}, {"samples": ["z"]}, {"contexts": ["z"]}),
        *({"meta": {"c": [1, 2]}}, {"label": 1.0}, {"prompt": "z"}, {"meta": {"c": b"\xff"}}),
    ]
    found = [Record.model_validate({**base, **other}).digest() for other in others]
    assert len(set(found)) == len(others)
    assert Record.model_validate(base).digest() == found[0]
    read = Record.model_validate(base)
    assert read.sentences and read.digest() == found[0], "what is cached does not count"


def test_the_command_says_so_and_ends_with_1(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(lines(rows(60_000)))
    told = [sys.executable, "-m", "veridical", "check", path.name, "--scorers", "ngram_presence"]
    child = subprocess.Popen(
        [*told, "--out", "run", "--store", "none"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    results = tmp_path / "run" / "results.jsonl"
    while child.poll() is None and not (results.exists() and results.stat().st_size):
        pass
    appended(path)
    _, error = child.communicate(timeout=120)
    assert child.returncode == 1
    assert "the file has changed since it was first read" in error.replace("\n", " ")
    assert "Traceback" not in error and "internal error" not in error
    assert sum(1 for _ in RunFiles(tmp_path / "run").lines()) > 0


def test_result_lines_are_results(tmp_path: Path) -> None:
    results = veridical.check(rows(3), "exact_match", out=tmp_path / "run")
    for line in results.lines():
        assert Result.model_validate_json(line)
