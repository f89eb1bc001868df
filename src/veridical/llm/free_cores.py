"""Count of idle CPU cores, for the threads of a local model."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path

_PROC = Path("/proc")
_LOOK = 0.2  # seconds of observation; the kernel counts hundredths


def free_cores() -> int:
    """Return the number of idle cores now, at least one.

    llama.cpp's threads wait for each other by spinning, so one thread too many makes it many times
    slower.
    """
    try:
        cores = os.sched_getaffinity(0)
        before, mine, started = _ticks(cores), time.process_time(), time.perf_counter()
        time.sleep(_LOOK)
        busy, idle = (after - was for after, was in zip(_ticks(cores), before, strict=True))
        own = (time.process_time() - mine) / (time.perf_counter() - started)
        others = len(cores) * busy / max(busy + idle, 1) - own
    except (AttributeError, OSError, ValueError):  # not Linux: the load average of the last minute
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        return max(1, round((os.cpu_count() or 1) - load))
    return _left(len(cores), others)


class FreeCores:
    """Monitor of the cores that other processes leave free."""

    def __init__(self) -> None:
        self._last: tuple[int, int, int] | None = None

    def look(self, pid: int) -> int | None:
        """Return the cores that were free for the process ``pid`` since the last call, at least
        one.

        None on the first call, after less than a second, and if the kernel does not report it.
        """
        try:
            cores = os.sched_getaffinity(0)
            now = (*_ticks(cores), _own_ticks(pid))
        except (AttributeError, OSError, ValueError, IndexError):
            return None
        if self._last is None:
            self._last = now
            return None
        busy, idle, own = (after - was for after, was in zip(now, self._last, strict=True))
        if busy + idle < 100 * len(cores):
            return None
        self._last = now
        return _left(len(cores), len(cores) * (busy - own) / (busy + idle))


def _left(cores: int, others: float) -> int:
    return max(1, round(cores - max(others, 0.0)))


def _ticks(cores: Collection[int]) -> tuple[int, int]:
    """Return the busy and idle ticks of ``cores`` since the machine started."""
    names = {f"cpu{core}" for core in cores}
    lines = (line.split() for line in (_PROC / "stat").read_text("ascii").splitlines())
    rows = [[int(n) for n in line[1:9]] for line in lines if line and line[0] in names]
    idle = sum(row[3] + row[4] for row in rows)  # includes waiting for a disk
    return sum(map(sum, rows)) - idle, idle


def _own_ticks(pid: int) -> int:
    """Return the processor time of a process, summed over its threads."""
    text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    user, system = text.rpartition(")")[2].split()[11:13]
    return int(user) + int(system)
