"""Ray executor for shards and for Ray data sets (extra ``[ray]``).

Ray distributes only descriptors: ownership and completion of shards are decided by the shard store.
So Ray may lose workers and retry at any time.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from veridical.api import check
from veridical.core.options import split
from veridical.engine.engine import Engine
from veridical.engine.options import EngineOptions
from veridical.errors import UsageError, VeridicalError, typed_options
from veridical.io.columns import no_column
from veridical.io.names import ALIASES
from veridical.report.frames import PREFIX
from veridical.run.options import RunOptions
from veridical.run.request import Request
from veridical.scale import manifest as manifests
from veridical.scale.manifest import Manifest
from veridical.scale.opening import place_of
from veridical.scale.part import left
from veridical.scale.place import ShardStore
from veridical.scale.work import Tell, Worker
from veridical.single import OF_MANY
from veridical.text.display import cut, printable, shown

#: Environment variable of a cluster to join; without it, a temporary local cluster is started.
ADDRESS = "RAY_ADDRESS"
#: Attempts to start a local cluster: a busy computer may exceed Ray's time limit.
_STARTS = 3
#: Columns of results in addition to the risks of scorers; the others quote the rows.
_KEPT = ("verdict", "risk", "error")


def load_ray() -> Any:
    """Import ``ray`` with ``ray.data``.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError as e:
        raise UsageError(f"--executor ray requires Ray: pip install 'ray[data]' ({e})") from None
    return ray


class _Actor:
    """Ray worker with a warm engine."""

    def __init__(self, home: str, dest: str, lease: float, threads: int) -> None:
        with contextlib.suppress(OSError):  # not on this node, and perhaps unnecessary
            os.chdir(home)
        self._given = dest, lease, threads
        self._worker: Worker | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Score the shards of a batch of descriptors; return the error of one."""
        wrong = []
        for index in batch["index"]:
            try:
                with typed_options():
                    self._warm().work(int(index))
                wrong.append("")
            except VeridicalError as e:  # if raised here, Ray would retry it with a long log
                wrong.append(str(e))
        return {"index": batch["index"], "wrong": wrong}

    def _warm(self) -> Worker:
        if self._worker is None:
            dest, lease, threads = self._given
            place = place_of(dest, lease)
            options = manifests.settled(place, {})
            self._worker = Worker(place, manifests.read(place), options, threads)
        return self._worker


class _Scorer:
    """Ray worker for rows of a data set."""

    def __init__(self, scorers: Any, options: dict[str, Any], id_column: str, threads: int) -> None:
        run, of_engine = split(options, RunOptions, EngineOptions)
        made = {"threads": threads, "processes": 0, "store": None} | of_engine
        self._engine = Engine(EngineOptions(**made))
        self._scorers, self._options, self._id = scorers, run, id_column

    def __call__(self, table: Any) -> Any:
        """Return the ids and scores of a table's rows."""
        results = check(table, self._scorers, engine=self._engine, **self._options)
        whole = results.to_arrow(wide=True)
        added = {n.removeprefix(PREFIX): n for n in whole.column_names[table.num_columns :]}
        kept = [*_KEPT, *(scorer.key for scorer in results.scorers)]
        return whole.select([self._id, *(added[name] for name in kept)])


def score(
    dataset: Any,
    scorers: str | Iterable[str] | None = None,
    *,
    workers: int = 1,
    cpus: int = 1,
    batch_size: int = 512,
    **options: Any,
) -> Any:
    """Score the rows of a Ray data set; return their ids and scores, lazily.

    Other columns are dropped, so that the object store does not hold contexts twice: join by the
    id. Rows may arrive in another order, and are scored again when Ray retries. For a large job
    with persistent results, plan shards.

    Args:
        dataset: a ``ray.data.Dataset`` with a column of ids (``id``, or as ``mapping`` states).
        scorers, options: as in :func:`veridical.check`, except those of a run's folder.
        workers: actors, each with its own models.
        cpus: cores of each, which is the number of its models' threads.
        batch_size: rows per batch of an actor.

    Returns:
        A ``ray.data.Dataset`` with the columns of ids, ``verdict``, ``risk``, ``error`` (of an
            invalid row) and the risk of each scorer.

    Raises:
        UsageError: Ray is not installed, the column of ids is missing, or an option is invalid.
    """
    ray = load_ray()
    for name, number in (("workers", workers), ("cpus", cpus), ("batch_size", batch_size)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise UsageError(f"{name} must be a whole number of at least 1, not {shown(number)}")
    foreign = sorted(options.keys() & (OF_MANY - {"mapping"} | {"engine"}))
    if foreign:
        raise UsageError(
            f"{foreign[0]} is not supported for a data set, whose rows come in batches; remove it"
        )
    if not isinstance(dataset, ray.data.Dataset):
        raise UsageError(f"dataset must be a ray.data.Dataset, not {shown(dataset)}")
    Request.of(scorers, cast(Any, options))
    columns = dataset.schema().names
    id_column = dict(options.get("mapping") or {}).get("id") or next(
        (name for name in ("id", *ALIASES["id"]) if name in columns), "id"
    )
    if id_column not in columns:
        raise UsageError(f"dataset requires a column of ids: {no_column(id_column, columns)}")
    plain = None if scorers is None else scorers if isinstance(scorers, str) else list(scorers)
    return dataset.map_batches(
        _Scorer,
        fn_constructor_args=(plain, options, id_column, cpus),
        batch_size=batch_size,
        batch_format="pyarrow",
        num_cpus=cpus,
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
    )


def run(place: ShardStore, manifest: Manifest, workers: int, tell: Tell, *, lease: float) -> None:
    """Score all shards with ``workers`` actors. Ray restarts killed ones.

    The cluster is that of ``RAY_ADDRESS``; without it, a temporary local one is started. Every node
    must see the shard store, the input and the files in the options under the same paths. An object
    store fulfils this.

    Args:
        tell: called with the number of finished shards, and of all, on each change.
        lease: seconds, as in :func:`~veridical.scale.opening.place_of`.

    Raises:
        VeridicalError: a shard cannot be scored, or Ray cannot be started.
    """
    wanted = left(place, manifest)
    if not wanted:
        return
    ray = load_ray()
    workers = min(workers, len(wanted))
    mine = not ray.is_initialized()
    start(ray)
    telling = _ProgressReporter(place, manifest, tell)
    try:
        cpus = _share(ray, workers)
        descriptors = [{"index": s.index, "start": s.start, "stop": s.stop} for s in wanted]
        done = ray.data.from_items(descriptors, override_num_blocks=len(descriptors)).map_batches(
            _Actor,
            fn_constructor_args=(str(Path.cwd()), place.name, lease, max(1, int(cpus))),
            batch_size=1,
            num_cpus=cpus,
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=1),
        )
        telling.start()
        for row in done.iter_rows():
            if row["wrong"]:
                raise VeridicalError(row["wrong"])
    except ray.exceptions.RayError as e:
        said = " ".join(str(e).strip().splitlines()[-1:])
        raise VeridicalError(f"Ray failed: {cut(printable(said), 300)}") from None
    finally:
        telling.stop()
        if mine:
            ray.shutdown()


def start(ray: Any, cores: int | None = None) -> None:
    """Join the cluster, or start a local one; return None within a cluster's process.

    Args:
        cores: of a local cluster; default: those of this computer.

    Raises:
        VeridicalError: there is no cluster, or it cannot be started.
    """
    address = os.environ.get(ADDRESS) or None
    if not ray.is_initialized():
        for left in reversed(range(_STARTS if address is None else 1)):
            try:
                ray.init(
                    address=address or "local",
                    num_cpus=cores,
                    include_dashboard=False if address is None else None,
                    logging_level="ERROR",
                    log_to_driver=False,
                )
                break
            except Exception as e:  # Ray raises it without a more specific class
                ray.shutdown()
                if not left:
                    why = cut(printable(str(e)), 300)
                    raise VeridicalError(f"Ray cannot be started: {why}") from None
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False


def _share(ray: Any, workers: int) -> float:
    """Return the cores of each of ``workers`` actors.

    At most those of a node, and a fraction of a core if there are more actors than cores.
    """
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]
    share = sum(nodes) / workers
    if share >= 1:
        return float(int(min(share, max(nodes))))
    return int(100 * share) / 100  # Ray accepts fractions in steps


class _ProgressReporter(threading.Thread):
    """Thread that reports the number of finished shards while Ray works."""

    def __init__(self, place: ShardStore, manifest: Manifest, tell: Tell) -> None:
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
        """Report the number if it has changed."""
        total = len(self._manifest.shards)
        try:
            done = total - len(left(self._place, self._manifest))
        except VeridicalError:
            return  # the workers report it
        if done != self._known:
            self._known = done
            self._tell(done, total)

    def stop(self) -> None:
        """Report the number a last time."""
        if self.is_alive():
            self._end.set()
            self.join()
            self.look()
