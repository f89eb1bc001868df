"""Sources: what can be opened, hashed, followed and read again."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import threading
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from veridical.core.records import Record
from veridical.errors import RowError, UsageError
from veridical.io.source import InputSource, open_source

JSONL = b'{"response": "a"}\nbad\n{"response": "c", "x": 1}\n'


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def texts(source: InputSource, start: int = 0) -> list[str | None]:
    return [r.response if isinstance(r, Record) else None for r in source.rows(start)]


@pytest.mark.parametrize(
    ("data", "format"),
    [
        (JSONL, "jsonl"),
        (gzip.compress(JSONL, mtime=0), "jsonl"),
        (b'[{"response": "a"}, 1, {"response": "c", "x": 1}]', "json"),
        (b'{\n"d": [{"response": "a"}, {}, {"response": "c"}]}', "json"),
        (b"response,x\na,1\n\xff,2\nc,3\n", "csv"),
        (b"x\tresponse\n1\ta\n1\t\xff\n2\tc\n", "tsv"),
        (b"", "jsonl"),
    ],
)
def test_standard_input_and_its_spool(
    data: bytes, format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ["a", None, "c"] if data else []
    monkeypatch.setattr("sys.stdin", Stdin(data))
    source = open_source("-")
    assert not source.reiterable
    assert source.fraction() in (None, 0.0)
    assert texts(source) == expected
    with pytest.raises(UsageError, match="only once"):
        source.rows()

    monkeypatch.setattr("sys.stdin", Stdin(data))
    once = open_source("-")
    with pytest.raises(UsageError, match="only once"):
        once.fingerprint()
    kept = once.spool(tmp_path / "spool")
    assert kept.reiterable and texts(kept) == texts(kept) == expected
    assert texts(kept, 1) == expected[1:]
    assert kept.describe()[0]["path"] == "<stdin>" and kept.describe()[0]["format"] == format
    assert all(r.file == "<stdin>" for r in kept.rows() if isinstance(r, RowError))
    assert kept.fraction() == 1.0
    with pytest.raises(UsageError, match="only once"):
        once.spool(tmp_path / "again")


def test_piped_jsonl_has_the_fingerprint_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    monkeypatch.setattr("sys.stdin", Stdin(JSONL))
    kept = open_source("-").spool(tmp_path / "spool")
    assert kept.fingerprint() == open_source(tmp_path / "a.jsonl").fingerprint()


def test_pipe_between_files(tmp_path: Path) -> None:
    pipe, path = tmp_path / "pipe", tmp_path / "a.jsonl"
    os.mkfifo(pipe)
    path.write_bytes(JSONL)
    writer = threading.Thread(target=pipe.write_bytes, args=(JSONL,))
    writer.start()
    source = open_source([path, pipe, path])
    writer.join()
    assert not source.reiterable
    kept = source.spool(tmp_path / "kept")
    assert texts(kept) == ["a", None, "c"] * 3
    assert (tmp_path / "kept.1").read_bytes() == JSONL


def test_parquet_from_a_pipe_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Stdin(b"PAR1"))
    with pytest.raises(UsageError, match="Parquet cannot be read from a pipe"):
        list(open_source("-").rows())


def test_generator_and_its_spool(tmp_path: Path) -> None:
    record = Record(response="made", prompt="p", samples=["s"], meta={"k": 1})

    def rows() -> Iterator[Any]:
        yield {"response": "a", "samples": ["\u2028", "é"], "label": np.float64(0.5)}
        yield record
        yield {"response": "lone \ud800"}
        yield 7
        yield {"response": "b", "label": float("inf")}
        yield {"response": "c", "blob": b"\xff"}

    direct = list(open_source(rows()).rows())
    kept = open_source(rows()).spool(tmp_path / "s.jsonl")
    again = list(kept.rows())
    assert again[:5] == direct[:5] and list(kept.rows(3)) == again[3:]
    assert direct[1] == record.model_copy(update={"row": 1, "id": 1})
    assert [x.field for x in direct if isinstance(x, RowError)] == ["response", None, "label"]
    assert isinstance(again[5], RowError) and "cannot be stored" in again[5].error
    for line in (tmp_path / "s.jsonl").read_bytes().splitlines():
        assert isinstance(json.loads(line), dict)


def test_spool_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot copy"):
        open_source(iter([{"response": "a"}])).spool(tmp_path / "none" / "s")


def test_fingerprint_depends_on_content_mapping_and_reader_only(tmp_path: Path) -> None:
    a, b, c = (tmp_path / f"{n}.jsonl" for n in "abc")
    a.write_bytes(JSONL)
    b.write_bytes(JSONL)
    c.write_bytes(JSONL.replace(b"a", b"z"))
    base = open_source(a).fingerprint()
    assert open_source(str(b)).fingerprint() == base
    others = [
        open_source(c),
        open_source([a, b]),
        open_source([a, c]),
        open_source([c, a]),
        open_source(a, mapping={"prompt": "x"}),
        open_source(a, mapping={"reference": "x"}),
        open_source(a, reader="begin"),
    ]
    prints = [base, *(s.fingerprint() for s in others)]
    assert len(set(prints)) == len(prints)
    assert all(len(p) == 32 for p in prints)


def test_fingerprint_of_rows_in_memory() -> None:
    rows = [{"response": "a", "x": [1, {"k": "v", "l": 2}]}, {"response": "\ud800"}]
    turned = [{"x": [1, {"l": 2, "k": "v"}], "response": "a"}, {"response": "\ud800"}]
    assert open_source(rows).fingerprint() == open_source(turned).fingerprint()
    assert open_source(rows[:1]).fingerprint() != open_source(rows).fingerprint()
    frame = {"response": ["a", "b"], "label": [1.0, float("nan")]}
    prints = {open_source(f(frame)).fingerprint() for f in (pd.DataFrame, pl.DataFrame)}
    assert len(prints) == 1
    assert (
        open_source([Record(response="a")]).fingerprint()
        != open_source([Record(response="b")]).fingerprint()
    )


def test_describe(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(JSONL)
    (one,) = open_source(path).describe()
    assert {**one, "hash": ""} == {
        "path": str(path),
        "bytes": len(JSONL),
        "format": "jsonl",
        "hash": "",
    }
    (rows,) = open_source([{"response": "a"}]).describe()
    assert (rows["path"], rows["bytes"], len(rows["hash"])) == ("<rows>", None, 32)


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "parquet", "list", "frame", "two"])
def test_fraction_grows_from_0_to_1(kind: str, tmp_path: Path) -> None:
    rows = [{"response": hashlib.shake_128(b"%d" % i).hexdigest(300)} for i in range(10_000)]
    path = tmp_path / f"a.{kind}"
    data = "\n".join(map(json.dumps, rows)).encode()
    inputs: Any = path
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    elif kind == "list":
        inputs = rows
    elif kind == "frame":
        inputs = pl.DataFrame(rows)
    elif kind == "two":
        path = tmp_path / "a.jsonl"
        path.write_bytes(data)
        inputs = [path, path]
    else:
        path.write_bytes(gzip.compress(data) if kind.endswith("gz") else data)
    source = open_source(inputs)
    assert source.fraction() == 0.0
    reading = source.rows()
    assert source.fraction() == 0.0
    source.fingerprint()
    seen = [f for _ in reading if (f := source.fraction()) is not None]
    assert seen == sorted(seen) and len(set(seen)) > 5
    assert 0 < seen[0] < 0.3 and 0.3 < seen[len(seen) // 2] < 0.8
    assert source.fraction() == 1.0


@pytest.mark.parametrize(
    ("inputs", "why"),
    [
        ([], "no input"),
        (iter(()), "no input"),
        (b"a.jsonl", "from bytes: pass a path"),
        (3, "from int: pass a path"),
        (None, "from NoneType: pass a path"),
        (["-", "-"], "only once"),
        (["-", {"response": "a"}], "mixed"),
        ("no\0file", "null byte|character"),
        ("n" * 5000, "too long"),
        (pl.DataFrame({"response": ["a"]}).lazy(), "collect"),
        (pl.Series("response", ["a"]), "data frame"),
        (pd.DataFrame([["a", "b"]], columns=["response", "response"]), "response"),
    ],
)
def test_what_cannot_be_opened(inputs: Any, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        open_source(inputs)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        open_source(tmp_path / "gone.jsonl")
    with pytest.raises(UsageError, match="is a folder"):
        open_source(tmp_path)
    path = tmp_path / "a\x1b[31m\n.jsonl"
    with pytest.raises(UsageError) as e:
        open_source(path)
    assert str(e.value).isprintable()


def test_a_column_with_a_control_character_is_escaped_once() -> None:
    (bad,) = open_source([{"x\x1by": 5}], mapping={"response": "x\x1by"}).rows()
    assert str(bad) == r"<rows>: row 0: field 'x\x1by': must be text, got 5"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(JSONL)
    path.chmod(0)
    with pytest.raises(UsageError, match="Permission denied"):
        open_source(path)


def test_file_that_goes_away(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(JSONL)
    source = open_source(path)
    path.unlink()
    with pytest.raises(UsageError, match="No such file"):
        list(source.rows())


def test_paths_from_a_generator(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(JSONL)
    assert texts(open_source(tmp_path.glob("*.jsonl"))) == ["a", None, "c"]


def test_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.jsonl"
    Path(os.fsdecode(path)).write_bytes(JSONL)
    source = open_source(os.fsdecode(path))
    errors = [r for r in source.rows() if isinstance(r, RowError)]
    assert errors[0].file.endswith("caf\\xe9.jsonl")
    json.dumps(source.describe()).encode("utf-8")


class Colour(Enum):
    RED = "red"


def test_values_of_frames_and_lists() -> None:
    frame = pd.DataFrame(
        {
            "response": ["a", "b", None],
            "samples": [np.array(["s", "t"], dtype=object), None, []],
            "label": [0.5, np.nan, 1],
            "when": [pd.Timestamp("2024-01-02"), pd.NaT, pd.NaT],
            "n": pd.array([1, None, 2], dtype="Int64"),
        }
    )
    a, b, c = open_source(frame).rows()
    assert a.sample_texts == ["s", "t"] and a.meta == {"when": "2024-01-02T00:00:00", "n": 1}
    assert (b.samples, b.label) == ((), None) and b.meta == {"when": None, "n": None}
    assert isinstance(c, RowError) and c.field == "response"
    (r,) = open_source(
        [
            {
                "response": np.str_("a"),
                "id": np.int64(3),
                "label": np.bool_(True),
                "samples": ("x",),
                "prompt": float("nan"),
                "d": date(2024, 1, 2),
                "m": Decimal("1.5"),
                "c": Colour.RED,
                "p": Path("x"),
                "b": b"bytes",
                5: {6: None},
            }
        ]
    ).rows()
    assert isinstance(r, Record) and type(r.response) is str
    assert (r.id, r.label, r.sample_texts, r.prompt) == (3, 1.0, ["x"], None)
    assert r.meta == {
        "d": "2024-01-02",
        "m": 1.5,
        "c": "red",
        "p": "x",
        "b": "bytes",
        "5": {"6": None},
    }


@pytest.mark.parametrize(
    ("row", "field", "why"),
    [
        ({"response": "a", "x": object()}, "x", "type object"),
        ({"response": "a", "x": {1}}, "x", "type set"),
        ({"response": "a", "x": ["\udfff"]}, "x", "surrogate at offset 0"),
        ({"response": "a", "x\ud800": 1}, "x\\ud800", "surrogate"),
        ({"response": "a\ud83d"}, "response", "surrogate at offset 1"),
        ({"response": "a", "prompt": [float("nan")]}, "prompt", "infinity or NaN"),
        (
            {"response": "a", "logprobs": [{"token": "\ud800", "logprob": 0}]},
            "logprobs",
            "surrogate",
        ),
        (None, None, "not null"),
        ("text", None, "not 'text'"),
        (["a"], None, "not a list"),
    ],
)
def test_bad_rows_in_memory(row: Any, field: str | None, why: str) -> None:
    nested: Any = []
    for _ in range(2000):
        nested = [nested]
    deep, _, item = open_source([{"response": "a", "x": nested}, {"response": ""}, row]).rows()
    assert isinstance(deep, RowError) and "deeper" in deep.error
    assert isinstance(item, RowError)
    assert item.field == field and why in item.error and str(item).isprintable()


def test_records_keep_their_content_and_get_their_ordinal() -> None:
    rows = [Record(response="a", row=7), Record(response="b", id="own", sentences=[[0, 1]])]
    a, b = open_source(rows).rows()
    assert (a.row, a.id, b.row, b.id) == (0, 0, 1, "own")
    assert b.sentences[0].text == "b" and rows[0].row == 7
