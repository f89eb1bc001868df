"""Fixtures shared by all tests."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Fences of prompts are made with it; else every test run would leave a file in the user's home.
os.environ.setdefault("VERIDICAL_SECRET", "the secret of the tests")

# Where tests run beside each other, threads of a BLAS that wait for a core take the others' time.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")

# A shell without job control starts background work with Ctrl-C ignored, and nohup with hang-ups,
# which child processes inherit: those that tests interrupt would go on for ever.
for name in ("SIGINT", "SIGTERM", "SIGHUP"):
    number = getattr(signal, name, None)  # Windows has no hang-up
    if number is not None and signal.getsignal(number) == signal.SIG_IGN:
        usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
        signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def _no_usual_store() -> Iterator[None]:
    """Tests share no store; one that is to have one names it, or asks for :func:`usual_store`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veridical.engine.options.default_store", lambda: None)
        yield


@pytest.fixture
def usual_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store that is used where none is named, in a folder of the test's own."""
    from veridical.engine.options import DEFAULT_STORE

    monkeypatch.setattr("veridical.engine.options.default_store", lambda: DEFAULT_STORE)
    monkeypatch.chdir(tmp_path)
    return tmp_path / DEFAULT_STORE


#: Where the benchmark data lies: beside the checkout, or wherever this variable says.
DATA = Path(os.environ.get("VERIDICAL_DATA", Path(__file__).parents[1] / "shared" / "data"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of labelled benchmark data; the test is skipped, loudly, where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"BENCHMARK DATA ABSENT: no folder {DATA} (set VERIDICAL_DATA)")
    return DATA
