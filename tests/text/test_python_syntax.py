"""Tests of the parser of Python source."""

from __future__ import annotations

import ast
import gc
import threading
import time
from collections.abc import Iterator

import pytest

from veridical.core.scorer_calls import read_calls
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


def at_depth(frames: int, texts: list[int]) -> None:
    if frames:
        return at_depth(frames - 1, texts)
    for _ in range(30):
        texts.append(len(read_calls(CALLS)))


def test_threads_at_different_depths_read_scorers_at_once(switching: None) -> None:
    found: dict[int, list[int]] = {frames: [] for frames in (1, 60, 120)}
    threads = [threading.Thread(target=at_depth, args=each) for each in found.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(counts == [60] * 30 for counts in found.values())


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
