"""What a scorer costs may depend on its arguments."""

from __future__ import annotations

import pytest

from veridical.core.registry import REGISTRY, BoundScorer, Scorer, scorer
from veridical.core.resolving import resolve
from veridical.core.scores import Score
from veridical.errors import UsageError


def made(**fields) -> Scorer:
    async def method(record, evidence, *, by: str = "rule", much: int = 1) -> Score:
        return Score.of(0.0)

    scorer("test_costs", level="response", source="test", **fields)(method)
    return REGISTRY.get("test_costs")


def by_argument(by: str, much: int) -> set[str]:
    if by == "nothing":
        raise UsageError("by what?")
    return {"rule": {"nli"}, "llm": {"llm", "embed"}, "own": set()}[by] if much else {"free"}


@pytest.fixture
def method():
    yield made(cost="llm", uses={"nli", "embed"}, costs_by=by_argument, presets={"test_preset"})
    REGISTRY._scorers.pop("test_costs")


def bind(text: str) -> BoundScorer:
    (bound,) = REGISTRY.parse(text)
    return bound


def test_of_given_arguments_and_defaults(method):
    assert method.costs == {"llm", "nli", "embed"}  # at most
    assert bind("test_costs").costs == {"nli"}
    assert bind("test_costs(by=llm)").costs == {"llm", "embed"}
    assert bind("test_costs(much=0)").costs == {"free"}
    assert bind("test_costs(by=own)").costs == set()
    with pytest.raises(UsageError, match="by what"):
        _ = bind("test_costs(by=nothing)").costs


def test_the_dearest(method):
    assert bind("test_costs").cost == "nli"
    assert bind("test_costs(by=llm)").cost == "llm"
    assert bind("test_costs(by=own)").cost == "llm"  # models of its own: what it says itself
    assert bind("cocoa").cost == "probabilities"
    assert bind("ngram").cost == "free"


def test_a_preset_goes_by_what_the_defaults_cost(method):
    assert [b.key for b in resolve(None, "test_preset")] == ["test_costs"]


def test_question_answering_by_its_own_models_asks_no_llm():
    assert bind("selfcheck_qa").costs.isdisjoint({"llm"})
    assert bind("selfcheck_qa(backend=llm)").costs == {"llm"}
