"""A part of a source has its rows under their own numbers."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veridical.io import open_source
from veridical.io.source import SourceSlice


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "json"])
def test_slices_have_all_rows_once(kind: str, tmp_path: Path) -> None:
    rows = [{"id": f"r{i}", "response": f"answer {i}"} for i in range(23)]
    path = tmp_path / f"in.{kind}"
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=4)
    elif kind == "csv":
        path.write_text("id,response\n" + "".join(f"{r['id']},{r['response']}\n" for r in rows))
    else:
        lines = [json.dumps(r) for r in rows]
        path.write_text("\n".join(lines) if kind == "jsonl" else f"[{','.join(lines)}]")
    whole = open_source([path, path])
    expected = [(r.row, r.id) for r in whole.rows()]
    assert len(expected) == 46
    cuts = [0, 5, 6, 22, 24, 46, 60]
    found = []
    for start, stop in pairwise(cuts):
        part = SourceSlice(whole, start, stop)
        own = [(r.row, r.id) for r in part.rows()]
        assert own == expected[start:stop]
        assert [(r.row, r.id) for r in part.rows(start + 1)] == expected[start + 1 : stop]
        assert part.count() == stop - start
        assert part.fingerprint() == f"{whole.fingerprint()}:{start}-{stop}"
        assert part.describe() == whole.describe()
        found += own
    assert found == expected
