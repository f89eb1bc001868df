"""What ``veridical sample`` would ask and write, by its own code with a model that counts."""

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

#: Figures that are less where adaptive sampling stops early.
_RANGED = ("calls", "tokens_in", "tokens_out", "cost")


@dataclass(frozen=True, kw_only=True)
class Answering:
    """A sampling that is planned.

    Attributes:
        legs: asked one after another, each of its one of ``endpoints``.
        kept: what it has written so far.
        store: folder of the journal; None: the sampling has its own.
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
        """Prompts, calls, tokens and hours of each leg and of all. Nothing is asked or written.

        Tokens out, cost and hours are at most, and every sample is drawn that there may be;
        ``least`` is of as few as adaptive sampling may draw. ``journaled`` are answers that need
        not be asked for: they are in the journal, or an earlier leg puts them there.

        Returns:
            ``{"legs": [{"name", "llm", "model", "decoding", "prompts", "answered", "bad_rows",
            "bad_row", "calls", "journaled", "tokens_in", "tokens_out", "cost", "complete",
            "hours", "least"}], "prompts", "answered", "bad_rows", ..., "least",
            "tokens_per_second"}``. ``prompts`` are those to be asked, ``answered`` those that have
            their answers; ``bad_row`` says what is wrong with the first that cannot be asked.

        Raises:
            UsageError: a model is not there, a budget cannot be kept with it, or there is no
                prompt.
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
                            assert not isinstance(outcome, Record)  # nothing passes
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
    """The figures of a leg's calls, with those of the fewest that there can be."""
    most = total_of([of_ledger(needed), of_ledger(further)], speed)
    fewest = of_ledger(needed)
    return {**most, "least": {name: fewest[name] for name in _RANGED}}
