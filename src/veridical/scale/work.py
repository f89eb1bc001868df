"""Shards scored by one process or several, each shard by one at a time.

A shard is taken by the lock of a file, which a killed process lets go of: whoever comes next goes
on with it. Nobody hands out work, so workers may be killed and started at any time.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from veridical.core.options import split
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, VeridicalError, typed_options
from veridical.files.locks import try_lock
from veridical.planning.options import RunOptions
from veridical.planning.request import Request
from veridical.scale import manifest as manifests
from veridical.scale.manifest import Manifest, Shard
from veridical.scale.part import is_done, score_shard

LOCKS = "locks"
_WAIT = 0.2  # seconds between two looks at shards that others have
_STOPPING = 30.0  # seconds that a worker has to end in

Tell = Callable[[int, int], None]


def left(dest: Path, manifest: Manifest) -> list[Shard]:
    """The shards that are not done."""
    return [shard for shard in manifest.shards if not is_done(dest, shard)]


def check_options(options: Mapping[str, Any]) -> None:
    """See that shards can be scored so, before the options are settled.

    Raises:
        UsageError: a scorer, a model or a value is unknown.
    """
    keywords: Any = {k: v for k, v in options.items() if k != "scorers"}
    Request.of(options.get("scorers"), keywords)


@contextlib.contextmanager
def engine_for(options: Mapping[str, Any], workers: int) -> Iterator[tuple[Engine, dict[str, Any]]]:
    """A warm engine with a worker's share of the cores, and the options that are a run's."""
    run, of_engine = split(
        {k: v for k, v in options.items() if k != "scorers"}, RunOptions, EngineOptions
    )
    if workers > 1:
        of_engine |= {"threads": max(1, (os.cpu_count() or 1) // workers), "processes": 0}
    engine = Engine(EngineOptions(**of_engine, store=None))
    try:
        yield engine, {**run, "scorers": options.get("scorers")}
    finally:
        engine.close()


def work(
    dest: Path, manifest: Manifest, options: Mapping[str, Any], *, index: int | None, workers: int
) -> None:
    """Score what is to be scored: one shard, or all that nobody else has.

    Args:
        index: of the one shard; None for all.
        workers: processes that share the machine's cores.

    Raises:
        VeridicalError: a shard cannot be scored.
    """
    wanted = manifest.shards if index is None else [manifest.shard(index)]
    whole = manifest.open()
    (dest / LOCKS).mkdir(exist_ok=True)
    with engine_for(options, workers) as (engine, run):
        while wanted := [shard for shard in wanted if not is_done(dest, shard)]:
            taken = False
            for shard in wanted:
                with taking(dest, shard) as mine:
                    if mine and not is_done(dest, shard):
                        taken = True
                        score_shard(dest, manifest, whole, shard, run, engine)
            if not taken:
                if index is not None:
                    raise UsageError(f"shard {index} is being scored by another process")
                time.sleep(_WAIT)  # others have them; if they are killed, they are ours


@contextlib.contextmanager
def taking(dest: Path, shard: Shard) -> Iterator[bool]:
    """Whether the shard is this process's while the block lasts."""
    lock = try_lock(dest / LOCKS / f"{shard.name}.lock")
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def work_together(dest: Path, manifest: Manifest, workers: int, tell: Tell) -> None:
    """Score all shards by ``workers`` processes. Those that are killed are not replaced: the
    others do their shards.

    Args:
        tell: is told the number of shards that are done, and of all, when it changes.

    Raises:
        VeridicalError: every process has ended, and shards are left.
    """
    command = [sys.executable, "-m", "veridical.scale.work", str(dest), str(workers)]
    running = [subprocess.Popen(command, stdin=subprocess.DEVNULL) for _ in range(workers)]
    total = len(manifest.shards)
    known = -1
    try:
        while True:
            done = total - len(left(dest, manifest))
            if done != known:
                known = done
                tell(done, total)
            if done == total or all(process.poll() is not None for process in running):
                break
            time.sleep(_WAIT)
        if left(dest, manifest):
            raise VeridicalError(
                f"every worker has ended and {len(left(dest, manifest))} of {total} shards are "
                "left: run the same command again to go on"
            )
    finally:
        for process in running:
            with contextlib.suppress(OSError):
                process.terminate()
        for process in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOPPING)
            process.kill()
            process.wait()


def main() -> None:
    """One of several workers: ``python -m veridical.scale.work DEST WORKERS``."""
    dest, workers = Path(sys.argv[1]), int(sys.argv[2])
    try:
        with typed_options():
            options = manifests.settled(dest, {})
            work(dest, manifests.read(dest), options, index=None, workers=workers)
    except VeridicalError as e:
        print(f"error: {e}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
