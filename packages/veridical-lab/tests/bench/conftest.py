"""Fixtures of the harness's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import graded_data
import pytest


@pytest.fixture(scope="module")
def test_scorers() -> Iterator[None]:
    """Scorers with known faults, for the tests of one module."""
    with graded_data.registered():
        yield


@pytest.fixture(scope="module")
def papers(shared_data: Path) -> dict[str, str]:
    """The texts of the five papers, by name."""
    folder = shared_data.parent / "papers"
    if not folder.is_dir():
        pytest.skip("the papers' texts are not beside the data")
    return {p.stem: p.read_text(encoding="utf-8") for p in folder.glob("*.txt")}
