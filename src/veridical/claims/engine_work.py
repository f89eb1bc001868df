"""A function run over records within an engine, without stored results."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from veridical.core.records import Record
from veridical.core.registry import BoundScorer, Cost, Scorer
from veridical.core.scores import Score
from veridical.engine.run import Task
from veridical.files.temporary import temporary_folder
from veridical.io import open_source

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.engine.engine import Engine


def run_work(
    engine: Engine,
    records: Sequence[Record],
    work: Callable[[Record, Evidence], Awaitable[None]],
    costs: set[Cost],
    models: Mapping[str, Sequence[str | None]],
) -> None:
    """Await ``work`` for each record.

    Args:
        costs: costs of ``work``.
        models: models that it uses, by kind; None is the default.
    """

    async def function(record: Record, evidence: Evidence) -> Score:
        await work(record, evidence)
        return Score.of(0.0)

    scorer = Scorer(
        name="veridical.claims",
        function=function,
        level="claim",
        cost="llm",
        source="",
        models=lambda: models,
        costs_by=lambda **_: costs,
    )
    task = Task([BoundScorer(scorer)])
    engine.models(task)
    with temporary_folder("claims") if engine.llms_of(task) else nullcontext() as folder:
        source = open_source(records)
        engine.submit(engine.score(source, task, lambda *_: None, folder=folder)).result()
