from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical.evidence.store import Store, content_key


def arrays(n: int) -> list[tuple[bytes, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (content_key("k", str(i)), rng.standard_normal((i % 3 + 1, 5)).astype(np.float32))
        for i in range(n)
    ]


def test_keys_do_not_run_into_each_other() -> None:
    assert content_key("ab", "c") != content_key("a", "bc") != content_key("abc")
    assert content_key("é") == content_key("é".encode())


def test_what_is_put_comes_back_exactly_and_outlives_the_process(tmp_path: Path) -> None:
    store = Store(tmp_path / "s")
    items = arrays(1200)  # more than one look-up statement
    store.put_many(items)
    store.close()
    again = Store(tmp_path / "s")
    found = again.get_many([k for k, _ in items] + [content_key("absent")])
    assert len(found) == len(items) == len(again)
    for key, value in items:
        assert np.array_equal(found[key], value)
    again.close()


def test_a_key_is_stored_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (item,) = arrays(1)
    store.put_many([item])
    size = (tmp_path / "values.f32").stat().st_size
    store.put_many([item, item])
    assert (tmp_path / "values.f32").stat().st_size == size
    store.close()


def test_damaged_and_cut_values_count_as_absent_and_can_be_put_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    items = arrays(3)
    store.put_many(items)
    store.close()
    with (tmp_path / "values.f32").open("rb+") as f:
        f.write(b"\xff\xff")  # spoils the first
        f.truncate((tmp_path / "values.f32").stat().st_size - 1)  # cuts the last
    store = Store(tmp_path)
    found = store.get_many([k for k, _ in items])
    assert set(found) == {items[1][0]}
    store.put_many(items)
    assert len(store.get_many([k for k, _ in items])) == 3
    store.close()


def test_bytes_without_a_committed_row_do_no_harm(tmp_path: Path) -> None:
    store = Store(tmp_path)
    items = arrays(4)
    store.put_many(items[:2])
    store.close()
    with (tmp_path / "values.f32").open("ab") as f:
        f.write(b"half a value of a process that was killed")
    store = Store(tmp_path)
    store.put_many(items[2:])
    found = store.get_many([k for k, _ in items])
    assert all(np.array_equal(found[k], v) for k, v in items)
    store.close()


def test_a_second_process_reads_and_does_not_write(tmp_path: Path) -> None:
    store = Store(tmp_path)
    items = arrays(2)
    store.put_many(items[:1])
    code = (
        "import sys, numpy as np; from pathlib import Path\n"
        "from veridical.evidence.store import Store, content_key\n"
        f"s = Store(Path({str(tmp_path)!r})); assert not s.writable\n"
        "s.put_many([(content_key('other'), np.ones(2, np.float32))])\n"
        "print(len(s), len(s.get_many([content_key('k', '0')])))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["1", "1"]
    store.close()


def test_another_format_and_an_impossible_folder_are_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        db.execute("PRAGMA user_version=99")
    with pytest.raises(UsageError, match="format 99"):
        Store(tmp_path)
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(UsageError, match="cannot open store"):
        Store(file / "below")
    assert file.read_text() == "x"


def test_entries_are_found_by_the_beginning_of_their_keys(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one, two = bytes(12), b"\xff" * 12
    items = [(p + bytes([i] * 8), np.full(2, i, np.float32)) for p in (one, two) for i in (0, 255)]
    store.put_many(items)
    found = store.beginning_with([one, two, b"\x01" * 12])
    assert {p: sorted(e) for p, e in found.items()} == {
        one: sorted(k for k, _ in items[:2]),
        two: sorted(k for k, _ in items[2:]),
        b"\x01" * 12: [],
    }
    for key, value in items:
        assert np.array_equal(found[key[:12]][key], value)
    store.close()


def test_replacing_drops_the_old_and_overwrites(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (a, x), (b, y), (c, _) = arrays(3)
    store.put_many([(a, x), (b, y)])
    store.replace([a, b], c, x)
    store.replace([], c, y)
    assert len(store) == 1
    reader = Store(tmp_path)  # a second one only reads
    reader.replace([c], a, x)
    reader.close()
    assert np.array_equal(store.get_many([a, b, c])[c], y)
    store.close()
