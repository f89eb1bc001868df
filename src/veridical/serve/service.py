"""State of a scoring server: warm engine, keys and limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.resolving import resolve
from veridical.engine.doctor import PAIRS
from veridical.engine.engine import Engine
from veridical.engine.fair import Caller
from veridical.engine.run import Task
from veridical.errors import VeridicalError
from veridical.llm.budget import check_budgeted
from veridical.serve.admission import Admission
from veridical.serve.billing import BilledRun, Billing
from veridical.serve.jobs import Jobs
from veridical.serve.keys import KEY, Key, Keys
from veridical.serve.memory import release_when_idle
from veridical.serve.metrics import Metrics
from veridical.serve.offsets import Offsets, converted
from veridical.serve.problems import Problem, Scope
from veridical.serve.request_options import Offers, ScoringRequest, records_of
from veridical.serve.schemas import Scoring
from veridical.serve.scoring import Done, decided, score
from veridical.serve.timeouts import with_timeout
from veridical.text.display import reason

if TYPE_CHECKING:
    from starlette.requests import Request

    from veridical.report.results import Results

T = TypeVar("T")

#: Seconds between writes of the keys' spending.
_SAVED = 0.5
#: Maximum queued tokens: about as many as two cores process in four seconds.
QUEUE_TOKENS = 32_768
#: Maximum tokens of one request.
REQUEST_TOKENS = 262_144
#: Seconds after which unfinished scores of a request fail.
DEADLINE_SECONDS = 60.0


@dataclass
class ScoringServer:
    """State of one server.

    Args:
        engine: a fair one (``Engine(fair=True)``).
        offers: resources that clients may name.
        keys: None if no key is required.
        data: folder of jobs; None: no jobs.
        queue_tokens, request_tokens: see :class:`~veridical.serve.admission.Admission`.
        deadline: seconds for one check or repair; a request may set less.
    """

    engine: Engine
    offers: Offers = field(default_factory=Offers)
    keys: Keys | None = None
    data: Path | None = None
    queue_tokens: int = QUEUE_TOKENS
    request_tokens: int | None = REQUEST_TOKENS
    deadline: float = DEADLINE_SECONDS

    def __post_init__(self) -> None:
        self.admission = Admission(self.queue_tokens, largest=self.request_tokens)
        self.metrics = Metrics(self.engine, self.admission)
        self.jobs = (
            None
            if self.data is None
            else Jobs(self.data, self.engine, self.offers, self.keys, self.paid)
        )
        self.unready = "the models are being loaded"
        self.draining = False

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run background work from the start of the server to its end."""
        warming = asyncio.create_task(self._warm())
        saving = asyncio.create_task(self._save())
        releasing = asyncio.create_task(release_when_idle(self.metrics.requests))
        if self.jobs is not None:
            await self.jobs.start()
        try:
            yield
        finally:
            self.drain()
            warming.cancel()
            saving.cancel()
            releasing.cancel()
            if self.jobs is not None:
                await self.jobs.stop()
            await asyncio.gather(warming, saving, releasing, return_exceptions=True)
            if self.keys is not None:
                await asyncio.to_thread(self.keys.save)

    def drain(self) -> None:
        """Stop being ready, and finish pending requests."""
        self.draining = True

    async def _save(self) -> None:
        """Store the spending of keys, including calls whose client has disconnected."""
        while self.keys is not None:
            await asyncio.sleep(_SAVED)
            await asyncio.to_thread(self.keys.save)

    async def _warm(self) -> None:
        """Load the models of the default preset, and verify them on known pairs."""
        try:
            await asyncio.to_thread(self.load)
            await self._judge_known()
        except VeridicalError as e:
            self.unready = f"the models are unusable: {reason(e)}"

    def load(self) -> None:
        """Load the models of the default preset.

        Raises:
            UsageError: a model is not available, or keys have a money limit and the LLM has no
                prices.
        """
        llm = self.engine.llms.default
        if self.keys is not None and self.keys.pay and llm is not None:
            check_budgeted(llm)
        scorers = resolve(
            None,
            llm=llm is not None,
            proxy=self.engine.proxy,
            spans=self.engine.spans,
        )
        self.engine.models(Task(scorers))

    async def _judge_known(self) -> None:
        records = records_of([{"response": h, "contexts": [p]} for p, h, _ in PAIRS])
        found: dict[int, str] = {}

        def done(record: Record, line: bytes) -> None:
            from veridical.core.scores import Result

            units = Result.model_validate_json(line).spans
            likely = units[0].probabilities if units else None
            found[record.row] = max(likely, key=likely.__getitem__) if likely else "nothing"

        wanted = ScoringRequest(REGISTRY.parse("nli_grounding"))
        await score(self.engine, records, wanted, done, caller=Caller())
        for row, (_, hypothesis, expected) in enumerate(PAIRS):
            if found.get(row) != expected:
                self.unready = (
                    f"the NLI model judges {hypothesis!r} {found.get(row)}, not {expected}"
                )
                return
        self.unready = ""
        self.metrics.ready = True

    def check_ready(self) -> None:
        """Check that the server is ready.

        Raises:
            Problem: 503 with the reason.
        """
        if self.draining:
            raise Problem(503, "the server is stopping", headers={"retry-after": "5"})
        if self.unready:
            raise Problem(503, self.unready, headers={"retry-after": "1"})

    def key_of(self, scope: Scope) -> Key | None:
        """Return the key of the request; None if no key is required."""
        key: Key | None = scope.get(KEY)
        return key

    def wanted(self, body: Scoring, key: Key | None) -> ScoringRequest:
        """Return how the records of a request are to be scored.

        Raises:
            Problem: it is not possible, or the key does not permit it.
        """
        wanted = self.offers.wanted(
            self.engine,
            body.scorers_text,
            body.preset,
            claims=body.claims,
            policy=body.policy,
            strictness=body.strictness,
        )
        if key is not None:
            key.check_scorers(wanted.scorers, self._llms(wanted))
        return wanted

    def billing(self, key: Key | None, *, asks: bool) -> Billing:
        """Return the payer of LLM calls.

        Args:
            asks: whether calls are possible.

        Raises:
            Problem: 429, the key has no money left for them.
        """
        return Billing(self.keys.budget(key) if asks and self.keys is not None else None)

    async def paid(self, billing: Billing) -> None:
        """Count the charges of a payer."""
        self.metrics.usd.inc(billing.charged())
        if self.keys is not None:
            await asyncio.to_thread(self.keys.save)

    def asks(self, wanted: ScoringRequest) -> bool:
        """Return True if scoring may call an LLM."""
        return bool(self.engine.llms_of(wanted.task))

    def _llms(self, wanted: ScoringRequest) -> list[str]:
        specs = self.engine.llms_of(wanted.task)
        return [self.engine.llms.endpoint(spec).name for spec in specs]

    async def check(
        self,
        records: Sequence[Record],
        wanted: ScoringRequest,
        key: Key | None,
        *,
        deadline_ms: int | None = None,
        offsets: Offsets = "codepoint",
        units: bool = True,
        done: Done | None = None,
    ) -> list[bytes]:
        """Return result lines in the order of the records, which count as queued meanwhile.

        Args:
            done: called on the engine's thread with each result as soon as it is there.

        Raises:
            Problem: the queue is full, the key has no money left, or the models are not ready.
        """
        self.check_ready()
        billing = self.billing(key, asks=self.asks(wanted))
        seconds = self.deadline
        if deadline_ms is not None:
            seconds = min(seconds, deadline_ms / 1000)
        deadline = time.monotonic() + seconds
        lines: dict[int, bytes] = {}

        def finished(record: Record, line: bytes) -> None:
            line = decided(line, wanted.policy, record)
            self.metrics.result(line)
            lines[record.row] = line = converted(line, record, offsets, units=units)
            if done is not None:
                done(record, line)

        with self.admission.room(records):
            try:
                await score(
                    self.engine,
                    records,
                    wanted,
                    finished,
                    caller=Caller(),
                    deadline=deadline,
                    billing=billing,
                )
            finally:
                await self.paid(billing)
        return [lines[row] for row in sorted(lines)]

    async def repair(
        self, records: Sequence[Record], wanted: ScoringRequest, how: str, key: Key | None
    ) -> list[bytes]:
        """Return result lines with the repaired answers.

        Raises:
            Problem: as :meth:`check`; or there is no LLM that rewrites, or the key does not permit
                it.
        """
        self.check_ready()
        rewriting, llm = how == "rewrite", self.engine.llms.default
        if rewriting and llm is None:
            error = "this server has no LLM for rewriting; set how to drop"
            raise Problem(422, f"how: {error}", errors=[{"field": "how", "error": error}])
        if rewriting and llm is not None and key is not None:
            key.check_scorers((), [llm.name])
        billing = self.billing(key, asks=rewriting or self.asks(wanted))
        with self.admission.room(records):
            options: dict[str, Any] = {"engine": self.engine, "repair": how}
            try:
                work = self._run(list(records), wanted, billing, options)
                results = await with_timeout(work, self.deadline)
            except TimeoutError:
                text = f"the repair did not finish within {self.deadline:g} s: send fewer records"
                raise Problem(413, text) from None  # clients do not retry a 413
            finally:
                await self.paid(billing)
        lines = []
        for record, line in zip(records, results.lines(), strict=True):
            lines.append(decided_repair(line, wanted, record))
            self.metrics.result(lines[-1])
        return lines

    async def _run(
        self,
        records: list[Record],
        wanted: ScoringRequest,
        billing: Billing,
        options: dict[str, Any],
    ) -> Results:
        """Return the results of a run that is not stored."""
        run = await asyncio.to_thread(BilledRun, records, wanted.scorers, billing, **options)
        try:
            await asyncio.wrap_future(run.future)
        except BaseException:
            await asyncio.shield(asyncio.to_thread(run.cancel))
            raise
        return await asyncio.to_thread(run.wait)


def decided_repair(line: bytes, wanted: ScoringRequest, record: Record) -> bytes:
    """Add the policy's decision on the original answer to a repaired result."""
    if wanted.policy is None:
        return line
    from veridical.core.scores import Result

    result = Result.model_validate_json(line)
    verdict = wanted.policy.decide(result, wanted.policy.stratum(record))
    changed = result.model_copy(update={"decision": verdict.decision, "why": verdict.why})
    return changed.model_dump_json().encode()


async def until_gone(request: Request, work: Callable[[], Awaitable[T]]) -> T:
    """Await ``work``, and stop it when the client disconnects.

    Raises:
        Problem: it has disconnected, so nothing is sent.
    """
    working = asyncio.ensure_future(work())
    going = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, going}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Problem(400, "the client has disconnected")
        return working.result()
    finally:
        for task in (working, going):
            task.cancel()
        await asyncio.gather(working, going, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
