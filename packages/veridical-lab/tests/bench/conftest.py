"""Fixtures of the harness's tests."""

from __future__ import annotations

from collections.abc import Iterator

import graded_data
import pytest


@pytest.fixture(scope="module")
def test_scorers() -> Iterator[None]:
    """Scorers with known faults, for the tests of one module."""
    with graded_data.registered():
        yield
