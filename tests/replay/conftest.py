"""A folder in which the recorded commands were run again by today's code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from replay_commands import (
    APPLIED,
    CHECKS,
    INPUTS,
    RECORDED,
    SAMPLE,
    TODAY,
    Replayed,
    check,
    run_all,
)


def work_folder(path: Path) -> Path:
    """A folder with the inputs and the recorded files of ``tune``."""
    shutil.copytree(INPUTS, path)
    for file in (RECORDED / "tuned").iterdir():
        shutil.copy(file, path)
    return path


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """All cases with result lines, run once by today's options."""
    folder = work_folder(tmp_path_factory.mktemp("replay") / "work")
    cases = {**CHECKS, **APPLIED, **TODAY}
    commands = [*(check(name, options) for name, options in cases.items()), SAMPLE]
    outcomes = run_all(commands, folder)
    return Replayed(folder, dict(zip([*cases, "sample"], outcomes, strict=True)))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder of the test's own."""
    return work_folder(tmp_path / "work")
