"""Files that grow, are rotated, cut, rewritten, and end in the middle of a line."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from veridical.errors import UsageError
from veridical.io.follow import Followed
from veridical.io.formats import Cursor
from veridical.io.lines import LONGEST_LINE
from veridical.io.problems import RowProblem


def row(n: Any) -> str:
    return json.dumps({"n": n}) + "\n"


class Reader:
    """Reads in steps: each gives the rows that have come since the last, and then waits."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._event = threading.Event()
        self.followed = Followed(path, stop=self._event, interval=0, **options)
        self._rows = self._paused()

    def _paused(self) -> Iterator[list[Any]]:
        found: list[Any] = []
        waits, go = threading.Semaphore(0), threading.Semaphore(0)

        def wait(_: float | None = None) -> bool:
            waits.release()
            go.acquire()
            return False

        self._event.wait = wait  # type: ignore[method-assign]

        def read() -> None:
            for line, got in self.followed.rows(Cursor()):
                found.append((Path(self.followed.name).name, line, got))

        threading.Thread(target=read, daemon=True).start()
        while True:
            assert waits.acquire(timeout=20)
            taken, found[:] = list(found), []
            yield taken
            go.release()

    def new(self) -> list[Any]:
        return [got["n"] if isinstance(got, dict) else got.error for _, _, got in self.places()]

    def places(self) -> list[Any]:
        found: list[Any] = next(self._rows)
        return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text(row(1) + row(2))
    return path


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_what_is_there_and_what_comes(log: Path) -> None:
    reader = Reader(log)
    assert reader.places() == [("a.jsonl", 1, {"n": 1}), ("a.jsonl", 2, {"n": 2})]
    assert reader.new() == []
    append(log, row(3))
    assert reader.places() == [("a.jsonl", 3, {"n": 3})]


def test_half_a_line_waits_for_its_end(log: Path) -> None:
    reader = Reader(log)
    reader.new()
    whole = row("ä").encode()  # cut within a letter
    for end in range(1, len(whole)):
        with log.open("ab") as file:
            file.write(whole[end - 1 : end])
        assert reader.new() == [] and reader.followed.unfinished == 1
    append(log, "\n")
    assert reader.new() == ["ä"] and reader.followed.unfinished == 0


def test_a_rotated_file_is_read_to_its_end_and_the_new_one_from_its_start(log: Path) -> None:
    reader = Reader(log)
    reader.new()
    append(log, row(3) + row(4)[:-1])  # the writer was stopped in its last line
    log.rename(log.with_suffix(".1"))
    log.write_text(row(5))
    assert reader.new() == [3, 4, 5]
    append(log.with_suffix(".1"), "\n" + row(99))  # nobody follows that one any more
    append(log, row(6))
    assert reader.new() == [6]


def test_a_file_that_is_missing_for_a_while(log: Path) -> None:
    reader = Reader(log)
    reader.new()
    log.unlink()
    assert reader.new() == []
    log.write_text(row(7))
    assert reader.new() == [7]


@pytest.mark.parametrize("after", ["", "longer " * 30])
def test_a_file_that_is_cut_or_rewritten_is_read_from_its_start(log: Path, after: str) -> None:
    reader = Reader(log)
    reader.new()
    inode = log.stat().st_ino
    log.write_text(row(8) + (row(after) if after else ""))
    assert log.stat().st_ino == inode
    assert reader.new() == ([8, after] if after else [8])


def test_the_files_of_a_folder_and_those_that_come(log: Path) -> None:
    reader = Reader(log.parent)
    (log.parent / "notes.txt").write_text("no rows")
    (log.parent / "folder.jsonl").mkdir()
    os.mkfifo(log.parent / "pipe.jsonl")
    assert reader.new() == [1, 2]
    (log.parent / "b.ndjson").write_text(row(10))
    append(log, row(3))
    assert reader.new() == [3, 10]
    log.rename(log.parent / "renamed.jsonl")  # the same file: nothing of it comes again
    append(log.parent / "renamed.jsonl", row(4))
    assert reader.places() == [("renamed.jsonl", 4, {"n": 4})]
    assert reader.followed.files == 2


def test_more_files_than_may_be_open(tmp_path: Path) -> None:
    for i in range(150):
        (tmp_path / f"{i:03}.jsonl").write_text(row(i))
    reader = Reader(tmp_path)
    before = psutil.Process().num_fds()
    assert reader.new() == list(range(150))
    assert psutil.Process().num_fds() < before + 100
    append(tmp_path / "017.jsonl", row("more"))
    assert reader.new() == ["more"]


def test_bad_lines_are_problems_and_blank_ones_nothing(log: Path) -> None:
    log.write_bytes(b"\xef\xbb\xbf" + row(1).encode() + b"\n  \n[1]\n{\n\xff\n" + b"\0\n")
    reader = Reader(log)
    first, *problems = reader.new()
    assert first == 1 and len(problems) == 4
    assert "JSON object" in problems[0] and "UTF-8" in problems[2]


def test_a_line_that_never_ends_is_not_held(log: Path) -> None:
    log.write_bytes(b"x" * (LONGEST_LINE + 5) + b"\n" + row(3).encode())
    got = [g for _, g in Followed(log, once=True).rows(Cursor())]
    assert isinstance(got[0], RowProblem) and f"{LONGEST_LINE + 5:,} bytes" in got[0].error
    assert got[1] == {"n": 3}


def test_once_takes_the_last_line_without_its_end(log: Path) -> None:
    append(log, '{"n": 3}')
    assert [g for _, g in Followed(log, once=True).rows(Cursor())] == [{"n": 1}, {"n": 2}, {"n": 3}]


def test_from_the_end_on(log: Path) -> None:
    append(log, row(3)[:4])
    reader = Reader(log, from_end=True)
    assert reader.new() == []
    append(log, row(3)[4:])
    assert reader.places() == [("a.jsonl", 3, {"n": 3})]


def test_a_large_file_comes_whole(log: Path) -> None:
    log.write_text("".join(row(i) for i in range(60_000)))
    got = [g["n"] for _, g in Followed(log, once=True).rows(Cursor()) if isinstance(g, dict)]
    assert got == list(range(60_000))


@pytest.mark.parametrize(
    ("name", "message"), [("none.jsonl", "No such file"), ("pipe", "neither"), ("a.csv", "csv")]
)
def test_what_cannot_be_followed(tmp_path: Path, name: str, message: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.csv").write_text("response\n")
    with pytest.raises(UsageError, match=message):
        Followed(tmp_path / name)
