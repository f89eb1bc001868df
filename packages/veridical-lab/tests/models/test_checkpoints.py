"""Checkpoints behind the coalescer: asked once, kept exactly, and each failure its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veridical
from veridical.core.evidence import Evidence, LocalEvidence
from veridical.core.protocols import Window
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, scorer
from veridical.core.scores import Score
from veridical.engine.batching import IdleSignal
from veridical.engine.engine import Engine
from veridical.engine.service import Service
from veridical.errors import ModelError, UsageError
from veridical.files.store import Store
from veridical_lab.models.requests import (
    Question,
    Reading,
    WindowRead,
    Writing,
    pack_likelihood,
    unpack_likelihood,
)


class Lengths:
    """Answers with the length of what it is asked."""

    name, batch_tokens, workers = "lengths", 16, 1

    def __init__(self, revision: str = "r1") -> None:
        self.revision = revision
        self.ran: list[Any] = []

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        if any(getattr(r, "question", "") == "unreadable" for r in requests):
            raise ModelError("cannot be tokenised")
        return [[Window(8, r)] for r in requests]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        if any("fails" in w.content for w in batch):
            raise ModelError("told to fail")
        self.ran += [w.content for w in batch]
        return [w.content for w in batch]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Any:
        (request,) = outputs
        value = np.nan if "nan" in request else float(sum(map(len, request)))
        return np.array([value, 0.5], np.float32)

    def pretend(self, window: Window) -> Any:
        return window.content


def ask(model: Any, requests: Sequence[Any], store: Store | None = None) -> tuple[Any, Any]:
    async def run() -> Any:
        service = Service(model, IdleSignal(0.05), store)
        try:
            asked = (service.ask([r], []) for r in requests)
            return await asyncio.gather(*asked, return_exceptions=True), service.work
        finally:
            service.close()

    return asyncio.run(run())


def test_equal_requests_are_answered_once_and_others_told_apart() -> None:
    model = Lengths()
    a, b = Question("q", "text"), Question("qt", "ext")  # the same letters, otherwise divided
    found, work = ask(model, [a, b, a, a])
    assert sorted(model.ran) == sorted([a, b]) and work.requests == 2 and work.shared == 2
    assert found[0][0].tolist() == found[2][0].tolist() == [5.0, 0.5]


def test_settings_tell_requests_apart() -> None:
    model = Lengths()
    requests = [
        Writing(("", "a"), 5),
        Writing(("", "a"), 6),
        Writing(("", "a"), 5, beams=2),
        Writing(("", "a"), 5, draw=(0, 0)),
        Writing(("", "a"), 5, draw=(0, 1)),
        Reading(("", "a"), ("b",)),
        Reading(("", "a"), ("b",), longest=9),
        Reading(("", "a"), ("b",), language="en"),
        Reading(("a", ""), ("b",)),
    ]
    _, work = ask(model, [*requests, *requests])
    assert work.requests == len(requests)


def test_a_warm_store_answers_the_same(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    requests = [Question("q", "text"), Question("", "\ud800 東京 \U0001f600")]
    cold, _ = ask(Lengths(), requests, store)
    model = Lengths()
    warm, work = ask(model, requests, store)
    assert model.ran == [] and work.stored == 2
    for (c,), (w,) in zip(cold, warm, strict=True):
        np.testing.assert_array_equal(c, w)
    other = Lengths("r2")
    ask(other, requests, store)
    assert len(other.ran) == 2  # another model has said nothing yet
    store.close()


def test_failures_stay_with_their_askers(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    requests = [Question(q, "text") for q in ("a", "fails", "unreadable", "nan", "b")]
    found, _ = ask(Lengths(), requests, store)
    reasons = [str(f) if isinstance(f, ModelError) else None for f in found]
    assert reasons == [
        None,
        "told to fail",
        "cannot be tokenised",
        "lengths returned a number that is not finite",
        None,
    ]
    assert len(store) == 2  # only successes are kept
    store.close()


def test_likelihoods_are_packed_exactly() -> None:
    windows = [
        WindowRead(0, 120_000, (np.array([-0.5, -np.float32(1e-7)]), np.zeros(0))),
        WindowRead(110_000, 16_000_001, (np.array([-103.25]), np.array([-1.0, -2.0, -3.0]))),
    ]
    found = unpack_likelihood(pack_likelihood(windows))
    for given, kept in zip(windows, found.windows, strict=True):
        assert (given.start, given.end) == (kept.start, kept.end)
        for a, b in zip(given.logprobs, kept.logprobs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7)


class Recorded(LocalEvidence):
    """Keeps what would be asked."""

    def __init__(self, packed: Any) -> None:
        super().__init__(Record(response="r"))
        self.packed = packed
        self.requests: list[tuple[str, str | None, list[Any]]] = []

    async def ask(self, kind: str, requests: Sequence[Any], model: str | None = None) -> list[Any]:
        self.requests.append((kind, model, list(requests)))
        return [self.packed for _ in requests]


async def test_draws_are_numbered_by_source() -> None:
    evidence = Recorded(np.array([1, 1, 97], np.float32))
    assert await evidence.write(["a", "b", "a"], "m", max_tokens=3, seed=7) == [["a"]] * 3
    draws = [r.draw for r in evidence.requests[0][2]]
    assert draws == [(7, 0), (7, 0), (7, 1)]
    await evidence.write(["a", "a"], "m", max_tokens=3, beams=4, returned=2, no_repeat=3)
    assert evidence.requests[1][2] == [Writing(("", "a"), 3, 4, 2, 3)] * 2


async def test_questions_reach_the_kind_of_model_they_are_for() -> None:
    evidence = Recorded(np.array([2, 6, 1.5], np.float32))
    (answer,) = await evidence.answer([("q", "a text here")], "m")
    assert answer is not None and (answer.text, answer.start, answer.end) == ("text", 2, 6)
    await evidence.choose([("q", "c", ["x", "y"])], "m")
    await evidence.answerable([("q", "c")], "m")
    assert (await evidence.rate([("a", "b")], "m")).tolist() == [2.0]
    assert [kind for kind, _, _ in evidence.requests] == [
        "reader",
        "choice",
        "answerability",
        "regressor",
    ]


async def test_a_source_must_hold_a_text() -> None:
    with pytest.raises(ValueError, match="must hold a text"):
        await Recorded(None).likelihood([(("only words",), ["a"])], "m")


async def test_a_scorer_that_declares_nothing_is_told() -> None:
    class Plain(Evidence):
        async def _score(self, bound: Any) -> Score:
            raise AssertionError

    with pytest.raises(UsageError, match="does not cover"):
        await Plain(Record(response="a")).rate([("a", "b")], "m")


# -- through the engine -------------------------------------------------------------------------

ROWS = [
    {"response": "Paris is in France. It is old.", "contexts": ["The Seine runs through Paris."]},
    {"response": "Paris is in France.", "contexts": ["The Seine runs through Paris."]},
    {"response": "", "contexts": ["x"]},
]


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    from seq2seq_checkpoints import save_t5

    return save_t5(tmp_path_factory.mktemp("t5"))


@pytest.mark.torch
def test_a_plan_counts_what_a_run_then_asks(t5: Path, tmp_path: Path) -> None:
    spec = f"unieval(model='{t5}'), bart_score(model='{t5}')"
    store = tmp_path / "store"
    with Engine(processes=0, store=store) as engine:
        planned = veridical.plan(ROWS, spec, engine=engine)
        results = veridical.check(ROWS, spec, engine=engine)
        found = [dict(r.scores) for r in results]
        (work,) = engine.work().values()
    (model,) = planned["models"]
    assert model["roles"] == [f"seq2seq {t5}"]
    # of three sentences two are one and the same question; two responses after one document
    assert model["requests"] == work.requests == 2 + 2
    assert (model["windows"], model["tokens"]) == (work.windows, work.tokens)
    assert planned["seconds"] is not None and planned["seconds"] > 0
    assert [s["applicable"] for s in planned["scorers"]] == [2, 2]
    with Engine(processes=0, store=store) as engine:
        again = [dict(r.scores) for r in veridical.check(ROWS, spec, engine=engine)]
        (work,) = engine.work().values()
        planned = veridical.plan(ROWS, spec, engine=engine)
    assert again == found and work.windows == 0
    assert planned["models"][0]["stored"] == 4 and planned["models"][0]["windows"] == 0


@pytest.mark.torch
def test_a_model_that_cannot_be_had_stops_the_run(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with Engine(processes=0) as engine, pytest.raises(ModelError, match=r"config\.json"):
        veridical.check(ROWS, f"bleurt(model='{tmp_path}')", engine=engine)


@pytest.mark.torch
def test_where_no_paths_may_be_given_only_the_scorers_own_models_are_loaded(
    t5: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def load(spec: str, **_: Any) -> Any:
        asked.append(spec)
        raise ModelError("not here")

    monkeypatch.setattr("veridical_lab.models.load_seq2seq", load)
    with Engine(processes=0, named_only=True) as engine:
        with pytest.raises(UsageError, match="may not name its own model"):
            veridical.check(ROWS, f"bart_score(model='{t5}')", engine=engine)
        assert asked == []
        with pytest.raises(ModelError, match="not here"):
            veridical.check(ROWS, "unieval(task=sum)", engine=engine)
    assert asked == ["MingZhong/unieval-sum"]


@pytest.fixture
def asking() -> Iterator[str]:
    """A scorer that asks for another's score."""
    name = "asks_unieval"
    REGISTRY.names()  # loads them

    @scorer(name, level="response", source="here", cost="embed")
    async def asks(record: Record, evidence: Evidence, *, model: str) -> Score:
        return await evidence.score("unieval", model=model)

    yield name
    del REGISTRY._scorers[name]


@pytest.mark.torch
def test_a_scorer_may_ask_for_anothers_score(t5: Path, asking: str) -> None:
    with Engine(processes=0) as engine:
        results = veridical.check(ROWS[:1], f"{asking}(model='{t5}')", engine=engine)
        (found,) = next(iter(results)).scores.values()
    assert found.status == "scored" and f"seq2seq:{t5.name}@" in found.signature
