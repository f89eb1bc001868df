"""Sampling of one model after another, with progress."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from veridical.cli import interrupts
from veridical.errors import VeridicalError
from veridical.run.display import TICK, Display

if TYPE_CHECKING:
    from veridical.io.source import InputSource
    from veridical.llm.ledger import Ledger
    from veridical.run.options import SpeedOptions
    from veridical.sampling.answers_file import AnswersFile, KeptAnswers
    from veridical.sampling.sample_run import Leg


class SamplingWork:
    """Sampling runs of several models, one after another."""

    def __init__(
        self,
        legs: Sequence[Leg],
        source: InputSource,
        limit: int | None,
        budget: float | None,
        store: Path | None,
    ) -> None:
        from veridical.llm.decoding import endpoint_for
        from veridical.llm.endpoints import find_endpoint
        from veridical.sampling.sampling import SamplingProgress

        self.legs = legs
        self.source = source
        self.limit = limit
        self.budget = budget
        self.store = store
        self.progress = SamplingProgress()
        self.ledger: Ledger | None = None
        self.leg = 0
        self.endpoints = [
            find_endpoint(leg.llm)
            if leg.sampling.decoding is None
            else endpoint_for(leg.sampling.decoding, find_endpoint(leg.llm))
            for leg in legs
        ]

    def identity(self) -> dict[str, Any]:
        """Return the models and parameters that identify the work."""
        parameters = self.legs[0].sampling.parameters()
        if self.legs[0].columns:
            del parameters["decoding"], parameters["response"]  # each leg has its own
            parameters["limit"] = self.limit  # rows are numbered over all legs
        else:
            parameters["model"] = self.endpoints[0].model
        return {**parameters, "endpoints": [e.identity for e in self.endpoints]}

    def plan(self, kept: KeptAnswers, retry_failed: bool, speeds: SpeedOptions) -> dict[str, Any]:
        """Count what :meth:`run` would ask; see :meth:`veridical.run.answering.Answering.plan`."""
        from veridical.run.answering import Answering

        return Answering(
            legs=self.legs,
            endpoints=self.endpoints,
            source=self.source,
            kept=kept,
            store=self.store,
            budget=self.budget,
            limit=self.limit,
            retry_failed=retry_failed,
        ).plan(speeds)

    def run(
        self, file: AnswersFile, retry_failed: bool, min_coverage: float, console: Console
    ) -> int:
        before = file.counts()
        for text in file.distrusted.lines:
            console.print(text, markup=False)
        try:
            asyncio.run(self._all(file, retry_failed, console))
            stopped = None
        except (KeyboardInterrupt, asyncio.CancelledError):
            stopped = interrupts.INTERRUPTED
        except VeridicalError as e:
            console.print(f"stopped: {e}", markup=False)
            stopped = 1
        answered, lost = file.counts()
        self._tell(file, before, answered, lost, console)
        if stopped is not None:
            interrupts.tell("run the same command again to resume")
            return stopped
        if not answered and not lost:
            console.print("error: no prompt in the input", markup=False)
            return 1
        if answered < min_coverage * (answered + lost):
            console.print(
                f"{answered} of {answered + lost} rows are answered, under "
                f"{100 * min_coverage:g} %; --retry-failed retries the others",
                markup=False,
            )
            return 2 if self.progress.bad_rows < answered + lost else 1
        return 0

    async def _all(self, file: AnswersFile, retry_failed: bool, console: Console) -> None:
        from veridical.sampling.sample_run import count_rows

        rows = 0
        if len(self.legs) > 1:
            rows = await asyncio.to_thread(count_rows, self.source, self.limit)
        self.progress.before = sum(file.counts())
        if retry_failed:
            self.progress.before -= file.failed_rows().count
        self.progress.total = len(self.legs) * rows or await asyncio.to_thread(self._total)
        showing = asyncio.get_running_loop().create_task(self._show(console))
        try:
            pending = [
                leg
                for leg in range(len(self.legs))
                if not file.next_row >= (leg + 1) * rows > 0
                or retry_failed
                or file.gaps
                or file.distrusted.count
            ]
            await asyncio.to_thread(self._check, pending)
            for leg in pending:
                self.leg = leg
                await self._one(file, leg * rows, retry_failed)
        finally:
            showing.cancel()
            await asyncio.gather(showing, return_exceptions=True)

    def _check(self, legs: Sequence[int]) -> None:
        """Check that every model can be opened, before the first is called.

        Raises:
            UsageError, ModelError: as :func:`veridical.engine.clients.check_client`.
        """
        from veridical.engine.clients import check_client

        for endpoint in {e.identity: e for e in (self.endpoints[leg] for leg in legs)}.values():
            check_client(endpoint)

    def _total(self) -> int | None:
        """Count the prompts; None if the rows cannot be counted."""
        rows = self.source.count()
        return rows if rows is None or self.limit is None else min(rows, self.limit)

    async def _one(self, file: AnswersFile, offset: int, retry_failed: bool) -> None:
        from veridical.engine.clients import open_client
        from veridical.llm.llms import Llms
        from veridical.sampling.sample_run import sample_into
        from veridical.sampling.sampling import Sampler

        leg, endpoint = self.legs[self.leg], self.endpoints[self.leg]
        llms = Llms(endpoint, store=self.store, budget=self.budget, connect=open_client)
        if self.store is None:
            file.journal.mkdir(exist_ok=True)
        try:
            account = llms.account(file.run, file.journal, retry=retry_failed)
            self.ledger = account.ledger
            try:
                sampler = Sampler(
                    llms.chat(account),
                    leg.sampling,
                    {"run": file.run, "llm": leg.llm, "model": endpoint.model},
                    leg.columns,
                    row_offset=offset,
                )
                await sample_into(
                    file,
                    self.source,
                    sampler,
                    self.progress,
                    limit=self.limit,
                    retry_failed=retry_failed,
                    window=max(64, 4 * endpoint.max_concurrency),
                )
            finally:
                llms.leave(account)
        finally:
            await llms.close()

    async def _show(self, console: Console) -> None:
        with Display(console) as display:
            while True:
                display.update("asking", self.progress.done, self._details())
                await asyncio.sleep(TICK)

    def _details(self) -> list[str]:
        p, ledger = self.progress, self.ledger
        counted = f"{p.finished:,}" if p.total is None else f"{p.finished:,} of {p.total:,}"
        details = [f"{counted} prompts"]
        if p.failed:
            details.append(f"{p.failed:,} failed")
        if p.bad_rows:
            details.append(f"{p.bad_rows:,} bad rows")
        if ledger is not None:
            details.append(f"{ledger.calls:,} calls")
            details.append("cost unknown" if ledger.cost is None else f"cost {ledger.cost:.4f}")
        return details

    def _tell(
        self,
        file: AnswersFile,
        before: tuple[int, int],
        answered: int,
        lost: int,
        console: Console,
    ) -> None:
        from veridical.cli.finish import drawn_lines, ledger_lines

        resumed = f" ({before[0]} of them before)" if before[0] else ""
        console.print(f"{answered} prompts answered{resumed}: {file.path}", markup=False)
        if lost:
            console.print(f"{lost} rows without an answer: {file.errors}", markup=False)
        ledger = None if self.ledger is None else self.ledger.as_dict()
        for text in (*drawn_lines(self.progress), *ledger_lines(ledger)):
            console.print(text, markup=False)
