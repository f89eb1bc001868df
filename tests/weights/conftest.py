"""Fixtures of the tests that fetch weights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes packages from, and nowhere else."""
    pytest.importorskip("pip")
    folder = tmp_path / "index"
    folder.mkdir()
    for name, value in (
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", str(folder)),
        ("PIP_CONFIG_FILE", os.devnull),
    ):
        monkeypatch.setenv(name, value)
    return folder
