"""Execution of free scorers: in process for few records, else in workers."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from veridical.core.evidence import failure
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score, ScoreJson
from veridical.engine.batching import IdleSignal
from veridical.engine.worker import RECORDS, frame, score_all, unpack

_CHUNK = 32  # records per message; bytes are limited too
_CHUNK_CHARS = 1_000_000
_START_POOL = 256  # records after which worker processes pay off


class Lexical:
    """Queue of free scorers; one instance per run.

    Args:
        scorers: scorers that a worker can import: built in or installed.
        processes: number of worker processes; 0 runs everything in this process.
    """

    def __init__(
        self, scorers: Sequence[BoundScorer], idle_signal: IdleSignal, processes: int
    ) -> None:
        self.scorers = list(scorers)
        self._idle_signal = idle_signal
        self._processes = processes
        self._queue: list[tuple[Record, asyncio.Future[list[ScoreJson]]]] = []
        self._chars = 0
        self._oldest = 0.0
        self._seen = 0
        self._idle: asyncio.Queue[asyncio.subprocess.Process | None] = asyncio.Queue()
        self._started: list[asyncio.subprocess.Process] = []
        self._starting: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="veridical-free")
        idle_signal.add(self._flush)

    def ask(self, record: Record) -> asyncio.Future[list[ScoreJson]]:
        """Request the scores of ``record``, in the order of ``scorers``."""
        future: asyncio.Future[list[ScoreJson]] = asyncio.get_running_loop().create_future()
        if not self._queue:
            self._oldest = time.monotonic()
        self._queue.append((record.without_images(), future))
        self._chars += len(record.response) + sum(len(t) for t in record.sample_texts)
        self._seen += 1
        if len(self._queue) >= _CHUNK or self._chars >= _CHUNK_CHARS:
            self._flush(True)
        self._idle_signal.touch()
        return future

    def _flush(self, idle: bool) -> bool:
        late = time.monotonic() - self._oldest >= self._idle_signal.age
        if not self._queue or not (idle or late or len(self._queue) >= _CHUNK):
            return bool(self._queue)
        chunk, self._queue, self._chars = self._queue, [], 0
        task = asyncio.get_running_loop().create_task(self._score(chunk))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return False

    async def _score(self, chunk: list[tuple[Record, asyncio.Future[list[ScoreJson]]]]) -> None:
        records = [record for record, _ in chunk]
        try:
            scores = await self._dispatch(records)
        except asyncio.CancelledError:
            raise
        except Exception as e:
            failed = ScoreJson.of(Score.failed(failure(e)))
            scores = [[failed] * len(self.scorers) for _ in records]
        for (_, future), result in zip(chunk, scores, strict=True):
            if not future.done():
                future.set_result(result)
        self._idle_signal.touch()

    async def _dispatch(self, records: list[Record]) -> list[list[ScoreJson]]:
        if self._processes and self._seen > _START_POOL and self._starting is None:
            self._starting = asyncio.create_task(self._start())
        if self._starting is not None:
            await asyncio.shield(self._starting)
        if not self._started:
            return await self._in_this_process(records)
        worker = await self._idle.get()
        if worker is None:  # a worker has died: its share of the work is done here
            self._idle.put_nowait(None)
            return await self._in_this_process(records)
        try:
            scores = await self._there(worker, records)
        except (OSError, EOFError, asyncio.IncompleteReadError):
            self._idle.put_nowait(None)
            return await self._in_this_process(records)
        self._idle.put_nowait(worker)
        return scores

    async def _in_this_process(self, records: list[Record]) -> list[list[ScoreJson]]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, score_all, records, self.scorers)

    async def _there(
        self, worker: asyncio.subprocess.Process, records: list[Record]
    ) -> list[list[ScoreJson]]:
        assert worker.stdin is not None and worker.stdout is not None
        message = RECORDS.dump_json(records, by_alias=True, exclude_defaults=True)
        worker.stdin.write(frame(message))
        await worker.stdin.drain()
        size = int.from_bytes(await worker.stdout.readexactly(4), "little")
        return unpack(await worker.stdout.readexactly(size))

    async def _start(self) -> None:
        spec = ",".join(s.spec for s in self.scorers)
        pipe = asyncio.subprocess.PIPE
        command = (sys.executable, "-m", "veridical.engine.worker")
        with contextlib.suppress(OSError):  # if no process can be started, all work is done here
            for _ in range(self._processes):
                worker = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=pipe,
                    stdout=pipe,
                    limit=1 << 20,
                    start_new_session=True,  # the parent handles Ctrl-C
                )
                assert worker.stdin is not None
                worker.stdin.write(frame(spec.encode()))
                self._started.append(worker)
                self._idle.put_nowait(worker)

    async def close(self) -> None:
        self._idle_signal.remove(self._flush)
        if self._starting is not None:
            await asyncio.gather(self._starting, return_exceptions=True)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in self._started:
            with contextlib.suppress(ProcessLookupError):
                worker.kill()
        for worker in self._started:
            await worker.wait()
            assert worker.stdin is not None
            with contextlib.suppress(OSError):  # or Python before 3.11.4 prints a broken pipe
                await worker.stdin.wait_closed()
        self._thread.shutdown(wait=False, cancel_futures=True)
