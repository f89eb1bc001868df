"""One server for all tests that ask it by HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Running, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    pytest.importorskip("uvicorn")
    pytest.importorskip("fastapi")
    folder = tmp_path_factory.mktemp("server")
    options = ["serve", "--port", "0", "--data", "data", "--nli", "mini"]
    with running(options, cwd=folder, ready=True) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
