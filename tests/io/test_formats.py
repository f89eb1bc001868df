"""Every format gives back the texts that were written, with their lines and ordinals."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import hostile
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io import formats, lines, open_source

TEXTS = hostile.TEXTS
ROWS: list[dict[str, Any]] = [
    {
        "id": f"r{i}",
        "prompt": TEXTS[-1 - i],
        "response": text,
        "samples": [TEXTS[i - 1], text],
        "contexts": [TEXTS[i - 2]],
        "label": i % 2,
        "extra": f"x{i}",
    }
    for i, text in enumerate(TEXTS)
]


def told(item: Record | RowError) -> dict[str, Any]:
    assert isinstance(item, Record), str(item)
    return {
        "id": item.id,
        "prompt": item.prompt,
        "response": item.response,
        "samples": item.sample_texts,
        "contexts": [c.text for c in item.contexts],
        "label": item.label,
        "extra": item.meta["extra"],
    }


def write_jsonl(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """Raw characters, so that NEL, LS and PS stand in the lines themselves."""
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    path.write_bytes(text.encode("utf-8"))
    return path


def write_csv(path: Path, delimiter: str = ",") -> Path:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(ROWS[0])
    for row in ROWS:
        writer.writerow(json.dumps(v) if isinstance(v, list) else v for v in row.values())
    path.write_bytes(out.getvalue().encode("utf-8"))
    return path


def gz(path: Path) -> Path:
    packed = Path(f"{path}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def make(kind: str, folder: Path) -> Any:
    if kind == "jsonl":
        return write_jsonl(folder / "a.jsonl")
    if kind == "ndjson crlf":
        path = write_jsonl(folder / "a.ndjson")
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        return path
    if kind == "jsonl in .json":
        return write_jsonl(folder / "a.json")
    if kind in ("json list", "json object", "pretty json"):
        value = {"name": "x", "data": ROWS, "tags": ["a"]} if kind == "json object" else ROWS
        path = folder / "a.json"
        indent = 2 if kind == "pretty json" else None
        path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
        return path
    if kind in ("csv", "tsv"):
        return write_csv(folder / f"a.{kind}", "," if kind == "csv" else "\t")
    if kind.endswith(" gz"):
        return gz(make(kind[:-3], folder))
    if kind.startswith("unknown "):
        return make(kind[8:], folder).rename(folder / "data.bin")
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), folder / "a.parquet", row_group_size=20)
        return folder / "a.parquet"
    return {
        "list": lambda: ROWS,
        "generator": lambda: (r for r in ROWS),
        "pandas": lambda: pd.DataFrame(ROWS),
        "polars": lambda: pl.DataFrame(ROWS),
        "arrow": lambda: pa.Table.from_pylist(ROWS),
        "arrow stream": lambda: pa.Table.from_pylist(ROWS).to_reader(),
        "records": lambda: [
            Record(**{k: v for k, v in r.items() if k != "extra"}, meta={"extra": r["extra"]})
            for r in ROWS
        ],
    }[kind]()


FILES = [
    "jsonl",
    "ndjson crlf",
    "jsonl in .json",
    "json list",
    "json object",
    "pretty json",
    "parquet",
    "jsonl gz",
    "json list gz",
    "unknown jsonl",
    "unknown jsonl gz",
    "unknown json list",
    "unknown parquet",
]
CSV = ["csv", "tsv", "csv gz", "unknown csv", "unknown tsv"]
MEMORY = ["list", "pandas", "polars", "arrow", "records"]
ONCE = ["generator", "arrow stream"]


@pytest.mark.parametrize("kind", FILES + MEMORY + ONCE)
def test_round_trip_changes_no_text(kind: str, tmp_path: Path) -> None:
    source = open_source(make(kind, tmp_path))
    items = list(source.rows())
    assert [told(x) for x in items] == ROWS
    assert [x.row for x in items] == list(range(len(ROWS)))
    assert source.reiterable is (kind not in ONCE)


@pytest.mark.parametrize("kind", CSV)
def test_csv_round_trip_changes_no_text(kind: str, tmp_path: Path) -> None:
    found = [told(x) for x in open_source(make(kind, tmp_path)).rows()]
    assert len(found) == len(ROWS)
    for row, given in zip(found, ROWS, strict=True):
        assert row["prompt"] == (given["prompt"] or None)  # an empty cell is an absent field
        assert {**row, "prompt": None} == {**given, "prompt": None}


@pytest.mark.parametrize("kind", ["jsonl", "json list", "csv", "parquet", "pandas", "polars"])
def test_start_continues_where_a_whole_reading_would_be(kind: str, tmp_path: Path) -> None:
    source = open_source(make(kind, tmp_path))
    whole = list(source.rows())
    for start in (0, 1, 7, 20, 45, len(ROWS) - 1, len(ROWS), len(ROWS) + 5):
        assert list(source.rows(start)) == whole[start:]


def test_numbers_run_over_all_inputs_and_lines_within_each(tmp_path: Path) -> None:
    a, b, c = tmp_path / "a.jsonl", tmp_path / "b.csv", tmp_path / "c.jsonl"
    a.write_bytes(b'\n{"response": "0"}\n \nnot json\n\n{"response": "2"}')
    b.write_bytes(b'response,label\n"three\nlines",1\n\nfour,x\n5,\n')
    c.write_bytes(b'{"id": "own", "response": "6"}')
    source = open_source([a, str(b), c])
    items = list(source.rows())
    assert [x.row for x in items] == list(range(7))
    assert [x.id for x in items if isinstance(x, Record)] == [0, 2, 3, 5, "own"]
    bad = [x for x in items if isinstance(x, RowError)]
    assert [(x.row, x.file, x.line, x.field) for x in bad] == [
        (1, str(a), 4, None),
        (4, str(b), 5, "label"),
    ]
    assert items[3].response == "three\nlines"
    for start in range(8):
        assert list(source.rows(start)) == items[start:]


def test_jsonl_splits_at_newline_only(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"
    path.write_bytes('{"response": "a\u2028b\u2029c\x85d\\u000be\\u000cf\\u001cg"}\n'.encode())
    assert [x.response for x in open_source(path).rows()] == [text]


def test_long_lines_are_row_errors_and_the_next_rows_are_read(tmp_path: Path) -> None:
    limit = lines.LONGEST_LINE
    at = b'{"response": "' + b"a" * (limit - 16) + b'"}'
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        at + b"\n" + at + b" \n" + b"x" * (3 * limit) + b'\n{"response": "z"}\n' + at + b"x"
    )
    a, b, c, d, e = open_source(path).rows()
    assert len(at) == limit and isinstance(a, Record) and len(a.response) == limit - 16
    assert isinstance(b, RowError) and f"{limit + 2:,} bytes" in b.error
    assert isinstance(c, RowError) and f"{3 * limit + 1:,} bytes" in c.error and c.line == 3
    assert isinstance(d, Record) and (d.row, d.response) == (3, "z")
    assert isinstance(e, RowError) and "too long" in e.error
    table = tmp_path / "a.csv"
    table.write_bytes(b"response,x\na,1\n" + b"y" * (limit + 1) + b"\nb,2\n")
    a, b, c = open_source(table).rows()
    assert (a.response, b.line, c.response) == ("a", 3, "b")
    assert "too long" in b.error


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"a,b,c,d", "4 cells"),
        (b'"open', "not CSV"),
        (b'"a"b,c', "not CSV"),
        (b"\xff,b", "invalid UTF-8 at byte 0"),
        (b"a\x00b,c", "NUL"),
        (b"a\rb,c", "not CSV"),
        (b",,['a' 'b']", "not JSON"),
        (b"a,,high", "must be a number"),
    ],
)
def test_bad_csv_rows(line: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    head = b"response,prompt," + (b"samples" if b"[" in line else b"label")
    path.write_bytes(head + b"\nfirst\n" + line + b"\n")
    first, bad = open_source(path).rows()
    assert isinstance(first, Record)
    assert first.prompt is None
    assert isinstance(bad, RowError)
    assert why in bad.error or (why == "NUL" and "NUL" in bad.error)
    assert bad.line == 3


def test_csv_cells_of_list_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    cells = {
        "response": "[1]",
        "prompt": '[{"role": "user", "content": "hi"}]',
        "samples": '["a", {"text": "b"}]',
        "contexts": '{"id": "d", "text": "c"}',
        "reference": "[1] a footnote, not JSON",
        "logprobs": '[{"token": "[1]", "logprob": -1}]',
        "sentences": "[[0, 3]]",
        "unit_labels": '[{"start": 0, "end": 1, "label": 1}]',
        "label": "TRUE",
        "meta": '{"k": [1]}',
        "other": "[2]",
    }
    with path.open("w", newline="", encoding="utf-8-sig") as f:
        csv.writer(f).writerows([list(cells), list(cells.values())])
    (r,) = open_source(path).rows()
    assert isinstance(r, Record)
    assert (r.response, r.prompt) == ("[1]", [{"role": "user", "content": "hi"}])
    assert r.sample_texts == ["a", "b"]
    assert [(c.id, c.text) for c in r.contexts] == [("d", "c")]
    assert r.reference == ("[1] a footnote, not JSON",)
    assert r.logprobs is not None and r.logprobs[0].logprob == -1
    assert (r.given_sentences, r.label) == (((0, 3),), 1.0)
    assert r.unit_labels is not None and r.unit_labels[0].label == 1
    assert r.meta == {"k": [1], "other": "[2]"}


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.json", b"", "not JSON"),
        ("a.json", b'[{"response": "a"}', "not JSON"),
        ("a.json", b'{"a": [{}],\n "b": [{}]}', "several lists"),
        ("a.json", b'{\n"a": 1}', "no list of objects"),
        ("a.json", b"[\xff]", "UTF-8"),
        ("a.csv", b"", "empty"),
        ("a.csv", b"\n\n", "blank"),
        ("a.csv", b"response,response\n", "twice"),
        ("a.csv", b"\xff\xfer\x00", "UTF-16"),
        ("a.csv", b'"a\nb', "header"),
        ("a.parquet", b"PAR1 not really", "Parquet"),
        ("a.parquet", b"", "Parquet"),
        ("a.parquet.gz", b"", "gzipped Parquet"),
        ("a.jsonl.gz", b"not gzip", "cannot be read"),
        ("a.bin", b"\x00\x01", "unknown format"),
        ("a.bin", b"", "unknown format"),
        ("a.txt", b"one sentence \xff", "unknown format"),
    ],
)
def test_unreadable_files_are_usage_errors(
    name: str, data: bytes, why: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match=why) as e:
        open_source(tmp_path / name)
    assert name in str(e.value) and len(str(e.value)) < 600


def test_json_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veridical.io.formats.LARGEST_JSON", 30)
    (tmp_path / "a.json").write_bytes(b'[{"response": "aaaaaaaaaaaaaaaaaaaaa"}]')
    with pytest.raises(UsageError, match="JSONL"):
        open_source(tmp_path / "a.json")


def test_truncated_gzip_ends_in_a_row_error(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(b'{"response": "%d"}\n' % (i * i) for i in range(100_000)))
    packed = gz(path)
    packed.write_bytes(packed.read_bytes()[:-50_000])
    *rows, last = open_source(packed).rows()
    assert isinstance(last, RowError) and "rest of the file" in last.error
    assert all(isinstance(r, Record) and r.response == str(r.row**2) for r in rows)
    assert last.row == len(rows) > 1000


def test_parquet_with_a_broken_page_accounts_for_every_row(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [{"response": f"row {i} " + "x" * 50} for i in range(300)]
    pq.write_table(
        pa.Table.from_pylist(rows),
        path,
        row_group_size=100,
        compression="zstd",
        use_dictionary=False,
    )
    data = bytearray(path.read_bytes())
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    start = column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    items = list(open_source(path).rows())
    assert [isinstance(x, RowError) for x in items] == [False] * 100 + [True] * 100 + [False] * 100
    assert [x.row for x in items] == list(range(300))
    assert list(open_source(path).rows(150)) == items[150:]


def test_parquet_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table(
        {
            "response": pa.array([b"as bytes", b"\xff", None]),
            "samples": pa.array([[{"text": "a", "score": 1.0}], [], None]),
            "label": pa.array([0.5, None, None]),
            "when": pa.array([0, 1, 2], pa.timestamp("s")),
            "amount": pa.array([1.5, float("nan"), float("nan")]),
        }
    )
    pq.write_table(table, path)
    a, b, c = open_source(path).rows()
    assert (a.response, a.sample_texts, a.label) == ("as bytes", ["a"], 0.5)
    assert a.meta == {"when": "1970-01-01 00:00:00.000", "amount": 1.5}
    assert (b.field, c.field) == ("response", "response")
    assert "null" in c.error


def test_invalid_utf8_in_parquet_is_that_rows_error(tmp_path: Path) -> None:
    raw = pa.array([b"fine", b"\xff\xfe", b"also"], pa.binary())
    bad = pa.StringArray.from_buffers(3, raw.buffers()[1], raw.buffers()[2])
    pq.write_table(pa.table({"response": bad}), tmp_path / "a.parquet")
    a, b, c = open_source(tmp_path / "a.parquet").rows()
    assert (a.response, c.response) == ("fine", "also")
    assert isinstance(b, RowError) and "UTF-8" in b.error


def test_times_that_python_cannot_hold() -> None:
    table = pa.table(
        {
            "response": ["a", "b"],
            "ns": pa.array([1, 2], pa.timestamp("ns", "UTC")),
            "far": pa.array([10**12, -(10**12)], pa.timestamp("s")),
            "nested": pa.array([[10**9], [10**17]], pa.list_(pa.timestamp("s"))),
        }
    )
    a, b = open_source(table).rows()
    assert isinstance(a, Record)
    assert a.meta["ns"] == "1970-01-01 00:00:00.000000001Z"
    assert "1000000000000" in a.meta["far"]  # the year 33658
    assert a.meta["nested"] == ["2001-09-09T01:46:40"]
    assert isinstance(b, RowError) and "cannot be read" in b.error


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["response"] * 2)
    with pytest.raises(UsageError, match="response"):
        open_source(table)
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="occurs twice"):
        open_source(tmp_path / "a.parquet")


def test_csv_mapping_into_json_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('text,info,question\n[x],"{""docs"": [""c""]}",q\ny,plain,q\n')
    mapping = {"response": "text", "contexts": "info.docs", "prompt": "none"}
    a, b = open_source(path, mapping=mapping).rows()
    assert isinstance(a, Record) and (a.response, a.prompt) == ("[x]", None)
    assert [c.text for c in a.contexts] == ["c"]
    assert a.meta == {"info": {"docs": ["c"]}, "question": "q"}
    assert isinstance(b, RowError) and b.field == "info"


def test_sniffing_a_line_cut_within_a_character(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"response,x\n" + "é,1\n".encode() * 3)
    assert [x.response for x in open_source(path).rows()] == ["é"] * 3
    assert formats.sniff("a,é".encode()[:-1], "data") == "csv"


def test_broken_gzip_is_told_at_once_for_json_and_csv(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps([{"response": str(i**9)} for i in range(30_000)]).encode())
    (tmp_path / "a.json.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(UsageError, match="cannot be read"):
        open_source(tmp_path / "a.json.gz")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"response\na\n")[:10])
    with pytest.raises(UsageError, match="cannot be read"):
        open_source(tmp_path / "a.csv.gz")
