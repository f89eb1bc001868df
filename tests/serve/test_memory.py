"""Memory is given back while a server works, and when it has nothing to do."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from veridical.serve import memory


def calls(
    monkeypatch: pytest.MonkeyPatch, requests: Callable[[], tuple[int, int]]
) -> dict[str, int]:
    """Return how often memory was given back in some hundred ticks."""
    found = {"trim_memory": 0, "release_memory": 0}
    for name in found:

        def count(name: str = name) -> None:
            found[name] += 1

        monkeypatch.setattr(memory, name, count)
    monkeypatch.setattr(memory, "_TICK_SECONDS", 0.002)
    monkeypatch.setattr(memory, "_TRIM_SECONDS", 0.01)
    monkeypatch.setattr(memory, "_IDLE_SECONDS", 0.01)

    async def main() -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(memory.release_when_idle(requests), 0.5)

    asyncio.run(main())
    return found


def test_a_busy_server_trims_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = calls(monkeypatch, lambda: (1, 1))
    assert found["trim_memory"] > 2 and not found["release_memory"]


def test_an_idle_server_releases_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls(monkeypatch, lambda: (5, 0)) == {"trim_memory": 0, "release_memory": 1}


def test_what_is_given_back_is_given_back() -> None:
    memory.trim_memory()
    memory.release_memory()
