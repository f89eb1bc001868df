"""Rows are counted without being parsed."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from veridical.io import counting, open_source

JSONL = b'{"response": "a"}\n\n{"response": "b\\n"}\n  \n{"response": "c"}'
CSV = b'response,prompt\n"two\nlines ""quoted""",x\n\nplain,y\n'


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("a.jsonl", JSONL, 3),
        ("a.csv", CSV, 2),
        ("a.tsv", b"response\tprompt\na\tb\n", 1),
        ("a.jsonl", b' \n[{"response": "a"}]', None),
        ("a.json", b'[{"response": "a"}]', None),
    ],
)
def test_rows_of_files(name: str, content: bytes, rows: int | None, tmp_path: Path) -> None:
    path, packed = tmp_path / name, tmp_path / (name + ".gz")
    path.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    form = name.partition(".")[2]
    assert counting.count_rows(str(path), form) == rows
    assert counting.count_rows(str(packed), form) == rows


def test_sources_count_what_they_will_give(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow
    import pyarrow.parquet

    lines, table = tmp_path / "a.jsonl", tmp_path / "a.parquet"
    lines.write_bytes(JSONL)
    pyarrow.parquet.write_table(pyarrow.table({"response": ["a", "b"]}), table)
    source = open_source([lines, table])
    assert source.count() == len(list(source.rows())) == 5
    assert open_source([{"response": "a"}] * 7).count() == 7
    assert open_source(iter([{"response": "a"}])).count() is None
    assert open_source(lines, reader="wikibio").count() is None, "a row may be several records"


def test_large_files_are_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"response": "abc"}\n' * 1000)
    monkeypatch.setattr(counting, "_LARGE", 2000)
    assert counting.count_rows(str(path), "jsonl") == 1000


def test_broken_files_are_not_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(JSONL * 100)[:40])
    assert counting.count_rows(str(path), "jsonl") is None
    assert counting.count_rows(str(tmp_path / "missing"), "csv") is None
