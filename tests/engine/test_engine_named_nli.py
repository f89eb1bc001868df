"""NLI models that scorers name themselves: loaded, shared, planned, signed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeNli

import veridical
from veridical import Engine, Record, Score, UsageError
from veridical.core.evidence import Evidence
from veridical.core.registry import REGISTRY, scorer
from veridical.errors import ModelError
from veridical.llm.fake import FakeLlm

ROWS: list[dict[str, Any]] = [
    {
        "response": "It is in Mali. The town is old.",
        "contexts": ["It is in Mali by the river.", "Nobody knows how old the town is."],
        "samples": ["It is in Chad."],
    },
    {"response": "It is in Chad.", "contexts": ["It is in Mali."], "samples": ["It is in Chad."]},
]
YES = ("It is in Mali.", "It is in Chad.")


class Shelf:
    """NLI models by name, and the names that were asked for."""

    def __init__(self) -> None:
        self.models: dict[str, FakeNli] = {}
        self.loaded: list[str] = []

    def load_nli(self, spec: str, **_: Any) -> FakeNli:
        self.loaded.append(spec)
        if spec == "absent":
            raise ModelError("absent is not here: veridical models convert absent")
        if spec not in self.models:
            share = 0.9 - 0.1 * len(self.models)
            model = FakeNli({YES: (share, 1 - share, 0.0)}, max_length=32)
            model.name = spec.partition("?")[0]
            self.models[spec] = model
        return self.models[spec]


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    made = Shelf()
    monkeypatch.setattr("veridical.models.load_nli", made.load_nli)
    return made


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    REGISTRY.names()
    monkeypatch.setattr(REGISTRY, "_scorers", dict(REGISTRY._scorers))

    @scorer("late", level="response", cost="nli", source="test")
    async def late(record: Record, evidence: Evidence, *, other: str = "late-model") -> Score:
        """Names its model while it works."""
        verdicts = await evidence.nli([(record.contexts[0].text, record.response)], other)
        return Score.of(1 - float(verdicts.entailment[0]))

    yield


def lines(results: veridical.Results) -> list[dict[str, Any]]:
    return [json.loads(line) for line in results.lines()]


def test_only_the_models_that_are_named_are_loaded(shelf: Shelf) -> None:
    with Engine(processes=0) as engine:
        found = lines(veridical.check(ROWS, "hhem(nli=one), critic(nli=two)", engine=engine))
        assert sorted(shelf.loaded) == ["one", "two"]
        assert len(engine.work()) == 2
    scores = found[1]["scores"]
    one, two = shelf.models["one"], shelf.models["two"]
    values = [scores[n]["raw"] for n in ("hhem(nli=one)", "critic(nli=two)")]
    assert values == pytest.approx([one._answers[YES][0], 1 - two._answers[YES][0]])
    signature = scores["hhem(nli=one)"]["signature"]
    assert signature == f"hhem|v1|nli:one@{one.revision}|against:contexts|nli:one|piece:response"
    assert f"|nli:two@{two.revision}|" in scores["critic(nli=two)"]["signature"]


def test_beside_the_runs_own_and_shared_by_those_who_name_the_same(shelf: Shelf) -> None:
    scorers = "entailment, hhem(nli=one), alignscore(nli=one, piece=response)"
    with Engine(processes=0) as engine:
        found = lines(veridical.check(ROWS, scorers, engine=engine))
        assert sorted(shelf.loaded) == ["one", "veridical-nli-mini?precision=auto"]
        work = engine.work()
    assert work[f"one@{shelf.models['one'].revision}"].requests == 2  # pairs, asked for twice
    own = shelf.models["veridical-nli-mini?precision=auto"]
    signature = found[0]["scores"]["entailment"]["signature"]
    assert f"|nli:veridical-nli-mini@{own.revision}|" in signature


def test_a_name_for_the_runs_own_model_is_the_same_queue(shelf: Shelf) -> None:
    scorers = "nli_grounding, hhem(nli='veridical-nli-mini', piece=sentence)"
    with Engine(processes=0) as engine:
        veridical.check(ROWS, scorers, engine=engine)
        assert len(engine.work()) == 1


def test_the_plan_is_exact_and_names_the_roles(shelf: Shelf, tmp_path: Path) -> None:
    scorers, store = "entailment, hhem(nli=one), minicheck(nli=two)", tmp_path / "store"
    for again in (False, True):
        plan = veridical.plan(ROWS, scorers, store=store, processes=0)
        with Engine(store=store, processes=0) as engine:
            veridical.check(ROWS, scorers, engine=engine)
            work = engine.work()
        assert {tuple(m["roles"]) for m in plan["models"]} == {("nli",), ("nli one",), ("nli two",)}
        for model in plan["models"]:
            done = work[model["model"]]
            for name in ("windows", "tokens", "padded", "batches", "stored"):
                assert model[name] == getattr(done, name)
            assert (model["windows"] == 0) == again


def test_the_fingerprint_knows_the_named_models(shelf: Shelf, tmp_path: Path) -> None:
    out = tmp_path / "run"
    veridical.check(ROWS, "hhem(nli=one)", out=out, processes=0)
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["identity"]["models"]) == ["nli one"]
    shelf.models["one"].revision = "another"
    with pytest.raises(UsageError, match="models"):
        veridical.check(ROWS, "hhem(nli=one)", out=out, processes=0)


def test_what_cannot_be_loaded_stops_the_run_before_it_begins(shelf: Shelf) -> None:
    for call in (veridical.check, veridical.plan):
        with pytest.raises(ModelError, match="veridical models convert absent"):
            call(ROWS, "ngram, hhem(nli=absent)", processes=0)


def test_a_model_named_while_working(shelf: Shelf) -> None:
    with Engine(processes=0) as engine:
        found = lines(veridical.check(ROWS, "late, late(other=absent)", engine=engine))
        assert f"late-model@{shelf.models['late-model'].revision}" in engine.work()
    scores = found[1]["scores"]
    assert scores["late"]["risk"] == pytest.approx(1 - shelf.models["late-model"]._answers[YES][0])
    assert f"|nli:late-model@{shelf.models['late-model'].revision}" in scores["late"]["signature"]
    assert scores["late(other=absent)"]["status"] == "failed"
    assert "convert absent" in scores["late(other=absent)"]["reason"]


def test_a_language_model_may_be_named(shelf: Shelf, tmp_path: Path) -> None:
    llm = FakeLlm(lambda request: '{"answer": "entailment"}')
    out = tmp_path / "run"
    found = lines(veridical.check(ROWS, "hhem(nli=llm)", llm=llm, out=out, processes=0))
    assert [r["scores"]["hhem(nli=llm)"]["risk"] for r in found] == [0, 0]
    assert "nli:llm@" in found[0]["scores"]["hhem(nli=llm)"]["signature"]
    assert shelf.loaded == []
    models = json.loads((out / "manifest.json").read_text())["identity"]["models"]
    assert set(models) == {"nli llm", "llm"}
    plan = veridical.plan(ROWS, "hhem(nli=llm)", llm=llm, processes=0)
    assert plan["llm"]["calls"] == 2
    with pytest.raises(UsageError, match="llm=NAME"):
        veridical.check(ROWS, "hhem(nli=llm)", processes=0)


def test_an_engine_for_others_takes_published_models_and_no_paths(shelf: Shelf) -> None:
    with Engine(named_only=True, processes=0) as engine:
        veridical.check(ROWS, "hhem", engine=engine)
        assert shelf.loaded == ["hhem"]
        for spec in ("hhem:/etc", "torch:org/name", "tei:http://169.254.169.254"):
            with pytest.raises(UsageError, match="unknown NLI model"):
                veridical.check(ROWS, f"hhem(nli='{spec}')", engine=engine)
