"""Row logs: sealed lines, torn tails, segments, and sets of rows."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.files.rowlog import DISORDER, Distrusted, RowLog, Rows, append_to, mend


def opened(folder: Path, key: str = "k", **more: object) -> RowLog:
    return RowLog(folder / "log.jsonl", key, "test", **more)  # type: ignore[arg-type]


def text(row: int, said: str = "x") -> bytes:
    return json.dumps({"row": row, "said": said}, separators=(",", ":")).encode()


def filled(folder: Path, rows: range = range(20)) -> RowLog:
    log = opened(folder)
    for row in rows:
        log.append(row, text(row))
    log.close()
    return log


def test_what_is_appended_is_read_back_and_the_file_is_json_lines(tmp_path: Path) -> None:
    log = filled(tmp_path)
    assert list(log.lines()) == [(row, text(row)) for row in range(20)]
    lines = [json.loads(x) for x in log.path.read_bytes().splitlines()]
    assert [x["row"] for x in lines] == list(range(20)) and all(x["seal"] for x in lines)
    assert log.path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("other", [{"key": "another"}, {"purpose": "another"}])
def test_a_line_of_something_else_is_not_used(tmp_path: Path, other: dict[str, str]) -> None:
    filled(tmp_path)
    told = {"key": "k", "purpose": "test", **other}
    found = Distrusted()
    log = RowLog(tmp_path / "log.jsonl", told["key"], told["purpose"])
    assert list(log.lines(found)) == [] and found.count == 20
    assert found.lines[0].endswith("log.jsonl: line 1") and "15 more" in found.lines[-1]


def test_every_flipped_bit_of_a_line_loses_that_line_alone(tmp_path: Path) -> None:
    log = filled(tmp_path, range(3))
    whole = log.path.read_bytes()
    start = whole.index(b"\n") + 1
    end = whole.index(b"\n", start)
    for place in range(start, end):
        for bit in range(8):
            data = bytearray(whole)
            data[place] ^= 1 << bit
            log.path.write_bytes(data)
            rows = dict(log.lines())
            assert rows.keys() in ({0, 2}, {0, 1, 2}) and rows[0] == text(0) and rows[2] == text(2)
            assert rows.get(1, text(1)) == text(1)  # a hexadecimal digit in capitals says the same


def test_rows_far_behind_go_to_a_new_file_and_take_the_place_of_earlier_ones(
    tmp_path: Path,
) -> None:
    log = opened(tmp_path)
    log.append(0, text(0, "old"))
    log.append(2 * DISORDER, text(2 * DISORDER))
    log.append(0, text(0, "new"))
    log.append(1, text(1))
    log.close()
    assert [p.name for p in log.files()] == ["log.jsonl", "log.retry-0001.jsonl"]
    again = opened(tmp_path)
    again.append(2, text(2))
    again.restart()
    again.append(1, text(1, "newest"))
    again.close()
    assert len(again.files()) == 3
    assert list(again.lines()) == [
        (0, text(0, "new")),
        (1, text(1, "newest")),
        (2, text(2)),
        (2 * DISORDER, text(2 * DISORDER)),
    ]
    again.remove()
    assert again.files() == []


def test_within_a_file_the_later_line_of_a_row_counts(tmp_path: Path) -> None:
    log = filled(tmp_path, range(5))
    log.append(3, text(3, "later"))
    log.close()
    assert dict(log.lines())[3] == text(3, "later")


def test_lines_out_of_place_are_not_used(tmp_path: Path) -> None:
    log = filled(tmp_path, range(DISORDER + 5))
    lines = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*lines[1:], lines[0]]))
    found = Distrusted()
    assert [row for row, _ in log.lines(found)] == list(range(1, DISORDER + 5))
    assert found.count == 1


def test_shuffled_lines_come_back_in_order(tmp_path: Path) -> None:
    log = filled(tmp_path, range(300))
    lines = log.path.read_bytes().splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    log.path.write_bytes(b"".join([*lines, *lines[:50]]))
    assert list(log.lines()) == [(row, text(row)) for row in range(300)]


def test_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    log = filled(tmp_path, range(2))
    whole = log.path.read_bytes()
    for tail in (b'{"row":2,"sa', b"x" * 200_000):
        log.path.write_bytes(whole + tail)
        assert [row for row, _ in log.lines()] == [0, 1]
        log.mend()
        assert log.path.read_bytes() == whole
    log.path.write_bytes(b"no newline")
    mend(log.path)
    assert log.path.read_bytes() == b""


def test_a_link_is_not_written_to(tmp_path: Path) -> None:
    victim = tmp_path / "precious"
    victim.write_text("precious")
    log = opened(tmp_path)
    log.path.symlink_to(victim)
    with pytest.raises(UsageError, match="is a link"):
        log.append(0, text(0))
    with pytest.raises(UsageError, match="is a link"):
        log.mend()
    assert victim.read_text() == "precious"
    with pytest.raises(UsageError, match="cannot be written"):
        append_to(tmp_path / "no" / "folder")


def test_unsealed_lines_are_shown_where_nothing_rests_on_them(tmp_path: Path) -> None:
    log = filled(tmp_path, range(2))
    with log.path.open("ab") as file:
        file.write(b'{"row":2}\n{"no":1}\nnonsense\n{"row":"7"}\n')
    found = Distrusted()
    shown = opened(tmp_path, key="another", unsealed=True)
    assert [row for row, _ in shown.lines(found)] == [0, 1, 2] and found.count == 3


def test_rows_far_apart_take_little_memory() -> None:
    rows = Rows()
    for row in (10**14, 0, 40_000, 1):
        rows.add(row)
    assert list(rows) == [0, 1, 40_000, 10**14] and rows.count == 4
    assert rows.first_gap() == 2
    rows.discard(1)
    rows.discard(77)
    assert 1 not in rows and rows.count == 3 and rows.first_gap() == 1
    whole = Rows()
    for row in range(40_000):
        whole.add(row)
    assert whole.first_gap() == 40_000
