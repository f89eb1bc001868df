"""Plan of ``veridical sample``, by its own code with a counting model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.engine.clients import open_client
from veridical.errors import RowError, UsageError
from veridical.files.temporary import temporary_folder
from veridical.llm.llms import Llms
from veridical.run.counting import CountingChat
from veridical.run.pretending import PretendJournal
from veridical.run.writing import FIGURES, of_ledger, summed, total_of
from veridical.sampling.sample_run import count_rows, rows_to_ask
from veridical.sampling.sampling import Answered, Failed, Sampler, SamplingProgress, answers

if TYPE_CHECKING:
    from veridical.io.source import InputSource
    from veridical.llm.endpoints import Endpoint
    from veridical.llm.ledger import Ledger
    from veridical.run.options import SpeedOptions
    from veridical.sampling.answers_file import KeptAnswers
    from veridical.sampling.sample_run import Leg

#: Figures that are lower if adaptive sampling stops early.
_RANGED = ("calls", "tokens_in", "tokens_out", "cost")


@dataclass(frozen=True, kw_only=True)
class Answering:
    """A planned sampling.

    Attributes:
        legs: runs in sequence, each with one of ``endpoints``.
        kept: answers written so far.
        store: folder of the journal; None if the sampling has its own.
    """

    legs: Sequence[Leg]
    endpoints: Sequence[Endpoint]
    source: InputSource
    kept: KeptAnswers
    store: Path | None
    budget: float | None
    limit: int | None
    retry_failed: bool

    def plan(self, speeds: SpeedOptions) -> dict[str, Any]:
        """Return prompts, calls, tokens and hours of each leg and in total, without any call or
        output.

        Tokens out, cost and hours are upper bounds with all possible samples. ``least`` assumes
        that adaptive sampling draws as few as possible. ``journaled`` answers need no call: they
        are in the journal, or an earlier leg puts them there.

        Returns:
            ``{"legs": [{"name", "llm", "model", "decoding", "prompts", "answered", "bad_rows",
            "bad_row", "calls", "journaled", "tokens_in", "tokens_out", "cost", "complete", "hours",
            "least"}], "prompts", "answered", "bad_rows", ..., "least", "tokens_per_second"}``.
            ``prompts`` are still to be answered, ``answered`` have their answers; ``bad_row`` is
                the
            problem of the first invalid one.

        Raises:
            UsageError: a model is not available, cannot respect a budget, or there is no prompt.
        """
        legs = asyncio.run(self._plan(speeds))
        bad_row = next((leg["bad_row"] for leg in legs if leg["bad_row"]), None)
        if not self.kept.seen.count and not any(leg["prompts"] for leg in legs):
            raise UsageError("no prompt in the input" + (f": {bad_row}" if bad_row else ""))
        names = ("prompts", "answered", "bad_rows", *FIGURES, "hours")
        return {
            "legs": legs,
            **summed(legs, names),
            "bad_row": bad_row,
            "complete": True,
            "least": summed([leg["least"] for leg in legs], _RANGED),
            "tokens_per_second": speeds.tokens_per_second,
        }

    async def _plan(self, speeds: SpeedOptions) -> list[dict[str, Any]]:
        rows = count_rows(self.source, self.limit) if len(self.legs) > 1 else 0
        answered = Counter(row // rows if rows else 0 for row, _ in self.kept.lines(self.kept.path))
        there = Llms(store=self.kept.journal if self.store is None else self.store)
        with temporary_folder("plan") as folder:
            journal = PretendJournal(folder / "llm", there.kept())
            try:
                return [
                    {
                        **await self._leg(number, number * rows, journal, speeds),
                        "answered": answered[number],
                    }
                    for number in range(len(self.legs))
                ]
            finally:
                journal.close()
                await there.close()

    async def _leg(
        self, number: int, offset: int, journal: PretendJournal, speeds: SpeedOptions
    ) -> dict[str, Any]:
        leg, endpoint = self.legs[number], self.endpoints[number]
        llms = Llms(endpoint, budget=self.budget, connect=open_client)
        sampling, least = leg.sampling.with_all_draws()
        progress, bad_row = SamplingProgress(), None
        try:
            drawn = least + (sampling.response == "first")
            chat = CountingChat(endpoint, llms.identity(), journal, drawn)
            sampler = Sampler(chat, sampling, {}, leg.columns, row_offset=offset)
            for rows in rows_to_ask(
                self.kept, self.source, offset, limit=self.limit, retry_failed=self.retry_failed
            ):
                if rows is not None:
                    async with aclosing(answers(rows, sampler)) as outcomes:
                        async for outcome in outcomes:
                            assert not isinstance(outcome, Record)  # no row passes
                            progress.count(outcome)
                            if bad_row is None and not isinstance(outcome, Answered):
                                bad_row = _problem_text(outcome)
        finally:
            await llms.close()
        return {
            "name": leg.columns.get("model", leg.llm),
            "llm": endpoint.name,
            "model": endpoint.model,
            "decoding": None if sampling.decoding is None else str(sampling.decoding),
            "prompts": progress.answered,
            "bad_rows": progress.failed + progress.bad_rows,
            "bad_row": bad_row,
            **_total_of(chat.needed.ledger, chat.further.ledger, speeds.speed_of([endpoint.name])),
        }


def _problem_text(problem: Failed | RowError) -> str:
    return f"row {problem.row}: {problem.error}" if isinstance(problem, Failed) else str(problem)


def _total_of(needed: Ledger, further: Ledger, speed: float | None) -> dict[str, Any]:
    """Return the figures of a leg's calls, with those of the fewest possible calls."""
    most = total_of([of_ledger(needed), of_ledger(further)], speed)
    fewest = of_ledger(needed)
    return {**most, "least": {name: fewest[name] for name in _RANGED}}
