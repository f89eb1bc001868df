"""Temporary folders are gone on every way out, an interrupt at any step of theirs included."""

import gc
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from veridical.files import temporary
from veridical.files.temporary import TemporaryFolder, temporary_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def interrupted_once(work: Callable[..., object]) -> Callable[..., object]:
    """``work``, and then, the first time, an interrupt."""
    calls = 0

    def do(*arguments: object, **settings: object) -> object:
        nonlocal calls
        calls += 1
        done = work(*arguments, **settings)
        if calls == 1:
            raise KeyboardInterrupt
        return done

    return do


def test_it_is_private_and_goes_with_the_block(place: Path) -> None:
    with temporary_folder("input") as folder:
        (folder / "copy").write_text("kept for the block")
        assert folder.name == "input" and folder.parent.parent == place
        for part in (folder, folder.parent):
            assert stat.S_IMODE(part.stat().st_mode) == 0o700
    assert list(place.iterdir()) == []


def test_it_goes_with_its_object(place: Path) -> None:
    folder = TemporaryFolder("run")
    assert folder.path.is_dir()
    del folder
    gc.collect()
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("step", ["the folder", "its lock", "the folder in it"])
def test_an_interrupt_while_it_is_made_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    mkdir = Path.mkdir

    def make_folder(path: Path, mode: int) -> None:
        mkdir(path, mode)
        if (path.parent == place) == (step == "the folder"):
            raise KeyboardInterrupt

    if step == "its lock":
        monkeypatch.setattr(temporary, "try_lock", interrupted_once(temporary.try_lock))
    else:
        monkeypatch.setattr(Path, "mkdir", make_folder)
    with pytest.raises(KeyboardInterrupt):
        TemporaryFolder("run")
    gc.collect()
    assert list(place.iterdir()) == []


def test_an_interrupt_while_it_is_removed_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TemporaryFolder("run")
    remove = shutil.rmtree

    def remove_half(path: Path, ignore_errors: bool = False) -> None:
        monkeypatch.setattr(shutil, "rmtree", remove)
        (path / ".lock").unlink()
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", remove_half)
    with pytest.raises(KeyboardInterrupt):
        folder.close()
    assert list(place.iterdir()) == []
