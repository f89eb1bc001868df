"""Shard workers: one process or several.

A shard is claimed in its store (:mod:`veridical.scale.place`). A killed process loses it, and the
next one resumes it. Workers are independent, so they may be killed and started at any time.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from veridical.core.options import split
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, VeridicalError, typed_options
from veridical.run.options import RunOptions
from veridical.run.request import Request
from veridical.scale import manifest as manifests
from veridical.scale.manifest import Manifest, Shard
from veridical.scale.opening import place_of
from veridical.scale.part import left, score_shard
from veridical.scale.place import OwnedShard, ShardStore
from veridical.scale.spending import BorrowedBudget, shared_budget

_STOPPING = 30.0  # seconds that a worker has to end
#: Imports of every worker. None of them starts a thread, which a fork would lose.
_IMPORTED = [__name__, "veridical.api", "pyarrow.parquet", "pandas"]

Tell = Callable[[int, int], None]


def check_options(options: Mapping[str, Any]) -> None:
    """Check that shards can be scored with these options, before they are stored.

    Raises:
        UsageError: a scorer, a model or a value is unknown.
    """
    keywords: Any = {k: v for k, v in options.items() if k != "scorers"}
    Request.of(options.get("scorers"), keywords)


class Worker:
    """Worker with a warm engine that scores shards of a place.

    Args:
        options: of scoring.
        threads: of the models; None for all cores.
    """

    def __init__(
        self, place: ShardStore, manifest: Manifest, options: Mapping[str, Any], threads: int | None
    ) -> None:
        self._place, self._manifest = place, manifest
        self._whole = manifest.open()
        run, of_engine = split(
            {k: v for k, v in options.items() if k != "scorers"}, RunOptions, EngineOptions
        )
        shared = shared_budget(place)
        if shared is not None:
            of_engine["budget"] = shared.limit  # an LLM without prices is refused
        if threads is not None:
            of_engine |= {"threads": threads, "processes": 0}
        self._options = {**run, "scorers": options.get("scorers")}
        self._engine = Engine(EngineOptions(**of_engine, store=None))
        self._money = None if shared is None else BorrowedBudget(place)
        if self._money is not None:
            self._engine.llms.budget = self._money

    def work(self, index: int | None = None) -> None:
        """Score one shard, or all that no other process owns.

        Args:
            index: of the one shard; None for all.

        Raises:
            VeridicalError: a shard cannot be scored.
        """
        place, manifest = self._place, self._manifest
        began, last = time.monotonic(), -1
        while wanted := [s for s in left(place, manifest) if index in (None, s.index)]:
            taken = False
            # continue after the last shard: other workers have begun at the start too
            for shard in sorted(wanted, key=lambda s: s.index <= last):
                with place.taking(shard.name) as held:
                    if held is None:
                        continue
                    taken, began, last = True, time.monotonic(), shard.index
                    if shard in left(place, manifest):
                        self._score(shard, held)
                    break
            if taken:
                continue
            if index is not None and time.monotonic() - began >= place.patience:
                raise UsageError(f"--index {index}: another process is scoring this shard")
            time.sleep(
                place.wait
            )  # the rest belong to others; if those are killed, their shards become free

    def _score(self, shard: Shard, held: OwnedShard) -> None:
        try:
            score_shard(
                self._place,
                self._manifest,
                self._whole,
                shard,
                self._options,
                self._engine,
                held,
            )
        finally:
            if self._money is not None:
                self._money.settle_up()

    def close(self) -> None:
        """Close the models."""
        self._engine.close()


def work(
    place: ShardStore,
    manifest: Manifest,
    options: Mapping[str, Any],
    *,
    index: int | None,
    workers: int,
) -> None:
    """Score shards in this process.

    Args:
        index: of the one shard; None for all that no other process owns.
        workers: number of processes that share the machine's cores.

    Raises:
        VeridicalError: a shard cannot be scored.
    """
    threads = max(1, (os.cpu_count() or 1) // workers) if workers > 1 else None
    worker = Worker(place, manifest, options, threads)
    try:
        worker.work(index)
    finally:
        worker.close()


def work_together(
    place: ShardStore, manifest: Manifest, workers: int, tell: Tell, *, lease: float
) -> None:
    """Score all shards with ``workers`` processes.

    Killed processes are not replaced: the others score their shards.

    Args:
        tell: called with the number of finished shards, and of all, on each change.
        lease: seconds, as in :func:`~veridical.scale.opening.place_of`.

    Raises:
        VeridicalError: all processes have ended, and shards are left.
    """
    running = _started(workers, (place.name, workers, lease, dict(os.environ)))
    total = len(manifest.shards)
    known = -1
    try:
        while True:
            done = total - len(left(place, manifest))
            if done != known:
                known = done
                tell(done, total)
            if not any(process.is_alive() for process in running):
                break
            if done == total:
                _let_end(running)  # after the last part, a worker still settles its spending
                break
            time.sleep(place.wait)
        if left(place, manifest):
            raise VeridicalError(
                f"every worker has ended, but {len(left(place, manifest))} of {total} shards are "
                "not done; run the same command again to resume"
            )
    finally:
        for process in running:
            process.terminate()
        _let_end(running)
        for process in running:
            process.kill()
            process.join()


def _started(workers: int, arguments: tuple[str, int, float, dict[str, str]]) -> list[BaseProcess]:
    """Start workers as forks of a process with the imports done.

    Many workers then cost the imports of one. Without such forks each one starts separately.
    """
    forks = "forkserver" in multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
    context.set_forkserver_preload(_IMPORTED)
    running: list[BaseProcess] = []
    for _ in range(workers):
        running.append(context.Process(target=_one_of, args=arguments))
        running[-1].start()
    return running


def _let_end(running: Sequence[BaseProcess]) -> None:
    end = time.monotonic() + _STOPPING
    for process in running:
        process.join(max(0.0, end - time.monotonic()))


def _one_of(dest: str, workers: int, lease: float, environment: dict[str, str]) -> None:
    """Run one of several workers.

    Args:
        environment: of the starting process; the forked process is older and may lack it.
    """
    os.environ.clear()
    os.environ.update(environment)
    try:
        with typed_options():
            place = place_of(dest, lease)
            options = manifests.settled(place, {})
            work(place, manifests.read(place), options, index=None, workers=workers)
    except VeridicalError as e:
        print(f"error: {e}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
