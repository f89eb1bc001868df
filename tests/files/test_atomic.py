"""Files replaced whole: exclusive drafts, links never followed, private where asked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from veridical.files import atomic
from veridical.files.atomic import is_draft, replacing, write_atomic


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path):
    path = tmp_path / "a.json"
    write_atomic(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write("new")
        raise RuntimeError
    assert path.read_text() == "old"
    write_atomic(path, b"\xff\x00")
    assert path.read_bytes() == b"\xff\x00"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_lone_surrogate_does_not_lose_the_file(tmp_path: Path):
    write_atomic(tmp_path / "a", "x\udcffy")
    assert (tmp_path / "a").read_text("utf-8") == "x?y"


def test_only_the_owner_reads_a_private_file(tmp_path: Path):
    write_atomic(tmp_path / "private", "x", private=True)
    write_atomic(tmp_path / "public", "x")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o666 & ~umask


def test_a_planted_link_is_replaced_and_its_target_stays(tmp_path: Path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a").symlink_to(tmp_path / "victim")
    write_atomic(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "a").is_symlink() and (tmp_path / "a").read_text() == "new"


def test_a_planted_draft_is_never_written_to(tmp_path: Path, monkeypatch):
    names = iter(["guessed", "guessed", "other"])
    monkeypatch.setattr(atomic.secrets, "token_hex", lambda n: next(names))
    (tmp_path / "victim").write_text("precious")
    (tmp_path / ".a.guessed.tmp").symlink_to(tmp_path / "victim")
    write_atomic(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text() == "precious"
    assert (tmp_path / "a").read_text() == "new"


def test_a_draft_is_known_by_its_name():
    assert is_draft(".a.json.0123.tmp", "a.json")
    assert not is_draft("a.json", "a.json") and not is_draft(".b.json.0123.tmp", "a.json")
