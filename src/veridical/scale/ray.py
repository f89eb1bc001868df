"""Shards, and data sets of Ray's own, scored by a Ray cluster. Needs the extra ``[ray]``.

Ray hands out descriptors alone: which shard is done, and whose it is, is decided by the place of
the shards, so that Ray may lose workers, and try again, as it likes. Ray's own reports to its
makers are off, unless the environment says otherwise.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from veridical.errors import UsageError, VeridicalError, typed_options
from veridical.scale import manifest as manifests
from veridical.scale.manifest import Manifest
from veridical.scale.part import left
from veridical.scale.place import Place, place_of
from veridical.scale.work import Tell, Worker
from veridical.text.display import cut, printable

if TYPE_CHECKING:
    from pathlib import Path

#: Names a cluster to join; without it, one is started on this computer while it is needed.
ADDRESS = "RAY_ADDRESS"


def load_ray() -> Any:
    """The module ``ray`` with ``ray.data``.

    Raises:
        UsageError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    try:
        import ray
        import ray.data
    except ImportError as e:
        raise UsageError(f"--executor ray needs Ray: pip install 'veridical[ray]' ({e})") from None
    return ray


class _Actor:
    """A worker of Ray's: a warm engine."""

    def __init__(self, dest: str, lease: float, threads: int) -> None:
        with typed_options():
            place = place_of(dest, lease)
            options = manifests.settled(place, {})
            self._worker = Worker(place, manifests.read(place), options, threads)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Score the shards that a batch of descriptors names."""
        for index in batch["index"]:
            with typed_options():
                self._worker.work(int(index))
        return {"index": batch["index"]}


def run(place: Place, manifest: Manifest, workers: int, tell: Tell, *, lease: float) -> None:
    """Score all shards by ``workers`` actors. Ray starts those anew that are killed.

    The cluster is that of ``RAY_ADDRESS``; without it, one is started on this computer and
    stopped at the end. Every node must see the place of the shards and the input under the names
    they have here.

    Args:
        tell: is told the number of shards that are done, and of all, when it changes.
        lease: seconds, as in :func:`~veridical.scale.place.place_of`.

    Raises:
        VeridicalError: a shard cannot be scored, or Ray cannot be started.
    """
    wanted = left(place, manifest)
    if not wanted:
        return
    ray = load_ray()
    workers = min(workers, len(wanted))
    mine = not ray.is_initialized()
    _start(ray)
    telling = _Telling(place, manifest, tell)
    try:
        cpus = _share(ray, workers)
        descriptors = [{"index": s.index, "start": s.start, "stop": s.stop} for s in wanted]
        done = ray.data.from_items(descriptors, override_num_blocks=len(descriptors)).map_batches(
            _Actor,
            fn_constructor_args=(_seen_by_all(place), lease, max(1, int(cpus))),
            batch_size=1,
            num_cpus=cpus,
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        )
        telling.start()
        for _ in done.iter_batches(batch_size=1):
            pass
    except ray.exceptions.RayError as e:
        raise VeridicalError(_why(e)) from None
    finally:
        telling.stop()
        if mine:
            ray.shutdown()


def _start(ray: Any) -> None:
    """Join the cluster, or start one here."""
    if not ray.is_initialized():
        try:
            ray.init(
                address=os.environ.get(ADDRESS) or "local",
                include_dashboard=False if not os.environ.get(ADDRESS) else None,
                logging_level="ERROR",
                log_to_driver=False,
            )
        except (ConnectionError, RuntimeError, ValueError, OSError) as e:
            raise VeridicalError(f"Ray cannot be started: {cut(printable(str(e)), 300)}") from None
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


def _share(ray: Any, workers: int) -> float:
    """The cores of each of so many actors: no more than a node has, and a part of one where there
    are more actors than cores."""
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    share = sum(nodes) / workers
    if share >= 1:
        return float(int(min(share, max(nodes))))
    return int(100 * share) / 100  # Ray takes parts in steps


def _seen_by_all(place: Place) -> str:
    """The name of the place for processes with other current folders."""
    path: Path | None = getattr(place, "path", None)
    return place.name if path is None else str(path.absolute())


def _why(error: BaseException) -> str:
    """What an actor has said, without its traceback."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, VeridicalError):
            return str(cause)
        cause = getattr(cause, "cause", None) or cause.__cause__
    return f"Ray could not do it: {cut(printable(str(error).strip().splitlines()[-1]), 300)}"


class _Telling(threading.Thread):
    """Tells how many shards are done, while Ray works."""

    def __init__(self, place: Place, manifest: Manifest, tell: Tell) -> None:
        super().__init__(daemon=True, name="veridical-ray-progress")
        self._place, self._manifest, self._tell = place, manifest, tell
        self._known = -1
        self._end = threading.Event()

    def run(self) -> None:
        """See :class:`threading.Thread`."""
        while not self._end.is_set():
            self.look()
            self._end.wait(max(1.0, self._place.wait))

    def look(self) -> None:
        """Tell it, where it has changed."""
        total = len(self._manifest.shards)
        try:
            done = total - len(left(self._place, self._manifest))
        except VeridicalError:
            return  # the workers say so
        if done != self._known:
            self._known = done
            self._tell(done, total)

    def stop(self) -> None:
        """Tell it a last time."""
        if self.is_alive():
            self._end.set()
            self.join()
            self.look()
