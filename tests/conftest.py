"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

#: Fences of prompts are made with it; else every test run would leave a file in the user's home.
os.environ.setdefault("VERIDICAL_SECRET", "the secret of the tests")

#: Where the benchmark data lies: beside the checkout, or wherever this variable says.
DATA = Path(os.environ.get("VERIDICAL_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of labelled benchmark data; the test is skipped, loudly, where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"BENCHMARK DATA ABSENT: no folder {DATA} (set VERIDICAL_DATA)")
    return DATA
