"""Runs that are killed: the command line in a child that logs what goes through the model.

Run as a script it is the command line with a watched model::

    python killing.py LOG BATCH_TOKENS check FILE --out DIR ...

with BATCH_TOKENS padded tokens a forward (0: the model's own number).
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

#: Batches of a model that may be under way at any moment: two rounds of the queue, each with one
#: batch a thread and one that waits ready.
ROUNDS = 2


def in_flight_bound(workers: int) -> int:
    return ROUNDS * (workers + 1)


@dataclass
class Life:
    """What one process sent through the model: batches of (text hash, window number)."""

    started: list[list[tuple[str, int]]] = field(default_factory=list)
    finished: set[int] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)  # texts whose vector the store has committed


def read_log(path: Path) -> Life:
    """A log whose last line may be half written."""
    life = Life()
    data = path.read_bytes() if path.exists() else b""
    for line in data.split(b"\n")[:-1]:
        kind, *rest = json.loads(line)
        if kind == "kept":
            life.kept.update(rest[0])
        elif kind == "begin":
            assert rest[0] == len(life.started)
            life.started.append([(text, i) for text, i in rest[1]])
        else:
            life.finished.add(rest[0])
    return life


@dataclass
class Repeats:
    """Windows that more than one life sent through the model."""

    forwards: int = 0
    distinct: int = 0
    within_a_life: int = 0
    lost_batches: list[int] = field(default_factory=list)  # per life that was not the last
    repeated: int = 0
    kept_again: int = 0  # texts sent by a life although an earlier one had stored their vectors


def repeats(lives: Sequence[Life]) -> Repeats:
    """Counts; a batch is lost when any window of it had to be sent again by a later life."""
    found = Repeats()
    sent = [Counter(w for batch in life.started for w in batch) for life in lives]
    found.forwards = sum(c.total() for c in sent)
    found.distinct = len(set().union(*sent))
    found.within_a_life = sum(n - 1 for c in sent for n in c.values())
    found.repeated = found.forwards - found.distinct
    for i, life in enumerate(lives[:-1]):
        later: set[tuple[str, int]] = set().union(*sent[i + 1 :])
        found.kept_again += len(life.kept & {text for text, _ in later})
        # A text of several windows is kept once all are there: it is lost with its last one.
        last: dict[str, int] = {}
        for number, batch in enumerate(life.started):
            for text, _ in batch:
                last[text] = number
        lost = {last[text] for batch in life.started for text, w in batch if (text, w) in later}
        found.lost_batches.append(len(lost))
    return found


@dataclass
class Killed:
    """A run that was killed again and again, and then finished."""

    logs: list[Life]
    kills: int
    with_workers: int  # kills while worker processes were alive
    orphans: int  # worker processes still there ``grace`` seconds after a kill
    half_lines: int  # times results.jsonl ended in the middle of a line


def kill_and_resume(
    command: Sequence[str],
    out: Path,
    folder: Path,
    batches: int,
    *,
    kills: int = 10,
    seed: int = 0,
    grace: float = 2.0,
    batch_tokens: int = 0,
) -> Killed:
    """Run ``command`` (arguments of the command line), SIGKILL it ``kills`` times, then let it end.

    A life is killed after a random number of further batches (of the ``batches`` of an unbroken
    run each may have so few that some are left for the last) or, one time in four, at a random
    moment of its start.
    """
    rng = random.Random(seed)
    killed = Killed([], 0, 0, 0, 0)
    while True:
        log = folder / f"life{len(killed.logs)}.log"
        child = start(log, command, folder, batch_tokens)
        try:
            if killed.kills < kills:
                _wait_for_the_moment(child, log, rng, batches // (kills + 2))
            else:
                child.wait(300)
            workers = psutil.Process(child.pid).children(recursive=True) if _lives(child) else []
            if not _lives(child):  # finished, perhaps before its kill
                killed.logs.append(read_log(log))
                assert child.returncode == 0, child.stderr.read() if child.stderr else ""
                return killed
            child.send_signal(signal.SIGKILL)
            child.wait()
        finally:
            child.kill()
            child.communicate()
        killed.kills += 1
        killed.with_workers += bool(workers)
        killed.orphans += orphans(workers, grace)
        killed.half_lines += check_lines(out)
        killed.logs.append(read_log(log))


def start(
    log: Path, command: Sequence[str], folder: Path, batch_tokens: int = 0
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, str(log), str(batch_tokens), *command],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _lives(child: subprocess.Popen[str]) -> bool:
    return child.poll() is None


def _wait_for_the_moment(
    child: subprocess.Popen[str], log: Path, rng: random.Random, most: int
) -> None:
    early = rng.random() < 0.25
    until = time.monotonic() + (rng.uniform(0.2, 2.0) if early else math.inf)
    goal = most if early else rng.randint(1, most)
    while _lives(child) and time.monotonic() < until and len(read_log(log).started) < goal:
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.03))


def orphans(workers: Sequence[psutil.Process], grace: float) -> int:
    """Processes still running ``grace`` seconds after their parent's death."""
    _, alive = psutil.wait_procs(workers, timeout=grace)
    return sum(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in alive)


def check_lines(out: Path) -> int:
    """Every whole line is a result and no row is there twice; 1 if the last line is cut."""
    path = out / "results.jsonl"
    data = path.read_bytes() if path.exists() else b""
    *lines, rest = data.split(b"\n")
    rows = [json.loads(line)["row"] for line in lines]
    assert len(rows) == len(set(rows)), "a row has two results"
    return int(bool(rest))


def differing(one: Path, two: Path, tolerance: float = 1e-5) -> list[str]:
    """Where two ``--json`` files differ; numbers count as equal within ``tolerance``."""
    lines = [p.read_text("utf-8").splitlines() for p in (one, two)]
    if len(lines[0]) != len(lines[1]):
        return [f"{len(lines[0])} lines and {len(lines[1])}"]
    found: list[str] = []
    for i, (a, b) in enumerate(zip(*lines, strict=True)):
        _compare(json.loads(a), json.loads(b), f"line {i}", tolerance, found)
    return found


def _compare(one: Any, two: Any, where: str, tolerance: float, found: list[str]) -> None:
    if isinstance(one, dict) and isinstance(two, dict) and list(one) == list(two):
        for key in one:
            _compare(one[key], two[key], f"{where}.{key}", tolerance, found)
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for i, (a, b) in enumerate(zip(one, two, strict=True)):
            _compare(a, b, f"{where}[{i}]", tolerance, found)
    elif isinstance(one, float) and isinstance(two, (int, float)):
        if abs(one - two) > tolerance:
            found.append(f"{where}: {one} and {two}")
    elif one != two:
        found.append(f"{where}: {one!r} and {two!r}")


def _watched(encoder: Any, log: Path, batch_tokens: int) -> Any:
    """``encoder``, writing down each forward before and after it. One write a line."""
    import threading

    from veridical.files import store
    from veridical.files.store import content_key

    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    lock = threading.Lock()
    names: dict[int, tuple[str, int]] = {}
    kept: list[Any] = []
    count = 0

    def put(*line: Any) -> None:
        os.write(fd, json.dumps(line).encode() + b"\n")

    class Watched(type(encoder)):  # type: ignore[misc]
        def windows(self, texts: Sequence[str]) -> list[list[Any]]:
            found = super().windows(texts)
            with lock:
                for text, windows in zip(texts, found, strict=True):
                    name = content_key("embed", self.revision, text).hex()
                    kept.extend(windows)
                    names.update({id(w): (name, i) for i, w in enumerate(windows)})
            return found

        def run(self, batch: Sequence[Any], tokens: bool) -> list[Any]:
            nonlocal count
            with lock:
                number, count = count, count + 1
                put("begin", number, [names[id(w)] for w in batch])
            outputs = super().run(batch, tokens)
            put("end", number)
            return outputs

    put_many = store.Store.put_many

    def watched_put_many(self: Any, items: Iterable[tuple[bytes, Any]]) -> None:
        items = list(items)
        put_many(self, items)
        put("kept", [key.hex() for key, _ in items])

    store.Store.put_many = watched_put_many  # type: ignore[method-assign]
    encoder.__class__ = Watched
    encoder.batch_tokens = batch_tokens or encoder.batch_tokens
    return encoder


def main() -> None:
    log, batch_tokens = Path(sys.argv.pop(1)), int(sys.argv.pop(1))
    import veridical.models
    from veridical.cli import main as cli

    load = veridical.models.load_encoder
    veridical.models.load_encoder = lambda *a, **k: _watched(load(*a, **k), log, batch_tokens)
    sys.argv[0] = "veridical"
    cli()


if __name__ == "__main__":
    main()
