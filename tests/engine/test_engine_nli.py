"""NLI scorers through the engine: pairs are shared, stored and planned exactly."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from fake_models import FakeNli

import veridical
from veridical import UsageError
from veridical.engine.engine import Engine

ALL_PAIRS = (
    "semantic_entropy, semantic_negentropy, semantic_sets, eigv, degree, eccentricity, kle, "
    "noncontradiction, entailment"
)
BY_SENTENCE = "selfcheck_nli, luq"
PLACES = ["Mali", "Niger", "Chad", "Ghana", "Benin", "Togo"]


def rows(n: int = 25, samples: int = 4) -> list[dict[str, Any]]:
    rng = random.Random(5)

    def answer() -> str:
        place, year = rng.choice(PLACES), rng.randint(1900, 1905)
        return f"It is in {place}. The town was founded in {year} by the river."

    return [
        {"response": answer(), "samples": [answer() for _ in range(1 + i % samples)]}
        for i in range(n)
    ]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeNli:
    model = FakeNli()
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    return model


def run(data: Any, scorers: str, store: Path | None = None) -> tuple[list[Any], Any]:
    with Engine(store=store, processes=0) as engine:
        results = veridical.check(data, scorers, engine=engine)
        found = [json.loads(line) for line in results.lines()]
        (work,) = engine.work().values()
    return found, work


def ordered_pairs(data: list[dict[str, Any]]) -> set[tuple[str, str]]:
    texts = [[r["response"], *r["samples"]] for r in data]
    return {(a, b) for group in texts for a in group for b in group if a != b}


def sentence_pairs(data: list[dict[str, Any]]) -> set[tuple[str, str]]:
    found = set()
    for r in data:
        for s in veridical.Record(response=r["response"]).sentences:
            found |= {(sample, s.text) for sample in r["samples"]}
    return found


def test_all_nli_scorers_cost_no_more_than_the_union_of_their_pairs(fake: FakeNli) -> None:
    data = rows()
    _, work = run(data, f"{ALL_PAIRS}, {BY_SENTENCE}")
    assert work.requests == len(ordered_pairs(data) | sentence_pairs(data))
    assert work.windows == work.requests
    assert fake.tokens_run == work.tokens


def test_a_warm_store_sends_nothing_and_changes_nothing(fake: FakeNli, tmp_path: Path) -> None:
    data = rows()
    cold, work = run(data, f"{ALL_PAIRS}, {BY_SENTENCE}", tmp_path)
    assert work.windows > 0
    warm, work = run(data, f"{ALL_PAIRS}, {BY_SENTENCE}", tmp_path)
    assert work.windows == 0
    assert warm == cold
    without, _ = run(data, f"{ALL_PAIRS}, {BY_SENTENCE}")
    assert without == cold


def test_a_record_alone_scores_as_in_company(fake: FakeNli) -> None:
    data = rows()
    together, _ = run(data, "semantic_entropy, selfcheck_nli")
    for i in (0, 7, 24):
        (alone,), _ = run(data[i : i + 1], "semantic_entropy, selfcheck_nli")
        assert alone["scores"] == together[i]["scores"]


def test_signatures_and_fingerprints_name_the_model(fake: FakeNli, tmp_path: Path) -> None:
    (line,) = run(rows(1), "selfcheck_nli")[0]
    signature = line["scores"]["selfcheck_nli"]["signature"]
    assert signature == f"selfcheck_nli|v4|nli:fake-nli@{fake.revision}|order:paper|against:samples"
    data, out = rows(2), tmp_path / "run"
    veridical.check(data, "selfcheck_nli", out=out)
    fake.revision = "another"
    with pytest.raises(UsageError, match="models"):
        veridical.check(data, "selfcheck_nli", out=out)


def test_one_pairs_failure_is_its_records_and_scorers_own(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeNli(fail_on=lambda pair: "Niger" in pair.hypothesis and "Niger" in pair.premise)
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    data = [
        {"response": "It is in Niger.", "samples": ["It was in Niger."]},
        {"response": "It is in Niger.", "samples": ["It was in Chad."]},
    ]
    bad, good = run(data, "entailment, exact_match")[0]
    assert bad["scores"]["entailment"]["status"] == "failed"
    assert "ModelError" in bad["scores"]["entailment"]["reason"]
    assert bad["scores"]["exact_match"]["status"] == "scored"
    assert good["scores"]["entailment"]["status"] == "scored"


def test_a_model_without_contradiction_scores_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    model = FakeNli(contradicts=False)
    monkeypatch.setattr("veridical.models.load_nli", lambda spec, **_: model)
    (line,) = run(rows(1), "entailment, noncontradiction, selfcheck_nli")[0]
    status = {name: s["status"] for name, s in line["scores"].items()}
    assert status == {
        "entailment": "scored",
        "noncontradiction": "not_applicable",
        "selfcheck_nli": "not_applicable",
        "quantile_mean": "scored",
    }
    assert "no class for contradiction" in line["scores"]["selfcheck_nli"]["reason"]


def test_text_the_model_cannot_read_is_not_judged(fake: FakeNli) -> None:
    fake.languages = frozenset({"en"})
    (line,) = run(
        [{"response": "北京是中国的首都。", "samples": ["上海是中国的首都。"]}], "entailment"
    )[0]
    assert line["scores"]["entailment"]["status"] == "not_applicable"
    assert "reads en" in line["scores"]["entailment"]["reason"]


@pytest.mark.parametrize("scorers", ["selfcheck_nli", f"{ALL_PAIRS}, {BY_SENTENCE}, nli_grounding"])
def test_the_plan_is_exact_cold_and_warm(fake: FakeNli, scorers: str, tmp_path: Path) -> None:
    data, store = rows(), tmp_path / "store"
    data[3]["samples"] = [" ".join(data[3]["samples"] * 30)]  # several windows
    for again in (False, True):
        plan = veridical.plan(data, scorers, store=store, processes=0)
        _, work = run(data, scorers, store)
        (model,) = plan["models"]
        for name in ("windows", "tokens", "padded", "batches"):
            assert model[name] == getattr(work, name)
        assert model["roles"] == ["nli"] and model["model"] == f"fake-nli@{fake.revision}"
        assert (model["windows"] == 0) == again
        assert model["stored"] == work.stored and (work.stored > 0) == again


def test_models_of_several_kinds_side_by_side(fake: FakeNli) -> None:
    data = rows(5)
    with Engine(processes=0) as engine:
        results = veridical.check(data, "cosine, entailment", engine=engine)
        assert len(engine.work()) == 2
    for r in results:
        assert "|embedder:minilm@" in r.scores["cosine"].signature
        assert "|nli:fake-nli@" in r.scores["entailment"].signature
