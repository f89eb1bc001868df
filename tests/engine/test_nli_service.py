"""The NLI service: every pair judged once, kept by premise, never a number that is none."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_models import FakeNli

from veridical.core.verdicts import Verdicts
from veridical.engine.batching import IdleSignal
from veridical.engine.nli import NliService
from veridical.errors import ModelError
from veridical.files.store import Store

PREMISES = [f"Town {i} lies by a river in Mali." for i in range(12)]
HYPOTHESES = [f"There is a bridge in town {i}." for i in range(7)]
GRID = [(p, h) for p in PREMISES for h in HYPOTHESES]


def judge(model: Any, *requests: list[tuple[str, str]], store: Store | None = None) -> Any:
    """The verdicts on requests made side by side, and the work they were."""

    async def main() -> Any:
        service = NliService(model, IdleSignal(0.01), store)
        keep: list[list[Any]] = [[] for _ in requests]
        asked = zip(requests, keep, strict=True)
        found = await asyncio.gather(*(service.judge(r, k) for r, k in asked))
        service.close()
        return found, service.work

    return asyncio.run(main())


def rows(found: Verdicts) -> list[list[float]]:
    return found.probabilities.tolist()


def test_verdicts_come_in_the_order_asked_and_rounded() -> None:
    table = {("a", "b"): (0.12345678, 0.8, 0.07654322), ("b", "a"): (0.5, 0.25, 0.25)}
    ((found,), work) = judge(FakeNli(answers=table), [("b", "a"), ("a", "b"), ("b", "a")])
    assert rows(found) == [[0.5, 0.25, 0.25], [0.123457, 0.8, 0.076543], [0.5, 0.25, 0.25]]
    assert work.requests == 2


def test_nothing_asked_is_nothing_answered() -> None:
    ((found,), work) = judge(FakeNli(), [])
    assert found.probabilities.shape == (0, 3) and work.windows == 0


def test_a_text_entails_itself_without_model_work() -> None:
    ((found,), work) = judge(FakeNli(), [("It rains.", "It rains.")])
    assert rows(found) == [[1, 0, 0]]
    assert work.windows == work.requests == 0


def test_askers_share_pairs() -> None:
    model = FakeNli()
    both, work = judge(model, GRID[:50], GRID[30:])
    assert work.requests == work.windows == len(GRID)
    assert rows(both[0])[30:] == rows(both[1])[:20]


def test_premise_and_hypothesis_do_not_trade_places() -> None:
    table = {("a", "b"): (0.9, 0.1, 0.0), ("b", "a"): (0.0, 0.1, 0.9)}
    ((found,), work) = judge(FakeNli(answers=table), [("a", "b"), ("b", "a")])
    assert found.labels() == ["entailment", "contradiction"] and work.requests == 2


def test_a_warm_store_answers_exactly_and_keeps_one_entry_a_premise(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (cold,), _ = judge(FakeNli(), GRID, store=store)
    assert len(store) == len(PREMISES)
    (warm,), work = judge(FakeNli(), GRID[::-1], store=store)
    assert work.stored == len(GRID) and work.windows == 0
    assert rows(warm) == rows(cold)[::-1]
    more = [(p, "Nobody lives there.") for p in PREMISES]
    (_, again), work = judge(FakeNli(), more, GRID, store=store)
    assert work.windows == len(more) and work.stored == len(GRID)
    assert rows(again) == rows(cold)
    assert len(store) == len(PREMISES)  # the new pairs have joined their premises
    store.close()


def test_what_a_killed_run_left_loose_is_found(tmp_path: Path) -> None:
    """Every batch is stored before its request is complete: the last request here never is."""
    model = FakeNli(fail_on=lambda pair: pair.premise == PREMISES[-1])
    store = Store(tmp_path)
    with pytest.raises(ModelError):
        judge(model, GRID, store=store)
    assert len(store) == len(GRID) - len(HYPOTHESES)
    (found,), work = judge(FakeNli(), GRID, store=store)
    assert work.stored == len(GRID) - len(HYPOTHESES) and work.windows == len(HYPOTHESES)
    (fresh,), _ = judge(FakeNli(), GRID)
    assert rows(found) == rows(fresh)
    store.close()


def test_another_models_verdicts_are_not_taken(tmp_path: Path) -> None:
    store = Store(tmp_path)
    judge(FakeNli(), GRID, store=store)
    other = FakeNli()
    other.revision = "another"
    _, work = judge(other, GRID, store=store)
    assert work.stored == 0 and work.windows == len(GRID)
    store.close()


def test_one_pairs_failure_fails_only_its_askers() -> None:
    model = FakeNli(fail_on=lambda pair: pair.hypothesis == "bad")

    async def main() -> list[Any]:
        service = NliService(model, IdleSignal(0.01), None)
        asked = [service.judge([("a", h)], []) for h in ("good", "bad", "fine")]
        found = await asyncio.gather(*asked, return_exceptions=True)
        service.close()
        return found

    good, bad, fine = asyncio.run(main())
    assert isinstance(bad, ModelError)
    assert isinstance(good, Verdicts) and isinstance(fine, Verdicts)


@pytest.mark.parametrize(
    "answer", [[np.nan, 0.5, 0.5], [0.2, 0.2, 0.2], [-0.1, 0.6, 0.5], [0.5, 0.5]]
)
def test_what_is_no_probability_is_a_failure(answer: list[float]) -> None:
    model = FakeNli()
    model.assemble = lambda windows, outputs: np.array(answer, np.float32)  # type: ignore[method-assign]
    with pytest.raises(ModelError, match=r"returned array\(.* instead of probabilities"):
        judge(model, [("a", "b")])
