from __future__ import annotations

import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from veridical.errors import UsageError
from veridical.files.seals import SECRET_VARIABLE, forget_secret
from veridical.files.store import Store, content_key
from veridical.notices import reset_warnings


@pytest.fixture(autouse=True)
def told_anew() -> None:
    reset_warnings()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user can mount nothing")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


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
        "from veridical.files.store import Store, content_key\n"
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


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    yield monkeypatch
    monkeypatch.undo()
    forget_secret()


def test_values_of_another_computer_count_as_absent(
    tmp_path: Path, secrets: pytest.MonkeyPatch
) -> None:
    items = arrays(5)
    secrets.setenv(SECRET_VARIABLE, "the secret of a stranger")
    forget_secret()
    store = Store(tmp_path)
    store.put_many(items)
    store.close()
    secrets.setenv(SECRET_VARIABLE, "the secret of this computer")
    forget_secret()
    store = Store(tmp_path)
    assert store.get_many([k for k, _ in items]) == {}
    store.put_many(items[:2])
    assert set(store.get_many([k for k, _ in items])) == {k for k, _ in items[:2]}
    store.close()


def test_a_value_under_another_key_or_in_another_shape_counts_as_absent(tmp_path: Path) -> None:
    (a, x), (b, _), (c, _) = arrays(3)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    store = Store(tmp_path)
    store.put_many([(a, x), (c, x)])
    store.close()
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        db.execute("INSERT INTO entries SELECT ?, start, shape, seal FROM entries LIMIT 1", (b,))
        db.execute("UPDATE entries SET shape = '3,2' WHERE key = ?", (a,))
    db.close()
    store = Store(tmp_path)
    assert set(store.get_many([a, b, c])) == {c}
    assert len(store) == 1  # the others are dropped
    store.close()


HOSTILE_ROWS = [
    (0, "1000000000000", b"x" * 12),
    (0, "9" * 5000, b"x" * 12),
    (-4, "1", b"x" * 12),
    (2**62, "1", b"x" * 12),
    (0, "-1,-5", b"x" * 12),
    (0, "one", b"x" * 12),
    ("here", "1", b"x" * 12),
    (0, b"\xff\xfe", b"x" * 12),
    (0, 7, b"x" * 12),
    (0, "1", "no bytes"),
    (0.5, "1", b""),
]


def test_hostile_rows_count_as_absent(tmp_path: Path) -> None:
    items = arrays(1)
    store = Store(tmp_path)
    store.put_many(items)
    store.close()
    keys = [content_key("hostile", str(i)) for i in range(len(HOSTILE_ROWS))]
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        for key, row in zip(keys, HOSTILE_ROWS, strict=True):
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (key, *row))
    db.close()
    store = Store(tmp_path)
    assert set(store.get_many([*keys, items[0][0]])) == {items[0][0]}
    store.close()


def test_a_store_of_the_first_format_begins_anew_and_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        db.execute(
            "CREATE TABLE entries (key BLOB PRIMARY KEY, start INTEGER NOT NULL, "
            "shape TEXT NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID"
        )
        key = content_key("k", "0")
        db.execute("INSERT INTO entries VALUES (?, 0, '1', 0)", (key,))
        db.execute("PRAGMA user_version=1")
    db.close()
    (tmp_path / "values.f32").write_bytes(bytes(4000))
    for held in (set(), {key}):
        store = Store(tmp_path)
        assert set(store.get_many([key])) == held
        store.put_many(arrays(2))
        assert set(store.get_many([key])) == {key}
        store.close()
    assert capfd.readouterr().err.count("earlier version") == 1
    assert (tmp_path / "values.f32").stat().st_size < 4000


def test_while_another_process_holds_a_store_of_the_first_format_nothing_of_it_is_read(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path)
    store.put_many(arrays(1))
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        db.execute("PRAGMA user_version=1")
    db.close()
    reader = Store(tmp_path)
    assert not reader.writable and len(reader) == 0
    assert reader.get_many([content_key("k", "0")]) == {}
    reader.close()
    store.close()


@pytest.mark.parametrize("content", [b"no sqlite at all" * 300, None])
def test_damaged_keys_are_set_aside(
    tmp_path: Path, content: bytes | None, capfd: pytest.CaptureFixture[str]
) -> None:
    items = arrays(300)
    store = Store(tmp_path)
    store.put_many(items)
    store.close()
    place = tmp_path / "keys.sqlite"
    data = place.read_bytes()
    place.write_bytes(content or data[:4096] + bytes(len(data) - 4096))
    store = Store(tmp_path)
    assert store.get_many([k for k, _ in items]) == {}
    store.put_many(items)  # in the second case the damage is met while reading
    store.close()
    store = Store(tmp_path)
    store.put_many(items)
    assert len(store.get_many([k for k, _ in items])) == len(items)
    store.close()
    assert "is damaged" in capfd.readouterr().err
    assert (tmp_path / "keys.sqlite.damaged").is_file()


def test_no_flipped_bit_changes_a_value(tmp_path: Path) -> None:
    items = dict(arrays(200))
    store = Store(tmp_path / "whole")
    store.put_many(items.items())
    store.close()
    chance = random.Random(1)
    for turn in range(150):
        place = tmp_path / str(turn)
        shutil.copytree(tmp_path / "whole", place)
        file = place / chance.choice(["keys.sqlite", "values.f32"])
        data = bytearray(file.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data)
        try:
            store = Store(place)
        except UsageError as e:
            assert "has format" in str(e)
            continue
        for key, value in store.get_many(list(items)).items():
            assert np.array_equal(value, items[key])
        store.close()
        shutil.rmtree(place)


def test_views_and_triggers_are_not_run(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    with sqlite3.connect(tmp_path / "keys.sqlite") as db:
        columns = "x AS key, 0 AS start, '1' AS shape, x AS seal"
        db.execute(f"CREATE VIEW entries AS SELECT {columns} FROM ({endless})")
        db.execute("PRAGMA user_version=2")
    db.close()
    store = Store(tmp_path)
    assert len(store) == 0
    store.close()


@pytest.mark.parametrize("name", ["keys.sqlite", "values.f32", "lock", "keys.sqlite-wal"])
def test_no_file_of_the_store_may_be_a_link(tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine"
    mine.write_text("not to be touched")
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / name).symlink_to(mine)
    with pytest.raises(UsageError, match=f"{name} is a link"):
        Store(tmp_path / "store")
    assert mine.read_text() == "not to be touched"


def test_a_full_disk_costs_what_is_not_kept(
    full_disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    store = Store(full_disk / "store")
    small = arrays(3)
    store.put_many(small)
    big = [(content_key("big", str(i)), np.zeros(40_000, np.float32)) for i in range(9)]
    for item in big:
        store.put_many([item])
    store.replace([small[0][0]], small[1][0], np.zeros(40_000, np.float32))
    assert not store.writable
    assert set(store.get_many([k for k, _ in small])) == {k for k, _ in small}
    assert capfd.readouterr().err.count("cannot be used") == 1
    store.close()


def test_a_disk_that_is_full_from_the_start_costs_the_store(
    full_disk: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with (full_disk / "filler").open("wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    for _ in range(2):
        store = Store(full_disk / "store")
        store.put_many(arrays(3))
        assert store.get_many([k for k, _ in arrays(3)]) == {} and len(store) == 0
        store.close()
    assert "full" in capfd.readouterr().err


def test_a_limit_on_files_costs_what_is_not_kept(tmp_path: Path) -> None:
    code = (
        "import resource, sys, numpy as np; from pathlib import Path\n"
        "from veridical.files.store import Store, content_key\n"
        f"s = Store(Path({str(tmp_path)!r}))\n"
        "s.put_many([(content_key('a'), np.ones(2, np.float32))])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "for k in 'bc': s.put_many([(content_key(k), np.ones(90_000, np.float32))])\n"
        "print(sorted(len(v) for v in s.get_many([content_key(k) for k in 'abc']).values()))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["[2]"]
    assert out.stderr.count("warning: store") == 1
