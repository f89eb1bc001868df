"""Follow-up of scoring: scoring of further answers, and decisions on every record.

Its output is a file of the run directory; results are not changed. A policy is therefore not part
of a run's identity, and the same run with another policy scores nothing again.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from veridical.core.scores import Result, ResultSummary
from veridical.decide.guarantees import GUARANTEES
from veridical.decide.steps import Asking, Outcome, Step, folder_of
from veridical.engine.progress import Progress
from veridical.files.atomic import replacing
from veridical.files.decisions import DECISIONS, decisions_log
from veridical.files.rundir import RunDirectory

if TYPE_CHECKING:
    from veridical.decide.policy import Policy, Ruling
    from veridical.engine.engine import Engine
    from veridical.engine.results import RunResults
    from veridical.engine.run import Task
    from veridical.engine.service import Service
    from veridical.llm.cost_accounting import Account


@dataclass
class FollowUp:
    """Work to do after scoring.

    Attributes:
        policy: makes the decisions; None leaves decisions null.
        steps: steps, in order.
        stages: name and progress of each stage, added when it begins.
    """

    policy: Policy | None = None
    steps: Sequence[Step] = ()
    stages: list[tuple[str, Progress]] = field(default_factory=list)

    def clear(self, run: Path, *, again: bool = False) -> None:
        """Delete the output of an earlier command on the run in the folder ``run``.

        Args:
            again: also delete the answers scored by its steps, as the records are scored again.
        """
        for name in (DECISIONS, GUARANTEES):
            with contextlib.suppress(FileNotFoundError):
                (run / name).unlink()
        if again:
            for key in ("selected", "repair"):
                for folder in run.glob(f"{key}-*"):
                    shutil.rmtree(folder)

    async def __call__(
        self,
        engine: Engine,
        task: Task,
        results: RunResults,
        services: Mapping[str, Service],
        account: Account | None,
    ) -> None:
        """Run all steps and write the decisions."""
        for step in self.steps:
            await self._score(step, engine, task, results, services, account)
        if self.policy is not None or self.steps:
            self.stages.append(("deciding", Progress()))
            await asyncio.to_thread(self._write, results)

    async def _score(
        self,
        step: Step,
        engine: Engine,
        task: Task,
        results: RunResults,
        services: Mapping[str, Service],
        account: Account | None,
    ) -> None:
        """Score the answers that ``step`` adds, in a separate run directory."""
        progress = Progress()
        self.stages.append((step.doing, progress))
        folder = folder_of(results.path, step)
        identity = {**results.identity, "step": dict(step.identity())}
        directory = await asyncio.to_thread(RunDirectory, folder, identity, {})
        try:
            progress.resumed = directory.resumed
            results.distrusted.extend(directory.distrusted)
            asking = None
            if step.asks and account is not None:
                asking = Asking(engine.submit, engine.llms.service(), account)
            source = step.source(results, folder, asking)
            # the samples of these records are limited to the run's number already
            plain = replace(task, samples=None, limit=None)
            await engine.run(source, plain, directory, progress, services, account)
        finally:
            directory.close()

    def _write(self, results: RunResults) -> None:
        streams = [s.outcomes(results, folder_of(results.path, s)) for s in self.steps]
        log = decisions_log(results.path, results.key)
        with replacing(log.path, private=True, binary=True) as file:
            for row, stratum, line in self._lines(results):
                outcomes = [_of(stream, row) for stream in streams]
                decision = {"row": row, **self._decision(stratum, line, outcomes)}
                file.write(log.sealed(to_json(decision)) + b"\n")
        if self.policy is not None and self.policy.guarantees is not None:
            self.policy.guarantees.save(results.path)

    def _lines(self, results: RunResults) -> Iterator[tuple[int, str | None, bytes]]:
        """Yield row, stratum and result line; the input is read again only if strata are needed."""
        policy = self.policy
        if policy is None or policy.by is None:
            yield from ((row, None, line) for row, line in results.numbered())
            return
        for record, line in results.records():
            if line is not None:
                yield record.row, policy.stratum(record), line

    def _decision(
        self, stratum: str | None, line: bytes, outcomes: Sequence[Outcome | None]
    ) -> dict[str, Any]:
        verdict = self._verdict(line, stratum)
        fields: dict[str, Any] = {"decision": None}
        if verdict is not None:
            fields = {"decision": verdict.decision, "why": verdict.why}
        for step, outcome in zip(self.steps, outcomes, strict=True):
            if outcome is None:
                continue
            fields[step.key] = outcome.entry.model_dump(mode="json")
            follow_up = None if outcome.line is None else self._verdict(outcome.line, stratum)
            if follow_up is not None:
                fields[step.key]["decision"] = follow_up.decision
        return fields

    def _verdict(self, line: bytes, stratum: str | None) -> Ruling | None:
        if self.policy is None:
            return None
        model = Result if self.policy.reads_units else ResultSummary
        return self.policy.decide(model.model_validate_json(line), stratum)


def _of(stream: Iterator[Outcome], row: int) -> Outcome | None:
    """Return the outcome of ``row``; every stream has one for each row of the run, in order."""
    for outcome in stream:
        if outcome.row >= row:
            return outcome if outcome.row == row else None
    return None
