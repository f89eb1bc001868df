"""Warm engines: one per process and set of options, closed at exit."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions

#: Maximum number of warm engines.
MOST = 4


@dataclass
class _Warm:
    engine: Engine
    users: int = 0


class WarmEngines:
    """Engines by their options and the current folder, which may contain settings.

    It may be shared by threads and event loops. Beyond ``most`` engines, idle ones are closed, the
    least recently used first. A forked process starts with none.

    Args:
        most: maximum number of engines.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._begin()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._mutex = threading.Lock()
        self._engines: dict[tuple[Any, ...], _Warm] = {}  # the most recently used one last

    @contextmanager
    def use(self, options: EngineOptions) -> Iterator[Engine]:
        """Provide the engine with these options, which is not closed while the block runs.

        Raises:
            UsageError: the engine cannot be made.
        """
        key = _key(options)
        with self._mutex:
            warm = self._engines.pop(key, None) or _Warm(Engine(options))
            self._engines[key] = warm
            warm.users += 1
            surplus = self._take_surplus()
        _close(surplus)
        try:
            yield warm.engine
        finally:
            with self._mutex:
                warm.users -= 1
                surplus = self._take_surplus()
            _close(surplus)

    def _take_surplus(self) -> list[Engine]:
        """Remove and return surplus engines."""
        too_many = max(len(self._engines) - self._most, 0)
        idle = [key for key, warm in self._engines.items() if not warm.users][:too_many]
        return [self._engines.pop(key).engine for key in idle]

    def close(self) -> None:
        """Close all of them."""
        with self._mutex:
            engines = [warm.engine for warm in self._engines.values()]
            self._engines.clear()
        _close(engines)

    def __len__(self) -> int:
        return len(self._engines)


def _close(engines: list[Engine]) -> None:
    for engine in engines:
        engine.close()


def _key(options: EngineOptions) -> tuple[Any, ...]:
    values = [getattr(options, spec.name) for spec in fields(options)]
    plain = (str, int, float, os.PathLike, type(None))
    # a client instead of an LLM name equals only itself; its engine keeps it alive
    return Path.cwd(), *(v if isinstance(v, plain) else id(v) for v in values)
