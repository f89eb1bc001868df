"""A file that is partly there: what is kept of it is what is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from fake_weights import Remembers, weights_of

from veridical.weights.partial import Damaged, Partial
from veridical.weights.watching import Watch

CONTENTS = (b"GGUF" + b"a" * 96, b"b" * 50, b"c" * 30)
WHOLE = b"".join(CONTENTS)
WEIGHTS = weights_of(*CONTENTS)


def begun(path: Path, content: bytes, watch: Watch | None = None) -> Partial:
    path.write_bytes(content)
    return Partial(WEIGHTS, path, watch or Watch())


@pytest.mark.parametrize("step", [1, 7, 100, 101, 500])
def test_parts_are_joined_however_the_bytes_come(tmp_path: Path, step: int) -> None:
    watch, path = Remembers(), tmp_path / "some.part"
    partial = Partial(WEIGHTS, path, watch)
    for at in range(0, len(WHOLE), step):
        partial.add(WHOLE[at : at + step])
    assert partial.complete and partial.missing == ()
    assert watch.states[-1] == (180, 3) and watch.lines == []
    partial.finish(tmp_path / "place")
    partial.close()
    assert (tmp_path / "place").read_bytes() == WHOLE and not path.exists()


@pytest.mark.parametrize(
    ("kept", "done"), [(0, 0), (1, 0), (99, 0), (100, 1), (120, 1), (150, 2), (180, 3)]
)
def test_what_is_right_is_gone_on_with(tmp_path: Path, kept: int, done: int) -> None:
    watch = Remembers()
    partial = begun(tmp_path / "some.part", WHOLE[:kept], watch)
    assert (partial.size, partial.done) == (kept, done) == watch.states[-1]
    assert partial.missing == WEIGHTS.parts[done:] and watch.lines == []
    partial.add(WHOLE[kept:])
    partial.finish(tmp_path / "place")
    assert (tmp_path / "place").read_bytes() == WHOLE


@pytest.mark.parametrize(
    ("wrong", "kept", "part"), [(0, 0, 1), (99, 0, 1), (100, 100, 2), (149, 100, 2), (179, 150, 3)]
)
def test_a_damaged_part_is_found_and_named(
    tmp_path: Path, wrong: int, kept: int, part: int
) -> None:
    damaged = bytearray(WHOLE)
    damaged[wrong] ^= 1
    watch, path = Remembers(), tmp_path / "some.part"
    partial = begun(path, bytes(damaged), watch)
    assert partial.size == kept and f"part {part} of 3 is damaged" in watch.lines[0]
    partial.close()
    assert (path.read_bytes() if kept else b"") == WHOLE[:kept] and path.exists() == bool(kept)


def test_a_part_that_comes_damaged_is_forgotten(tmp_path: Path) -> None:
    partial = begun(tmp_path / "some.part", WHOLE[:120])
    with pytest.raises(
        Damaged, match=r"sha256 is \w{12}\.\.\., not " + WEIGHTS.parts[1].sha256[:12]
    ):
        partial.add(b"B" * 30)
    assert (partial.size, partial.done) == (100, 1)
    partial.add(WHOLE[100:])
    assert partial.complete


def test_bytes_on_disk_that_end_no_part_are_checked_when_it_ends(tmp_path: Path) -> None:
    partial = begun(tmp_path / "some.part", WHOLE[:100] + b"no")
    assert partial.size == 102
    with pytest.raises(Damaged):
        partial.add(WHOLE[102:])
    assert partial.size == 100


def test_one_may_go_back_to_the_last_part(tmp_path: Path) -> None:
    path = tmp_path / "some.part"
    partial = begun(path, WHOLE[:149])
    partial.back()
    assert partial.size == 100 == path.stat().st_size
    partial.add(WHOLE[100:])
    assert partial.complete


def test_a_file_that_goes_on_is_cut(tmp_path: Path) -> None:
    partial = begun(tmp_path / "some.part", WHOLE + b"and more")
    assert partial.complete
    partial.finish(tmp_path / "place")
    assert (tmp_path / "place").read_bytes() == WHOLE


def test_right_parts_of_another_whole_are_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "some.part"
    path.write_bytes(WHOLE)
    partial = Partial(replace(WEIGHTS, sha256="0" * 64), path, Watch())
    with pytest.raises(Damaged, match="not 000000000000"):
        partial.finish(tmp_path / "place")
    partial.close()
    assert list(tmp_path.iterdir()) == []


def test_an_error_while_it_is_read_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Partial) -> None:
        raise OSError("no more")

    monkeypatch.setattr(Partial, "_check", fail)
    with pytest.raises(OSError, match="no more"):
        begun(tmp_path / "some.part", WHOLE)
