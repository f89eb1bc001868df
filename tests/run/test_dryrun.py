"""The dry run counts what the real run does."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeEncoder

import veridical
from veridical import UsageError
from veridical.engine.engine import Engine
from veridical.run.counting import CountingEncoder

WORDS = ["river", "town", "mayor", "bridge", "market", "school", "temple", "museum", "island"]
COUNTS = ("requests", "stored", "windows", "tokens", "padded", "batches")
EMBED = "cosine, checkembed"
ALL = None  # the preset


def rows(n: int = 60) -> list[dict[str, Any]]:
    """Records that share texts, some long enough for several windows, some with every field."""
    rng = random.Random(13)

    def text(k: int = 8) -> str:
        return " ".join(rng.choices(WORDS, k=k)) + f" {rng.randint(1, 9)}. It was in Mali."

    pool = [text() for _ in range(40)]
    data: list[dict[str, Any]] = []
    for i in range(n):
        row: dict[str, Any] = {"response": rng.choice(pool), "samples": rng.choices(pool, k=i % 4)}
        if i % 20 == 0:
            row["response"] = text(600)
        if i % 3 == 0:
            row |= {"contexts": [text(), rng.choice(pool)], "reference": text()}
        if i % 20 == 7:
            row["response"] = ""
        if i % 20 == 8:
            row["response"] = "北京是中国的首都。"
        data.append(row)
    return data


def counts_of(plan: dict[str, Any]) -> dict[str, int]:
    """Counts of all models together."""
    return {name: sum(model[name] for model in plan["models"]) for name in COUNTS}


def real(data: Any, scorers: str | None, store: Path | None) -> tuple[dict[str, int], Any]:
    with Engine(store=store, processes=0) as engine:
        results = veridical.check(data, scorers, engine=engine)
        works = engine.work()
    return {name: sum(getattr(w, name) for w in works.values()) for name in COUNTS}, results


@pytest.mark.parametrize("scorers", [EMBED, "bert_score, knowledge_bertscore", ALL])
def test_counts_are_those_of_the_run_cold_and_warm(scorers: str | None, tmp_path: Path) -> None:
    data, store = rows(), tmp_path / "store"
    cold = counts_of(veridical.plan(data, scorers, store=store, processes=0))
    assert not store.exists()
    found, _ = real(data, scorers, store)
    assert cold["windows"] == found["windows"] > 0 and cold["tokens"] == found["tokens"]
    if scorers == EMBED:  # with token scorers, timing says which of two askers finds it stored
        assert cold == found and cold["stored"] == 0
    warm = counts_of(veridical.plan(data, scorers, store=store, processes=0))
    again, _ = real(data, scorers, store)
    assert warm == again
    assert warm["windows"] == 0 < warm["stored"]


@pytest.mark.parametrize("keeps", [True, False])
def test_counts_hold_for_more_records_than_are_in_flight(keeps: bool, tmp_path: Path) -> None:
    """Without a store a text that comes up again later is sent again; with one it is not."""
    texts = [f"Town {i} is in Mali." for i in range(50)]
    data = [{"response": texts[i % 50], "samples": [texts[i * 7 % 50]]} for i in range(3000)]
    store = tmp_path / "store" if keeps else None
    plan = counts_of(veridical.plan(data, "cosine", store=store, processes=0))
    found, _ = real(data, "cosine", store)
    assert plan["windows"] == found["windows"] or not keeps
    assert plan["windows"] == 50 if keeps else plan["windows"] > 50


def test_counts_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoder(batch_tokens=64)
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: fake)
    data = [
        {"response": "one two", "samples": ["one two", "three"]},  # 4 + 3 tokens
        {"response": "three", "samples": ["four five six"]},  # 5 tokens; "three" is shared
        {"response": "alone"},  # cosine does not apply
        {"answers": "no record"},
    ]
    plan = veridical.plan(data, "cosine, exact_match")
    assert (plan["records"], plan["row_errors"]) == (3, 1)
    (model,) = plan["models"]
    assert model["requests"] == model["windows"] == 3
    assert model["tokens"] == 4 + 3 + 5 and model["padded"] == 3 * 5 and model["batches"] == 1
    assert model["roles"] == ["embedder"] and model["model"] == f"fake@{fake.revision}"
    assert plan["scorers"] == [
        {"name": "cosine", "cost": "embed", "applicable": 2, "not_applicable": 1},
        {"name": "exact_match", "cost": "free", "applicable": 2, "not_applicable": 1},
    ]
    assert (plan["llm"]["calls"], plan["llm"]["tokens"], plan["llm"]["cost"]) == (0, 0, 0.0)
    assert fake.calls == 1  # the one forward that gave the rate


def test_applicability_is_that_of_the_run(tmp_path: Path) -> None:
    data = rows()
    plan = veridical.plan(data, ALL, processes=0)
    _, results = real(data, ALL, None)
    summary = {s["name"]: s for s in results.summary().as_dict()["scorers"]}
    assert plan["records"] == len(data)
    for s in plan["scorers"]:
        assert s["not_applicable"] == summary[s["name"]]["n_not_applicable"]
        assert s["applicable"] == summary[s["name"]]["n_scored"]


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Engine(store=store, processes=0) as engine:
        first = veridical.plan(rows(), EMBED, engine=engine)
        assert engine.store is not None and len(engine.store) == 0 and engine.store.writable
        assert counts_of(veridical.plan(rows(), EMBED, engine=engine)) == counts_of(first)
        veridical.check(rows(), EMBED, engine=engine)
        assert len(engine.store) == first["models"][0]["requests"]


def test_a_plan_sends_next_to_nothing_through_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeEncoder()
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: fake)
    plan = veridical.plan(rows(), "checkembed")
    assert 3 == fake.calls < plan["models"][0]["batches"]


def test_time_is_unknown_where_a_forward_would_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    class Remote(FakeEncoder):
        local = False

    remote = Remote()
    monkeypatch.setattr("veridical.models.load_encoder", lambda spec, **_: remote)
    plan = veridical.plan(rows(), "cosine")
    assert plan["models"][0]["windows"] > 0
    assert plan["models"][0]["seconds"] is None and plan["seconds"] is None
    assert remote.calls == 0
    nothing = veridical.plan([{"response": "a"}], "cosine")
    assert nothing["models"][0]["seconds"] == 0.0 and nothing["seconds"] >= 0


def test_no_model_no_work() -> None:
    plan = veridical.plan(rows(5), "exact_match, ngram", processes=0)
    assert plan["models"] == [] and plan["seconds"] > 0


def test_limits_and_samples_count() -> None:
    data = [{"response": f"a {i}", "samples": [f"b {i}", f"c {i}"]} for i in range(10)]
    plan = veridical.plan(data, "cosine", limit=4, samples=1)
    assert plan["records"] == 4 and plan["models"][0]["requests"] == 8


def test_a_stream_is_left_alone() -> None:
    with pytest.raises(UsageError, match="not a stream"):
        veridical.plan(iter(rows(3)), "cosine")


def test_seconds_follow_the_timed_rate() -> None:
    counting = CountingEncoder(FakeEncoder())
    assert counting.seconds(0) == 0.0 and counting.seconds(100) is None
    counting._timings = [(10, 99.0), (10, 1.0), (30, 3.0)]  # the first forward warms up
    assert counting.seconds(400) == pytest.approx(40.0)
    assert counting.timed == pytest.approx(103.0)
    counting._timings = [(10, 2.0)]
    assert counting.seconds(400) == pytest.approx(80.0)


def test_forwards_are_timed_side_by_side_as_in_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forward sleeps by its tokens: of four workers, 1 000 take as long as 250 of one."""

    class Slow(FakeEncoder):
        def run(self, batch: Any, tokens: bool = False) -> Any:
            # long beside what a busy computer adds
            time.sleep(0.002 * len(batch) * max(w.length for w in batch))
            return super().run(batch, tokens)

    took = {}
    for workers in (1, 4):
        slow = Slow(workers=workers)
        monkeypatch.setattr("veridical.models.load_encoder", lambda spec, slow=slow, **_: slow)
        (model,) = veridical.plan(rows(), "checkembed", processes=0)["models"]
        took[workers] = model["seconds"] / model["padded"]
    assert 2 < took[1] / took[4] < 5


def test_what_comes_once_is_no_part_of_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(spec: str, **_: Any) -> FakeEncoder:
        time.sleep(0.5)
        return FakeEncoder()

    monkeypatch.setattr("veridical.models.load_encoder", load)
    plan = veridical.plan(rows(5), "cosine", processes=0)
    assert 0 < plan["scoring_seconds"] < plan["seconds"] - 0.5
