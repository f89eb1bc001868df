"""Cores that are free, by what the kernel says of a machine that is made up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from veridical.llm import free_cores as module
from veridical.llm.free_cores import FreeCores, free_cores


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of five cores; the last is not ours."""
    monkeypatch.setattr(module, "_PROC", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    return tmp_path


def write(proc: Path, used: list[int], ticks: int, own: int = 0) -> None:
    """Each of our cores was busy for so many of ``ticks``, and the process 7 for ``own``."""
    cores = [*used, ticks]
    lines = [f"cpu{i} {5000 + n} 0 0 {ticks - n} 0 0 0 0 0 0\n" for i, n in enumerate(cores)]
    (proc / "stat").write_text(f"cpu  {sum(cores)} 0 0 9 0 0 0 0 0 0\n{''.join(lines)}intr 7 0\n")
    (proc / "7").mkdir(exist_ok=True)
    (proc / "7/stat").write_text(f"7 (a (b) c) S 1 7 7 0 -1 4194304 1 2 3 4 {own} 0 0 0 20 0\n")


@pytest.mark.parametrize(
    ("busy", "free"), [([0, 0, 0, 0], 4), ([100, 55, 0, 0], 2), ([100] * 4, 1), ([30, 0, 0, 0], 4)]
)
def test_those_that_are_busy_now_are_left_alone(
    proc: Path, monkeypatch: pytest.MonkeyPatch, busy: list[int], free: int
) -> None:
    """In a look of 100 ticks."""
    write(proc, [0] * 4, 0)
    monkeypatch.setattr(module.time, "sleep", lambda _: write(proc, busy, 100))
    monkeypatch.setattr(module.time, "process_time", lambda: 0.0)
    assert free_cores() == free


def test_by_the_load_where_the_kernel_tells_no_more(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for load, expected in ((0.0, 8), (2.6, 5), (7.9, 1), (50.0, 1)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0, 0), raising=False)
        assert free_cores() == expected
    assert FreeCores().look(7) is None


def test_what_a_process_uses_itself_is_free_for_it(proc: Path) -> None:
    watch = FreeCores()
    write(proc, [0] * 4, 0, own=50)
    assert watch.look(7) is None  # the first time
    write(proc, [50, 50, 0, 0], 50, own=80)
    assert watch.look(7) is None  # too soon
    write(proc, [1000, 1000, 0, 0], 1000, own=1050)
    assert watch.look(7) == 3  # one core is used by others
    write(proc, [2000, 2000, 1000, 1000], 2000, own=1050)
    assert watch.look(7) == 1
    write(proc, [2000, 2000, 1000, 1000], 3000, own=1050)
    assert watch.look(7) == 4
    assert FreeCores().look(8) is None  # no such process
