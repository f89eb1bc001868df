"""Whether a model fits into memory, told before its library dies of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from veridical.errors import ModelError

#: Bytes that a loaded model takes for each byte of its weights, while it is loaded.
_LOADED = 2
#: Address space that a runtime takes besides, and that each thread of forwards does, of which
#: there are as many as processors (measured with the embedded models on two: with less,
#: allocations fail in the midst of the work, and some of these end the process).
_SPACE, _SPACE_A_THREAD, _THREADS = 256 << 20, 256 << 20, 8
#: What of that is touched at least.
_TOUCHED = 128 << 20
#: More than this is no limit (control groups of the first version say so by a huge number).
_UNLIMITED = 1 << 60


def need_memory(name: str, weights: int) -> None:
    """Check that a model whose weights take so many bytes can be loaded, as far as limits are
    known.

    Raises:
        ModelError: it cannot; it says what is missing.
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
                f"{name} needs about {(size + more) >> 20} MiB to be loaded, and {why} "
                f"leaves {max(free, 0) >> 20} MiB"
            )


def known(room: Callable[[], int | None]) -> int | None:
    """What ``room`` finds, None where the system does not tell."""
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
    """What the tightest group around this process leaves, its file cache not counted."""
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
    """The numbers of a file with a name and a number a line."""
    rows = (line.partition(mark) for line in path.read_text().splitlines())
    return {name: int(number.split()[0]) for name, _, number in rows if number}
