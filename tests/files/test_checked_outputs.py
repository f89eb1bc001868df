"""What may be written where, and how."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.files.atomic import making_folder, write_atomic
from veridical.files.outputs import check_outputs, place_of, writing


def test_an_output_is_compared_by_what_it_is_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("data")
    (tmp_path / "hard").hardlink_to(tmp_path / "in")
    (tmp_path / "soft").symlink_to("in")
    (tmp_path / "sub").mkdir()
    for name in ("in", "hard", "soft", "sub/../in"):
        with pytest.raises(UsageError, match="it is an input"):
            check_outputs(tmp_path / name, reads=[tmp_path / "in"])
    check_outputs(tmp_path / "new", None, "-", reads=[tmp_path / "in", tmp_path / "absent", ""])


def test_folders_that_are_read_take_reports_at_most(tmp_path: Path) -> None:
    check_outputs(tmp_path / "r.html", reads=[tmp_path])
    for kind in ("reads", "folders"):
        with pytest.raises(UsageError, match="in a folder that is read"):
            check_outputs(tmp_path / "r.json", **{kind: [tmp_path]})
    with pytest.raises(UsageError, match="in a folder that is read"):
        check_outputs(tmp_path / "r.html", folders=[tmp_path])


def test_two_outputs_are_two_files_whatever_the_system_makes_of_capitals(tmp_path: Path) -> None:
    check_outputs("/dev/null", "/dev/null")
    with pytest.raises(UsageError, match="two outputs"):
        check_outputs(tmp_path / "a.json", tmp_path / "A.json")


def test_runs_are_told_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "of a web page"}')
    check_outputs(tmp_path / "results.jsonl", tmp_path / "errors.jsonl")
    (tmp_path / "manifest.json").write_text('{"identity": {}}')
    check_outputs(tmp_path / "mine.jsonl", tmp_path / "index.html")
    for name in ("results.jsonl", "RESULTS.JSONL", "results.retry-0001.jsonl", "manifest.json"):
        with pytest.raises(UsageError, match="file of a run"):
            check_outputs(tmp_path / name)
    with pytest.raises(UsageError, match="file of a run"):
        check_outputs(tmp_path / "results.jsonl", runs=[tmp_path])


@pytest.mark.parametrize(
    ("name", "says"),
    [
        (".", "it is a folder"),
        ("loop", "symbolic links"),
        ("a\0b", "null byte"),
        ("x" * 300, "too long"),
        ("file/x", "Not a directory"),
        ("no/x", "must exist"),
        ("leading", "leads out of its folder"),
    ],
)
def test_what_cannot_be_written_is_said(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    (tmp_path / "leading").symlink_to("../elsewhere")
    with pytest.raises(UsageError, match=says):
        place_of(tmp_path / name)
    with pytest.raises(UsageError, match=says), writing(tmp_path / name):
        pass


def test_a_name_of_full_length_can_be_written(tmp_path: Path) -> None:
    for name in ("x" * 255, "é" * 127):
        write_atomic(tmp_path / name, "text")
        assert (tmp_path / name).read_text() == "text"


def test_a_descriptor_is_written_as_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"before\n")
    number = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        with writing(f"/dev/fd/{number}") as file:
            file.write("after\n")
        with writing(f"/dev/fd/{number}", binary=True) as file:
            file.write(b"more\n")
    finally:
        os.close(number)
    assert path.read_bytes() == b"before\nafter\nmore\n"
    with pytest.raises(UsageError, match="nothing is open there"):
        place_of("/dev/fd/987")


def test_a_folder_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), making_folder(tmp_path / "made") as folder:
        (folder / "a").touch()
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with making_folder(tmp_path / "sub" / "made") as folder:
        (folder / "a").touch()
    assert [p.name for p in (tmp_path / "sub").rglob("*")] == ["made", "a"]
