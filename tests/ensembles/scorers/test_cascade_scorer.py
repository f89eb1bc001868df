"""cascade: where records stop, by given scores of the components; and what is asked in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.core.evidence import Evidence, guarded
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.core.scores import Score, Unit
from veridical.engine.engine import Engine
from veridical.ensembles.cascade_file import Cascade, Cost, Tier
from veridical.ensembles.ensemble_file import Component, Fit, FittedOn
from veridical.errors import ModelError, UsageError
from veridical.files.trained_files import write_trained
from veridical.llm.fake import FakeLlm

ORIGIN = FittedOn(file="g", fingerprint="0", n=100, positive=50, groups=100, labels="label")
SAME = {"method": "temperature", "inverse": 1.0}  # leaves risks as they are
RECORD = Record(response="One is here. Two is there.", samples=("x", "y"))


def tier(
    name: str,
    calls: list[str],
    weights: dict[str, float],
    low: float | None = None,
    high: float | None = None,
    models: str = "",
) -> Tier:
    return Tier(
        name=name,
        components=tuple(
            Component(scorer=c, signature=REGISTRY.parse(c)[0].signature(models)) for c in calls
        ),
        fit=Fit(weights=weights, calibration=SAME, n=100, positive=50),
        low=low,
        high=high,
        costs={c: Cost(seconds=1.0, money=None) for c in calls},
        stopped=0.5,
    )


def cascade(*tiers: Tier) -> Cascade:
    return Cascade(
        version="0",
        method="weighted",
        tiers=tiers,
        keep=0.99,
        confidence=0.9,
        hour=1.0,
        full=Cost(seconds=3.0, money=None),
        fitted_on=ORIGIN,
    )


THREE = cascade(
    tier("model-free", ["ngram", "support"], {"ngram": 0.5, "support": 0.5}, 0.2, 0.9),
    tier("embeddings", ["cosine"], {"ngram": 0.25, "support": 0.25, "cosine": 0.5}, None, 0.8),
    tier(
        "NLI",
        ["selfcheck_nli"],
        {"ngram": 0.0, "support": 0.0, "cosine": 0.2, "selfcheck_nli": 0.8},
    ),
)


class Given(Evidence):
    """Scores by key; remembers who was asked."""

    def __init__(self, record: Record, scores: dict[str, Any]) -> None:
        super().__init__(record)
        self.scores = scores
        self.asked: list[str] = []

    async def _score(self, bound: BoundScorer) -> Score:
        self.asked.append(bound.key)
        found = self.scores.get(bound.key, "not given")
        if isinstance(found, Score):
            return found
        if isinstance(found, Exception):
            score = Score.failed(str(found))
        elif isinstance(found, str):
            score = Score.not_applicable(found)
        else:
            score = Score.of(found)
        return score.model_copy(update={"signature": bound.signature()})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_trained(tmp_path / "cascade.json", THREE)
    return tmp_path / "cascade.json"


async def run(file: Path, scores: dict[str, Any]) -> tuple[Score, list[str]]:
    bound = REGISTRY.bind("cascade", {"file": str(file)})
    evidence = Given(RECORD, scores)
    return await guarded(bound, RECORD, evidence), evidence.asked


@pytest.mark.parametrize(
    ("scores", "risk", "stopped", "asked"),
    [
        ({"ngram": 0.1, "support": 0.3}, 0.2, "model-free", 2),  # at the exit itself
        ({"ngram": 0.9, "support": 1.0}, 0.95, "model-free", 2),
        ({"ngram": 0.6, "support": 0.6, "cosine": 1.0}, 0.8, "embeddings", 3),
        ({"ngram": 0.6, "support": 0.6, "cosine": 0.1, "selfcheck_nli": 0.5}, 0.42, "NLI", 4),
        # what is not scored is left out of the mean
        ({"ngram": 0.15}, 0.15, "model-free", 2),
        ({"ngram": 0.15, "support": RuntimeError("broken")}, 0.15, "model-free", 2),
        # nothing is scored in the first tier: the second goes by its own
        ({"cosine": 0.85}, 0.85, "embeddings", 3),
        # the last tier says nothing: its weights are those of what is scored
        ({"ngram": 0.5, "support": 0.5, "cosine": 0.5}, 0.5, "NLI", 4),
        # nothing of weight in the last tier: the risk before it stands
        ({"ngram": 0.5, "support": 0.5}, 0.5, "NLI", 4),
    ],
)
async def test_a_record_stops_where_its_risk_is_clear(
    file: Path, scores: dict[str, Any], risk: float, stopped: str, asked: int
) -> None:
    score, order = await run(file, scores)
    assert score.status == "scored", score.reason
    assert score.risk == pytest.approx(risk, abs=1e-6)
    assert isinstance(score.raw, dict) and score.raw["tier"] == stopped
    assert order == ["ngram", "support", "cosine", "selfcheck_nli"][:asked]
    assert (
        list(score.raw["after"])
        == ["model-free", "embeddings", "NLI"][
            : ["model-free", "embeddings", "NLI"].index(stopped) + 1
        ]
    )
    kept = {c: r for c, r in scores.items() if isinstance(r, float)}
    assert {c: r for c, r in score.raw["components"].items() if r is not None} == kept


async def test_units_are_the_components_sentences(file: Path) -> None:
    sentences = [Unit.of(s, r) for s, r in zip(RECORD.sentences, (0.2, 0.8), strict=True)]
    (bound,) = REGISTRY.parse("ngram")
    own = Score.of(0.1, units=sentences).model_copy(update={"signature": bound.signature()})
    score, _ = await run(file, {"ngram": own, "support": 0.1})
    assert [(u.start, u.end, u.risk) for u in score.units] == [
        (u.start, u.end, pytest.approx(u.risk)) for u in sentences
    ]


async def test_a_record_without_a_score_says_why(file: Path) -> None:
    score, asked = await run(file, {})
    assert score.status == "not_applicable" and "not given" in (score.reason or "")
    assert len(asked) == 4
    score, _ = await run(file, {"cosine": ModelError("no memory")})
    assert score.status == "failed" and "no memory" in (score.reason or "")


async def test_another_scorer_than_it_was_learned_with_is_refused(tmp_path: Path) -> None:
    other = tier("model-free", ["ngram"], {"ngram": 1.0}, models="nli:other@1")
    write_trained(tmp_path / "c.json", cascade(other))
    score, _ = await run(tmp_path / "c.json", {"ngram": 0.1})
    assert score.status == "failed" and "tune again" in (score.reason or "")


def test_a_file_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="requires the file written by veridical tune --cascade"):
        veridical.check([{"response": "a"}], "cascade")
    with pytest.raises(UsageError, match="cannot read cascade"):
        REGISTRY.bind("cascade", {"file": str(tmp_path / "none.json")})


# --- in a run, with the embedded models -------------------------------------------------------

ROWS = [
    {"response": "Rome is in Italy.", "samples": ["Rome is in Italy."] * 3},
    {"response": "The old mill was sold.", "samples": ["Nobody knows.", "A ship sank in 1912."]},
    {"response": "Rome is in Italy.", "samples": ["Rome is in Italy."] * 3},
    {"response": "Bears eat fish.", "samples": ["Bears eat fish.", "Bears eat grass."]},
]


def signed(call: str) -> str:
    """The signature of a scorer's scores in a run with the embedded models."""
    with Engine(processes=0) as engine:
        (found,) = veridical.check(ROWS[:1], call, engine=engine)
    return found.scores[REGISTRY.parse(call)[0].key].signature


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``exact_match`` decides where all samples are the response, the NLI model elsewhere."""
    first = tier("model-free", ["exact_match"], {"exact_match": 1.0}, 0.01, None)
    nli = Component(scorer="noncontradiction", signature=signed("noncontradiction"))
    second = tier(
        "NLI", ["noncontradiction"], {"exact_match": 0.3, "noncontradiction": 0.7}
    ).model_copy(update={"components": (nli,)})
    path = tmp_path_factory.mktemp("cascade") / "real.json"
    write_trained(path, cascade(first, second))
    return path


def test_models_are_not_asked_of_records_that_stopped(real: Path) -> None:
    with Engine(processes=0) as engine:
        results = veridical.check(ROWS, f"cascade(file={str(real)!r})", engine=engine)
        found = list(results)
        (work,) = engine.work().values()
        told = results.summary().as_dict()
    (key,) = found[0].scores
    tiers = [r.scores[key].raw["tier"] for r in found]  # type: ignore[index]
    assert tiers == ["model-free", "NLI", "model-free", "NLI"]
    assert told["stopped"] == {key: {"model-free": 2, "NLI": 2}}
    assert {r.by for r in found} == {"cascade"}
    alone = [r for r in ROWS if r["response"] != "Rome is in Italy."]
    with Engine(processes=0) as engine:
        veridical.check(alone, "noncontradiction", engine=engine)
        (only,) = engine.work().values()
    assert work.requests == only.requests > 0 and work.tokens == only.tokens


def test_a_plan_gives_a_range(real: Path) -> None:
    plan = veridical.plan(ROWS, f"cascade(file={str(real)!r})", processes=0)
    assert [s["name"] for s in plan["scorers"]] == ["exact_match", "noncontradiction"]
    (model,) = plan["models"]
    assert model["requests"] > 0
    assert plan["least"]["models"] == [] and plan["least"]["seconds"] < plan["seconds"]
    assert veridical.plan(ROWS, "exact_match", processes=0)["least"] is None


def test_a_judge_is_asked_of_the_rest_only(tmp_path: Path) -> None:
    llm = FakeLlm("Incorrect")
    with Engine(processes=0, llm=llm) as engine:
        (one,) = veridical.check([{"prompt": "q", **ROWS[1]}], "judge", engine=engine)
    judge = Component(scorer="judge", signature=one.scores["judge"].signature)
    first = tier("model-free", ["exact_match"], {"exact_match": 1.0}, 0.01, None)
    last = tier("judges", ["judge"], {"exact_match": 0.0, "judge": 1.0})
    write_trained(
        tmp_path / "c.json", cascade(first, last.model_copy(update={"components": (judge,)}))
    )
    llm = FakeLlm("Incorrect")
    rows = [{"prompt": f"q{i}", **row} for i, row in enumerate(ROWS)]
    with Engine(processes=0, llm=llm) as engine:
        results = veridical.check(rows, f"cascade(file='{tmp_path / 'c.json'}')", engine=engine)
        risks = [r.risk for r in results]
    assert sum(llm.asked.values()) == 2
    assert risks == pytest.approx([0, 1, 0, 1], abs=1e-5)
    plan = veridical.plan(rows, f"cascade(file='{tmp_path / 'c.json'}')", llm=llm, processes=0)
    assert (plan["least"]["llm"]["calls"], plan["llm"]["calls"]) == (0, 4)
