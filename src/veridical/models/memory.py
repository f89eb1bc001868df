"""Memory check before a model is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from veridical.errors import ModelError

#: Bytes needed for each byte of weights while a model is loaded.
_LOADED = 2
#: Further address space of a runtime, and of each thread of forwards. There are as many threads as
#: processors. With less space, allocations fail during the work, and some of these end the process
#: (measured with the embedded models on two processors).
_SPACE, _SPACE_A_THREAD, _THREADS = 256 << 20, 256 << 20, 8
#: The minimum of that which is used.
_TOUCHED = 128 << 20
#: A larger value means no limit (control groups v1 use a huge number).
_UNLIMITED = 1 << 60


def need_memory(name: str, weights: int) -> None:
    """Check that a model with this many bytes of weights fits into memory, by known limits.

    Raises:
        ModelError: it does not fit; the message names the limit.
    """
    space = _SPACE + _SPACE_A_THREAD * min(_THREADS, os.cpu_count() or 1)
    size = _LOADED * weights
    for why, room, more in (
        ("the limit of address space (ulimit -v)", _address_space, space),
        ("the memory limit of this control group", _control_group, _TOUCHED),
        ("the free memory of this computer", _free, _TOUCHED),
    ):
        free = known(room)
        if free is not None and free < size + more:
            raise ModelError(
                f"{name} needs about {(size + more) >> 20} MiB for loading, but {why} "
                f"leaves {max(free, 0) >> 20} MiB"
            )


def known(room: Callable[[], int | None]) -> int | None:
    """Return the result of ``room``, or None if the system does not provide it."""
    try:
        return room()
    except (OSError, ValueError, IndexError, KeyError):
        return None


def _address_space() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return limit - pages * resource.getpagesize()


def _control_group(
    listing: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return the room in the tightest group around this process, ignoring its file cache."""
    rooms = []
    for line in listing.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        base = root / controllers
        limit, used = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes")
            if controllers
            else ("memory.max", "memory.current")
        )
        group = base / path.strip("/")
        for place in (group, *group.parents):
            if place.is_relative_to(base) and (place / limit).is_file():
                most = (place / limit).read_text().strip()
                if most != "max" and int(most) < _UNLIMITED:
                    cache = _table(place / "memory.stat", " ").get("inactive_file", 0)
                    rooms.append(int(most) - int((place / used).read_text()) + cache)
    return min(rooms, default=None)


def _free(table: Path = Path("/proc/meminfo")) -> int | None:
    memory = _table(table, ":")
    return (memory["MemAvailable"] + memory.get("SwapFree", 0)) << 10


def _table(path: Path, mark: str) -> dict[str, int]:
    """Parse a file with a name and a number per line."""
    rows = (line.partition(mark) for line in path.read_text().splitlines())
    return {name: int(number.split()[0]) for name, _, number in rows if number}
