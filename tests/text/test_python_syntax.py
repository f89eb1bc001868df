"""Tests of the parser of Python source."""

from __future__ import annotations

import ast
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from veridical.core.scorer_calls import read_calls
from veridical.models.nli.int8 import RANGES, content_of, shipped_ranges
from veridical.text import python_syntax
from veridical.text.python_syntax import ATTEMPTS, parse_python

CALLS = ", ".join(f"a{i}(x={i}, y='b')" for i in range(60))


@pytest.fixture
def switching() -> Iterator[None]:
    """Lets other threads run at each collection of garbage, so also in the middle of a parse."""

    def switch(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(switch)
    gc.set_threshold(200, 1, 1)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(switch)


def at_depth(frames: int, counts: list[int], read: Callable[[], int]) -> None:
    if frames:
        return at_depth(frames - 1, counts, read)
    for _ in range(30):
        counts.append(read())


def test_threads_at_different_depths_read_scorers_at_once(switching: None) -> None:
    found: dict[int, list[int]] = {frames: [] for frames in (1, 60, 120)}
    threads = [
        threading.Thread(target=at_depth, args=(*each, lambda: len(read_calls(CALLS))))
        for each in found.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(counts == [60] * 30 for counts in found.values())


def test_stored_ranges_are_read_without_a_parse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pytest parses what it imports without the lock, which loading must not disturb."""
    content = content_of({"a": np.ones(3, np.float32)})
    (tmp_path / RANGES).write_bytes(content)
    monkeypatch.setattr(ast, "parse", None)
    assert (shipped_ranges(tmp_path) or {})["a"].tolist() == [1, 1, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_process_forked_during_a_parse_parses_too() -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with python_syntax._ONE_AT_A_TIME:
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(5)
    child = os.fork()
    if not child:
        parse_python("a")
        os._exit(0)
    until = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < until:
        time.sleep(0.01)
    done.set()
    holder.join()
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)


def test_a_disturbed_parse_is_repeated_and_a_lasting_error_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, calls, failures = ast.parse, 0, 0

    def disturbed(source: str, mode: str = "exec") -> ast.AST:
        nonlocal calls
        calls += 1
        if calls <= failures:
            raise SystemError("AST constructor recursion depth mismatch (before=249, after=33)")
        return real(source, mode=mode)

    monkeypatch.setattr(python_syntax.ast, "parse", disturbed)
    failures = ATTEMPTS - 1
    assert ast.dump(parse_python("a + 1", "eval")) == ast.dump(real("a + 1", mode="eval"))
    calls, failures = 0, ATTEMPTS
    with pytest.raises(SystemError):
        parse_python("a")
