"""Free scorers in worker processes: the same numbers, whatever becomes of the processes."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from veridical import Evidence, Record, Score
from veridical.core.evidence import score_locally
from veridical.core.registry import REGISTRY, scorer
from veridical.engine import lexical as module
from veridical.engine.batching import IdleSignal
from veridical.engine.lexical import Lexical

WORDS = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum", "island"]
SCORERS = "exact_match, ngram(n=2), support"
N = 320


def make(i: int) -> Record:
    rng = random.Random(i)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=8)) + f" in {rng.randint(1900, 1910)}. Not so, 😀é."

    samples = [text() for _ in range(i % 4)]
    return Record(row=i, id=f"é{i}", response=text(), samples=samples, meta={"k": i})


RECORDS = [make(i) for i in range(N)]


def expected() -> list[list[str]]:
    scorers = REGISTRY.parse(SCORERS)
    return [[s.model_dump_json().encode() for s in score_locally(r, scorers)] for r in RECORDS]


async def score(lexical: Lexical, records: list[Record]) -> list[list[str]]:
    found = await asyncio.gather(*(lexical.ask(r) for r in records))
    return [[s.text for s in scores] for scores in found]


async def started(lexical: Lexical) -> list[Any]:
    """Score until the worker processes are there."""
    while not lexical._started:
        await score(lexical, RECORDS)
        await asyncio.sleep(0.01)
    if lexical._starting is not None:
        await lexical._starting
    return list(lexical._started)


@pytest.mark.parametrize("processes", [0, 2])
async def test_scores_are_those_of_this_process(processes: int) -> None:
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), processes)
    try:
        assert await score(lexical, RECORDS) == expected()
        if processes:
            assert len(await started(lexical)) == processes
            assert await score(lexical, RECORDS) == expected()
        else:
            assert not lexical._started
    finally:
        await lexical.close()


@pytest.mark.parametrize("victims", [1, 2])
async def test_killed_workers_lose_nothing(victims: int) -> None:
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), 2)
    try:
        workers = await started(lexical)
        scoring = asyncio.ensure_future(score(lexical, RECORDS * 4))
        await asyncio.sleep(0.02)
        assert not scoring.done()
        for worker in workers[:victims]:
            worker.kill()
        assert await asyncio.wait_for(scoring, 60) == expected() * 4
        for worker in workers[:victims]:
            assert await worker.wait() != 0
        assert await asyncio.wait_for(score(lexical, RECORDS), 60) == expected()
    finally:
        await lexical.close()


async def test_killed_before_their_first_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_START_POOL", 0)
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), 2)
    try:
        for worker in await started(lexical):
            worker.kill()
        assert await asyncio.wait_for(score(lexical, RECORDS), 60) == expected()
    finally:
        await lexical.close()


async def test_closing_ends_the_workers_and_the_waiting() -> None:
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), 2)
    workers = await started(lexical)
    waiting = asyncio.ensure_future(score(lexical, RECORDS * 4))
    await asyncio.sleep(0.02)
    await lexical.close()
    assert all(w.returncode is not None for w in workers)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_few_records_start_no_process() -> None:
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), 2)
    try:
        assert await score(lexical, RECORDS[:200]) == expected()[:200]
        assert not lexical._started and lexical._starting is None
    finally:
        await lexical.close()


async def test_no_python_for_workers_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "executable", "/no/such/python")
    lexical = Lexical(REGISTRY.parse(SCORERS), IdleSignal(0.05), 2)
    try:
        assert await asyncio.wait_for(score(lexical, RECORDS), 60) == expected()
        assert await asyncio.wait_for(score(lexical, RECORDS), 60) == expected()
    finally:
        await lexical.close()


def test_scorers_of_the_caller_run_in_its_own_process() -> None:
    """A worker process could not import them."""
    import os

    import veridical

    async def where(record: Record, evidence: Evidence) -> Score:
        """Where."""
        return Score.of(0.5, raw=os.getpid())

    try:
        scorer("test_where", level="response", source="test")(where)
        (bound,) = REGISTRY.parse("test_where")
        assert not bound.portable
        assert all(b.portable for b in REGISTRY.parse(SCORERS))
        found = list(veridical.check(RECORDS, "test_where, exact_match", processes=2))
        assert [r.id for r in found] == [r.id for r in RECORDS]
        assert {r.scores["test_where"].raw for r in found} == {os.getpid()}
        assert {r.scores["test_where"].signature for r in found} == {"test_where|v1"}
    finally:
        REGISTRY._scorers.pop("test_where")


def test_runs_are_the_same_with_and_without_processes() -> None:
    import veridical

    one = list(veridical.check(RECORDS * 2, SCORERS, processes=0).lines())
    two = list(veridical.check(RECORDS * 2, SCORERS, processes=2).lines())
    assert one == two and len(one) == 2 * N
