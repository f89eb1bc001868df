"""Locks: one holds them, and those who only look are in nobody's way."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from veridical.errors import UsageError
from veridical.files import rundir
from veridical.files.locks import is_locked, try_lock
from veridical.files.rundir import RunDirectory, check_free

IDENTITY = {"inputs": "a", "scorers": [], "models": {}, "parameters": {}}


def test_a_lock_has_one_holder_until_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = try_lock(path)
    assert held is not None and is_locked(path)
    begun = time.monotonic()
    assert try_lock(path) is None and time.monotonic() - begun < 1
    assert try_lock(path, 0.1) is None and time.monotonic() - begun >= 0.1
    letting_go = threading.Timer(0.1, os.close, [held])
    letting_go.start()
    again = try_lock(path, 20)
    assert again is not None
    os.close(again)
    assert not is_locked(path)


@pytest.mark.skipif(os.name == "nt", reason="it has no shared locks")
def test_those_who_look_do_not_see_each_other(tmp_path: Path) -> None:
    import fcntl

    path = tmp_path / "lock"
    path.touch()
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        assert not is_locked(path)
        assert try_lock(path) is None


def test_a_run_starts_though_a_page_is_looking_whether_it_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunDirectory(tmp_path / "run", IDENTITY, {}).close()
    with monkeypatch.context() as patient:
        patient.setattr(rundir, "_PATIENCE", 20)
        looking = try_lock(tmp_path / "run" / "run.lock")
        assert looking is not None
        threading.Timer(0.1, os.close, [looking]).start()
        RunDirectory(tmp_path / "run", IDENTITY, {}).close()
    run = RunDirectory(tmp_path / "run", IDENTITY, {})
    with pytest.raises(UsageError, match="in use by another process"):
        check_free(tmp_path / "run")
    with pytest.raises(UsageError, match="in use by another process"):
        RunDirectory(tmp_path / "run", IDENTITY, {})
    run.close()
