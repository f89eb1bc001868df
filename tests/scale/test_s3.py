"""Shards in an object store give what shards in a folder give, whoever is lost on the way."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from object_store import BUCKET, ObjectStore, object_store
from sharding import commands, parquet, workers_of

from veridical.errors import UsageError
from veridical.io.formats import Cursor
from veridical.io.objects import object_part
from veridical.scale.objects import ObjectPlace

DEST = f"s3://{BUCKET}/shards"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store(monkeypatch) as running:
        yield running


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    return commands(monkeypatch)


def test_the_server_honours_conditional_writes(store: ObjectStore) -> None:
    """What the leases and parts rest on; obstore says it as If-None-Match and If-Match."""
    import obstore.exceptions

    from veridical.files.s3 import objects

    bucket = objects(BUCKET)
    tag = bucket.put("a", b"1", mode="create")["e_tag"]
    with pytest.raises(obstore.exceptions.AlreadyExistsError):
        bucket.put("a", b"2", mode="create")
    newer = bucket.put("a", b"3", mode={"e_tag": tag})["e_tag"]
    with pytest.raises(obstore.exceptions.PreconditionError):
        bucket.put("a", b"4", mode={"e_tag": tag})
    assert newer != tag and store.get("a") == b"3"


@pytest.mark.parametrize("workers", [1, 2])
def test_from_s3_to_s3_the_lines_are_those_of_one_process(
    workers: int, store: ObjectStore, run: Any, tmp_path: Path
) -> None:
    address = store.put("in/a.parquet", parquet(tmp_path / "in.parquet", 50, group=10))
    check = ("check", "in.parquet", "--preset", "fast", "--store", "none")
    assert run(*check, "--json", "whole.jsonl", "--out", "r") == 0
    assert run("shard", "plan", address, "--rows", 20, "--out", DEST) == 0
    assert run("shard", "plan", address, "--rows", 20, "--out", f"{DEST}/") == 0  # harmless
    assert run("shard", "run", DEST, "--preset", "fast", "--workers", workers) == 0
    assert store.names("shards/parts/") == [
        f"shards/parts/part-{i:06d}.{kind}" for i in range(3) for kind in ("json", "parquet")
    ]
    asked = len(store.asked)
    assert run("shard", "run", DEST) == 0  # again is harmless
    assert not [a for a in store.asked[asked:] if a[0] == "PUT" and "/parts/" in a[1]]
    assert run("shard", "merge", DEST, "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    (merged,) = (tmp_path / ".veridical" / "runs").iterdir()
    assert run("report", merged, "--out", "report.html") == 0
    assert run("explain", merged, 7) == 0
    assert not list((tmp_path / ".veridical" / "shards").rglob("*.jsonl"))  # nothing is left


def test_all_parquet_files_below_a_prefix_are_one_input(
    store: ObjectStore, run: Any, tmp_path: Path
) -> None:
    parquet(tmp_path / "a.parquet", 12, group=5)
    parquet(tmp_path / "b.parquet", 7, group=5)
    store.put("in/b.parquet", tmp_path / "b.parquet")
    store.put("in/a.parquet", tmp_path / "a.parquet")
    store.put("in/readme.txt", b"no input")
    assert run("check", "a.parquet", "b.parquet", "--preset", "fast", "--json", "whole.jsonl") == 0
    assert run("check", f"s3://{BUCKET}/in/", "--preset", "fast", "--json", "s3.jsonl") == 0
    assert run("shard", "plan", f"s3://{BUCKET}/in/", "--rows", 10, "--out", "d") == 0
    assert run("shard", "run", "d", "--preset", "fast") == 0
    assert run("shard", "merge", "d", "--json", "merged.jsonl") == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert (tmp_path / "s3.jsonl").read_bytes() == whole
    assert (tmp_path / "merged.jsonl").read_bytes() == whole


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "csv", "tsv.gz"])
def test_lines_in_s3_are_read_as_those_of_a_file(
    ending: str, store: ObjectStore, run: Any, tmp_path: Path
) -> None:
    rows = [{"id": i, "response": f"It is {i}, is it?", "contexts": [f"{i}."]} for i in range(45)]
    text = io.StringIO()
    if ending.startswith("jsonl"):
        text.writelines(json.dumps(row) + "\n\n" for row in rows)  # blank lines are no rows
    else:
        table = csv.writer(text, delimiter="\t" if ending.startswith("tsv") else ",")
        table.writerow(rows[0])
        table.writerows([r["id"], r["response"], json.dumps(r["contexts"])] for r in rows)
    content = text.getvalue().encode()
    content = gzip.compress(content) if ending.endswith("gz") else content
    for name in ("a", "b"):
        (tmp_path / f"{name}.{ending}").write_bytes(content)
        store.put(f"in/{name}.{ending}", content)
    two = [f"{name}.{ending}" for name in ("a", "b")]
    assert run("check", *two, "--preset", "fast", "--json", "whole.jsonl") == 0
    assert run("check", f"s3://{BUCKET}/in/", "--preset", "fast", "--json", "s3.jsonl") == 0
    assert run("shard", "plan", f"s3://{BUCKET}/in/", "--rows", 20, "--out", DEST) == 0
    assert run("shard", "run", DEST, "--preset", "fast", "--workers", 2) == 0
    assert run("shard", "merge", DEST, "--json", "merged.jsonl") == 0
    whole = (tmp_path / "whole.jsonl").read_bytes()
    assert whole.count(b"\n") == 90
    assert (tmp_path / "s3.jsonl").read_bytes() == whole
    assert (tmp_path / "merged.jsonl").read_bytes() == whole


def test_lines_that_change_or_that_the_server_withholds_stop_the_run(
    store: ObjectStore, run: Any, capsys: Any
) -> None:
    content = b"".join(b'{"response": "It is %d."}\n' % i for i in range(50_000))
    address = store.put("in.jsonl", content)
    assert run("shard", "plan", address, "--rows", 40_000, "--out", DEST) == 0
    store.put("in.jsonl", content + b'{"response": "More."}\n')
    capsys.readouterr()
    assert run("shard", "run", DEST, "--preset", "fast", "--index", 0) == 1
    assert "changed since its shards were planned" in capsys.readouterr().err
    part = object_part(address, lambda column: column, True)
    rows = part.rows(Cursor())
    for _ in range(3):
        next(rows)
    store.refuse.add("GET")
    with pytest.raises(UsageError, match=r"in\.jsonl: the rest of the file cannot be read"):
        list(rows)


def test_a_shard_reads_its_row_groups_and_no_more(
    store: ObjectStore, run: Any, tmp_path: Path
) -> None:
    import pyarrow as pa

    chance = random.Random(1)
    rows = 40
    table = pa.table(
        {
            "response": [f"It is {i}." for i in range(rows)],
            "contexts": [[chance.randbytes(50_000).hex()] for _ in range(rows)],
        }
    )
    pq.write_table(table, tmp_path / "big.parquet", row_group_size=10, compression="none")
    size = (tmp_path / "big.parquet").stat().st_size
    address = store.put("big.parquet", tmp_path / "big.parquet")
    assert run("shard", "plan", address, "--rows", 10, "--out", DEST) == 0
    asked = len(store.asked)
    assert run("shard", "run", DEST, "--preset", "fast", "--index", 3) == 0
    read = sum(n for method, path, n in store.asked[asked:] if "big" in path and method == "GET")
    assert size / 4 < read < size / 3  # a quarter, and the footers
    copies = [p for p in tmp_path.rglob("*") if p.is_file() and p.stat().st_size > size / 2]
    assert copies == [tmp_path / "big.parquet"]


def test_changed_inputs_and_damaged_parts_are_refused(
    store: ObjectStore, run: Any, tmp_path: Path, capsys: Any
) -> None:
    parquet(tmp_path / "in.parquet", 6, group=3)
    address = store.put("in.parquet", tmp_path / "in.parquet")
    assert run("shard", "plan", address, "--rows", 3, "--out", DEST) == 0
    assert run("shard", "run", DEST, "--preset", "fast") == 0
    part = "shards/parts/part-000001.parquet"
    store.put(part, store.get(part)[:-1] + b"x")
    assert run("shard", "merge", DEST) == 1
    assert "part-000001.parquet is damaged; remove it" in capsys.readouterr().err
    store.delete(part)
    assert run("shard", "run", DEST) == 0 and run("shard", "merge", DEST) == 0
    # a part without its JSON is agreed with, where it is of the same records, else replaced
    for damage in (b"", b"x"):
        store.put(part, store.get(part) + damage)
        store.delete("shards/parts/part-000001.json")
        assert run("shard", "run", DEST) == 0 and run("shard", "merge", DEST) == 0
    store.put("in.parquet", parquet(tmp_path / "in.parquet", 7, group=3))
    capsys.readouterr()
    assert run("shard", "run", DEST) == 1
    assert "the input has changed since its shards were planned" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plan", "in.parquet", "--out", "s3://"), "a bucket has 3 to 63"),
        (("plan", "in.parquet", "--out", "s3://Bucket!/x"), "a bucket has 3 to 63"),
        (("plan", "in.parquet", "--out", "s3://key:secret@answers/x"), "no part of it: set AWS_"),
        (("plan", "in.parquet", "--out", "s3://answers/a/../b"), "no . or .. as a part"),
        (("plan", "in.parquet", "--out", "s3://answers//b"), "no empty part"),
        (("plan", "in.parquet", "--out", "s3://answers/b?endpoint_override=evil"), "no ? #"),
        (("plan", "in.parquet", "--out", "s3://answers/b\x1b[2J"), "control characters"),
        (("plan", "in.parquet", "--out", "s3://answers/" + "a" * 900), "800 bytes at most"),
        (
            ("plan", "in.parquet", "--out", "gs://answers/b"),
            "not a supported address; use s3://BUCKET/NAME",
        ),
        (("plan", "in.parquet", "--out", "s3://not-there/b"), "there is no such bucket"),
        (
            ("plan", "in.parquet", "--out", "s3://answers/full"),
            "is not empty (it contains 'other')",
        ),
        (("plan", "s3://answers/absent.parquet", "--out", "d"), "there is no such object"),
        (("plan", "s3://answers/none/", "--out", "d"), "there are no Parquet, JSON Lines, CSV or"),
        (("plan", "s3://answers/several/", "--out", "d"), "several formats (csv, jsonl)"),
        (("plan", "s3://answers/full/other", "--out", "d"), "cannot be read as Parquet"),
        (
            ("plan", "s3://answers/in.json", "--out", "d"),
            "convert it to Parquet, JSON Lines, CSV or TSV",
        ),
        (
            ("plan", "s3://answers/in.parquet.gz", "--out", "d"),
            "convert it to Parquet, JSON Lines, CSV or TSV",
        ),
        (
            ("plan", "s3://answers/in.gz", "--out", "d"),
            "convert it to Parquet, JSON Lines, CSV or TSV",
        ),
        (("plan", "s3://answers/absent.jsonl", "--out", "d"), "there is no such object"),
        (("plan", "s3://answers/empty.csv", "--out", "d"), "empty; a header line is needed"),
        (("plan", "https://example.org/in.parquet", "--out", "d"), "use s3://BUCKET/NAME"),
        (
            ("run", "s3://answers/nothing"),
            "contains no shards; run veridical shard plan INPUT --out s3",
        ),
        (("merge", "s3://answers/nothing"), "contains no shards"),
        (("merge", "s3://answers/../nothing"), "no . or .. as a part"),
    ],
)
def test_odd_and_hostile_addresses_are_refused(
    arguments: tuple[str, ...], message: str, store: ObjectStore, run: Any, capsys: Any
) -> None:
    parquet(Path("in.parquet"), 3, group=3)
    store.put("full/other", b"x")
    store.put("several/a.csv", b"response\nIt is red.\n")
    store.put("several/b.jsonl", b"{}\n")
    store.put("empty.csv", b"")
    assert run("shard", *arguments) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert message in told and "internal error" not in told and "\x1b" not in told
    assert "secret" not in told or "key:secret@answers" in told  # but what the user typed
    assert not Path("d").exists() and not Path("s3:").exists()


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "set AWS_ACCESS_KEY_ID and"),
        ({"AWS_SECRET_ACCESS_KEY": ""}, "must be set together; one of them is missing"),
        ({"AWS_ENDPOINT_URL": "ftp://x"}, "is not https://HOST or http://HOST:PORT"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "s3://answers/shards"),
    ],
)
def test_an_environment_that_cannot_do_is_told_of(
    variables: dict[str, str],
    message: str,
    store: ObjectStore,
    run: Any,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run("shard", "run", DEST) == 1
    told = " ".join(capsys.readouterr().err.split())
    assert message in told and "internal error" not in told


def test_without_the_extra_the_message_names_it(
    store: ObjectStore, run: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from veridical.files import s3

    s3._store.cache_clear()
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    assert run("shard", "run", "s3://answers/elsewhere") == 1
    assert "pip install obstore" in capsys.readouterr().err


def test_one_of_many_takes_a_shard(store: ObjectStore) -> None:
    places = [ObjectPlace(DEST, 60) for _ in range(12)]
    taken = []

    def take(place: ObjectPlace) -> None:
        with place.taking("000000") as held:
            if held is not None:
                taken.append(held)
                time.sleep(1)  # until all have tried

    threads = [threading.Thread(target=take, args=(place,)) for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 1 and not taken[0].lost
    with places[0].taking("000000") as again:  # it was let go of
        assert again is not None and again.lease.takeovers == 0


def test_a_lease_without_a_sign_of_life_is_taken_over(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = ObjectPlace(DEST, 1.2), ObjectPlace(DEST, 60)
    with owner.taking("000000") as held:
        assert held is not None
        end = time.monotonic() + 2.5
        while time.monotonic() < end:  # it lives: nobody gets it
            with other.taking("000000") as none:
                assert none is None
            time.sleep(0.1)
        assert held.lease.beat > 5 and not held.lost
        monkeypatch.setattr(owner, "replace", lambda *_: (_ for _ in ()).throw(UsageError("cut")))
        began = time.monotonic()
        while True:
            with other.taking("000000") as mine:
                if mine is not None:
                    waited = time.monotonic() - began
                    assert held.lost  # the owner knew before
                    assert mine.lease.takeovers == 1
                    break
            time.sleep(0.05)
        assert 1.0 < waited < 3
    assert json.loads(store.get("shards/leases/000000.json"))["released"]


def test_an_owner_that_lost_its_shard_stops_and_leaves_the_lease_alone(store: ObjectStore) -> None:
    owner = ObjectPlace(DEST, 2)
    with owner.taking("000000") as held:
        assert held is not None
        theirs = held.lease.model_copy(update={"token": "theirs"}).model_dump_json().encode()
        store.put("shards/leases/000000.json", theirs)
        end = time.monotonic() + 5
        while not held.lost and time.monotonic() < end:
            time.sleep(0.05)
        assert held.lost
    assert store.get("shards/leases/000000.json") == theirs


def test_changes_by_many_at_once_all_count(store: ObjectStore) -> None:
    def add(place: ObjectPlace) -> None:
        for _ in range(5):
            place.update("count", lambda n: str(int(n or b"0") + 1).encode())

    threads = [threading.Thread(target=add, args=(ObjectPlace(DEST, 60),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get("shards/count") == b"20"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_workers_that_are_killed_lose_nothing(store: ObjectStore, run: Any, tmp_path: Path) -> None:
    parquet(tmp_path / "in.parquet", 240, group=20)
    address = store.put("in.parquet", tmp_path / "in.parquet")
    assert run("check", "in.parquet", "--preset", "fast", "--json", "whole.jsonl") == 0
    assert run("shard", "plan", address, "--rows", 20, "--out", DEST) == 0
    command = [sys.executable, "-m", "veridical", "shard", "run", DEST, "--preset", "fast"]
    group = subprocess.Popen(
        [*command, "--lease", "2", "--workers", "3"], stderr=subprocess.PIPE, env={**os.environ}
    )
    assert group.stderr is not None
    group.stderr.readline()  # it has begun
    chance = random.Random(0)
    for _ in range(2):
        time.sleep(chance.uniform(0.5, 2))
        workers = workers_of(group.pid)
        if len(workers) > 1:
            os.kill(chance.choice(workers), signal.SIGKILL)
    group.communicate(timeout=300)
    assert run("shard", "run", DEST, "--lease", 2) == 0
    assert run("shard", "merge", DEST, "--json", "merged.jsonl") == 0
    assert (tmp_path / "merged.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
