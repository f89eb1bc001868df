"""Shards scored by one process or several, each shard by one at a time.

A shard is taken as its place has it (:mod:`veridical.scale.place`), and whoever is killed loses
it: whoever comes next goes on with it. Nobody hands out work, so workers may be killed and started
at any time.
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
from veridical.scale.place import Held, ShardStore
from veridical.scale.spending import Borrowed, purse_of

_STOPPING = 30.0  # seconds that a worker has to end in
#: What every worker imports. Nothing here starts a thread that a fork would lose.
_IMPORTED = [__name__, "veridical.api", "pyarrow.parquet", "pandas"]

Tell = Callable[[int, int], None]


def check_options(options: Mapping[str, Any]) -> None:
    """See that shards can be scored so, before the options are settled.

    Raises:
        UsageError: a scorer, a model or a value is unknown.
    """
    keywords: Any = {k: v for k, v in options.items() if k != "scorers"}
    Request.of(options.get("scorers"), keywords)


class Worker:
    """A warm engine that scores shards of a place.

    Args:
        options: how they are scored.
        threads: of the models; None where all cores are its own.
    """

    def __init__(
        self, place: ShardStore, manifest: Manifest, options: Mapping[str, Any], threads: int | None
    ) -> None:
        self._place, self._manifest = place, manifest
        self._whole = manifest.open()
        run, of_engine = split(
            {k: v for k, v in options.items() if k != "scorers"}, RunOptions, EngineOptions
        )
        purse = purse_of(place)
        if purse is not None:
            of_engine["budget"] = purse.limit  # an LLM without prices is refused
        if threads is not None:
            of_engine |= {"threads": threads, "processes": 0}
        self._options = {**run, "scorers": options.get("scorers")}
        self._engine = Engine(EngineOptions(**of_engine, store=None))
        self._money = None if purse is None else Borrowed(place)
        if self._money is not None:
            self._engine.llms.budget = self._money

    def work(self, index: int | None = None) -> None:
        """Score what is to be scored: one shard, or all that nobody else has.

        Args:
            index: of the one shard; None for all.

        Raises:
            VeridicalError: a shard cannot be scored.
        """
        place, manifest = self._place, self._manifest
        began, last = time.monotonic(), -1
        while wanted := [s for s in left(place, manifest) if index in (None, s.index)]:
            taken = False
            # from where this worker is: where it has begun, others are too
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
                raise UsageError(f"shard {index} is being scored by another process")
            time.sleep(place.wait)  # others have them; if they are killed, they are ours

    def _score(self, shard: Shard, held: Held) -> None:
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
        """Let the models go."""
        self._engine.close()


def work(
    place: ShardStore,
    manifest: Manifest,
    options: Mapping[str, Any],
    *,
    index: int | None,
    workers: int,
) -> None:
    """Score shards by this process.

    Args:
        index: of the one shard; None for all that nobody else has.
        workers: processes that share the machine's cores.

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
    """Score all shards by ``workers`` processes. Those that are killed are not replaced: the
    others do their shards.

    Args:
        tell: is told the number of shards that are done, and of all, when it changes.
        lease: seconds, as in :func:`~veridical.scale.opening.place_of`.

    Raises:
        VeridicalError: every process has ended, and shards are left.
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
                _let_end(running)  # with the last part written, a worker still settles up
                break
            time.sleep(place.wait)
        if left(place, manifest):
            raise VeridicalError(
                f"every worker has ended and {len(left(place, manifest))} of {total} shards are "
                "left: run the same command again to go on"
            )
    finally:
        for process in running:
            process.terminate()
        _let_end(running)
        for process in running:
            process.kill()
            process.join()


def _started(workers: int, arguments: tuple[str, int, float, dict[str, str]]) -> list[BaseProcess]:
    """Workers, as forks of a process that has imported what they need and done nothing else: so
    many cost the imports of one. Where there is no such fork each is started anew."""
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
    """What each of several workers does.

    Args:
        environment: of who started it, which the process that it is a fork of may not have: it is
            older.
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
