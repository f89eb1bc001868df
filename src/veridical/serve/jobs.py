"""Jobs: long inputs, scored in the background.

A job is a folder with its input and a run:

    DATA/jobs/ID/job.json      the request, its owner and its outcome
    DATA/jobs/ID/input.jsonl   the records
    DATA/jobs/ID/run/          a run directory, as `veridical check --out` makes it

So a job survives the end of the server: results are kept, and the rest is scored after the next
start. Jobs run one at a time, and interactive calls take precedence at the models.

A job whose LLM calls exceed the daily money limit of its key is stopped. It resumes on the next
day, or after the next start of the server.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import re
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from veridical.api import reopen
from veridical.core.records import Record
from veridical.core.verdict_cuts import Strictness
from veridical.engine.fair import BACKGROUND, CALLER, Caller
from veridical.errors import UsageError, VeridicalError
from veridical.files.atomic import write_atomic
from veridical.serve.billing import BilledRun, Billing
from veridical.serve.keys import Keys, seconds_left_today
from veridical.serve.problems import Problem
from veridical.serve.scoring import decided

if TYPE_CHECKING:
    from veridical.engine.engine import Engine
    from veridical.llm.budget import Budget
    from veridical.serve.request_options import Offers, ScoringRequest

_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_log = logging.getLogger("veridical.serve")

Status = Literal["queued", "running", "stopped", "done", "failed"]

#: Seconds between checks that a job has money left.
_TICK = 0.25


class StoredJob(BaseModel):
    """Stored description of a job."""

    model_config = ConfigDict(extra="ignore")

    id: str
    owner: str | None = None
    created: float = 0.0
    scorers: str | None = None
    preset: str = "auto"
    claims: bool = False
    strictness: Strictness | None = None
    policy: dict[str, Any] | None = None
    status: Status = "queued"
    error: str | None = None


class Jobs:
    """Jobs in a folder.

    Args:
        keys: whose money pays for LLM calls; None if no key is required.
        paid: called with the payment of a job, to count its charges.
        most: maximum number of jobs; a further one is refused until one is deleted.
    """

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        offers: Offers,
        keys: Keys | None,
        paid: Callable[[Billing], Awaitable[None]],
        most: int = 1000,
    ) -> None:
        self._folder = folder / "jobs"
        self._engine = engine
        self._offers = offers
        self._keys = keys
        self._paid = paid
        self._most = most
        self._jobs: dict[str, StoredJob] = {}
        self._waiting: asyncio.Queue[str] = asyncio.Queue()
        self._running: tuple[str, BilledRun] | None = None
        self._worker: asyncio.Task[None] | None = None
        self._tomorrow: dict[str, asyncio.TimerHandle] = {}

    async def start(self) -> None:
        """Load the jobs that an earlier server left."""
        self._folder.mkdir(parents=True, exist_ok=True)
        found = []
        for file in self._folder.glob("*/job.json"):
            try:
                found.append(StoredJob.model_validate_json(file.read_bytes()))
            except (OSError, ValueError):
                _log.warning("%s is not a job", file.parent.name)
        for job in sorted(found, key=lambda j: j.created):
            self._jobs[job.id] = job
            if job.status in ("queued", "running", "stopped"):
                self._waiting.put_nowait(job.id)
        self._worker = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """Stop the running job; it resumes after the next start."""
        for timer in self._tomorrow.values():
            timer.cancel()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.gather(self._worker, return_exceptions=True)

    def add(self, asked: StoredJob, lines: bytes) -> StoredJob:
        """Store a job; :meth:`enqueue` starts it.

        Raises:
            Problem: there are too many.
        """
        if len(self._jobs) >= self._most:
            raise Problem(429, "too many jobs; delete some", headers={"retry-after": "60"})
        folder = self._folder / asked.id
        folder.mkdir(mode=0o700)
        write_atomic(folder / "input.jsonl", lines, private=True)
        self._jobs[asked.id] = asked
        self._save(asked)
        return asked

    def enqueue(self, asked: StoredJob) -> None:
        """Queue a stored job."""
        self._waiting.put_nowait(asked.id)

    def get(self, id: str, owner: str | None) -> StoredJob:
        """Return a job.

        Raises:
            Problem: 404; also for a job of another owner.
        """
        job = self._jobs.get(id) if _ID.fullmatch(id) else None
        if job is None or job.owner != owner:
            raise Problem(404, "unknown job")
        return job

    def owned(self, owner: str | None) -> list[StoredJob]:
        """Return the jobs of ``owner``, the oldest first."""
        return [job for job in self._jobs.values() if job.owner == owner]

    def state(self, job: StoredJob) -> dict[str, Any]:
        """Return the state of a job as clients see it."""
        state: dict[str, Any] = {
            "id": job.id,
            "status": job.status,
            "created": job.created,
            "records": None,
            "errors": None,
            "total": None,
            "error": job.error,
        }
        if self._running is not None and self._running[0] == job.id:
            progress = self._running[1].progress
            state["records"] = progress.records + progress.resumed
            state["errors"], state["total"] = progress.row_errors, progress.total
        elif job.status == "done":
            summary = json.loads((self._folder / job.id / "summary.json").read_text("utf-8"))
            state |= summary
        return state

    def results(self, job: StoredJob) -> Iterator[bytes]:
        """Yield result lines, with newlines.

        Raises:
            Problem: 409, the job is not complete.
        """
        if job.status != "done":
            raise Problem(409, f"the job is {job.status}; results exist only when it is done")
        results = reopen(self._folder / job.id / "run")
        policy = self._wanted(job).policy

        def lines() -> Iterator[bytes]:
            if policy is not None and policy.by is not None:
                for record, line in results.records():
                    if line is not None:
                        yield decided(line, policy, record) + b"\n"
                return
            for line in results.lines():
                yield decided(line, policy) + b"\n"

        return lines()

    async def delete(self, job: StoredJob) -> None:
        """Stop and delete a job."""
        self._jobs.pop(job.id, None)
        timer = self._tomorrow.pop(job.id, None)
        if timer is not None:
            timer.cancel()
        if self._running is not None and self._running[0] == job.id:
            run = self._running[1]
            await asyncio.to_thread(run.cancel)
        await asyncio.to_thread(shutil.rmtree, self._folder / job.id, True)

    async def _work(self) -> None:
        while True:
            job = self._jobs.get(await self._waiting.get())
            if job is None:
                continue
            try:
                await self._do(job)
            except asyncio.CancelledError:
                raise
            except VeridicalError as e:
                self._settle(job, "failed", str(e))
            except Exception:
                _log.exception("job %s failed", job.id)
                self._settle(job, "failed", "the server failed; its log says why")

    async def _do(self, job: StoredJob) -> None:
        wanted = self._wanted(job)
        try:
            billing = Billing(self._budget(job, asks=bool(self._engine.llms_of(wanted.task))))
        except Problem as problem:  # nothing is left of today's money
            self._stop(job, problem.detail)
            return
        self._settle(job, "running")
        folder = self._folder / job.id
        context = contextvars.copy_context()
        context.run(CALLER.set, Caller(BACKGROUND))
        begun = (folder / "run").exists()
        try:
            run = await asyncio.to_thread(
                context.run,
                lambda: BilledRun(
                    folder / "input.jsonl",
                    wanted.scorers,
                    billing,
                    out=folder / "run",
                    engine=self._engine,
                    # calls that did not fit the budget; replies that came are not paid again
                    retry_failed=begun,
                ),
            )
        except UsageError:
            if not begun:
                raise
            _log.exception("job %s cannot go on", job.id)  # names folders and options
            raise VeridicalError(
                "it cannot resume: the server has other models than at its start, or its files "
                "were changed; start it again"
            ) from None
        self._running = job.id, run
        try:
            ended = await self._watch(run, billing)
        except BaseException:
            await asyncio.to_thread(run.cancel)
            raise
        finally:
            self._running = None
            await self._paid(billing)
        if not ended:  # it was deleted
            return
        if billing.empty:
            await asyncio.to_thread(run.cancel)
            if billing.budget is None:
                self._settle(job, "stopped", "the server's budget has too little left for a call")
            else:
                self._stop(job, "the key's daily money limit is too low for another call today")
            return
        results = await asyncio.to_thread(run.wait)
        summary = results.summary()
        state = {"records": summary.records, "errors": summary.row_errors}
        state["total"] = summary.records + summary.row_errors
        write_atomic(folder / "summary.json", json.dumps(state) + "\n", private=True)
        self._settle(job, "done")

    async def _watch(self, run: BilledRun, billing: Billing) -> bool:
        """Wait until a run is over or out of money; return False if it was cancelled."""
        working = asyncio.wrap_future(run.future)
        while not working.done() and not billing.empty:
            await asyncio.wait({working}, timeout=_TICK)
            await self._paid(billing)
        if working.done() and not working.cancelled():
            working.exception()  # the run itself reports it
        return not working.cancelled()

    def _budget(self, job: StoredJob, *, asks: bool) -> Budget | None:
        """Return the budget for the LLM calls of a job, or None.

        Raises:
            Problem: its key has no money left today.
            UsageError: its key no longer exists.
        """
        if self._keys is None or job.owner is None or not asks:
            return None
        key = self._keys.named(job.owner)
        if key is None:
            raise UsageError("the key of this job no longer exists")
        return self._keys.budget(key)

    def _stop(self, job: StoredJob, why: str) -> None:
        """Pause a job until the next day."""
        self._settle(job, "stopped", f"{why}: the job resumes after midnight UTC")
        if job.id in self._jobs:
            self._tomorrow[job.id] = asyncio.get_running_loop().call_later(
                seconds_left_today() + 1, self._waiting.put_nowait, job.id
            )

    def _wanted(self, job: StoredJob) -> ScoringRequest:
        return self._offers.wanted(
            self._engine,
            job.scorers,
            job.preset,
            claims=job.claims,
            policy=job.policy,
            strictness=job.strictness,
        )

    def _settle(self, job: StoredJob, status: Status, error: str | None = None) -> None:
        job.status, job.error = status, error
        if job.id in self._jobs:
            self._save(job)

    def _save(self, job: StoredJob) -> None:
        text = job.model_dump_json() + "\n"
        write_atomic(self._folder / job.id / "job.json", text, private=True)


def new_id() -> str:
    """Return a name that cannot be guessed."""
    return secrets.token_urlsafe(16)


def records_as_lines(records: list[Record] | list[dict[str, Any]]) -> bytes:
    """Return rows as JSON lines."""
    return b"".join(json.dumps(r).encode("ascii") + b"\n" for r in records)


def now() -> float:
    """Return seconds since 1970."""
    return round(time.time(), 3)
