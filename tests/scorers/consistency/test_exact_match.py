from __future__ import annotations

import pytest

from veridical.core.evidence import score_locally
from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.scorers.consistency.exact_match import normalized


def score(response, spec="exact_match", **fields):
    return score_locally(Record(response=response, **fields), REGISTRY.parse(spec))[0]


def test_equation_4_by_hand():
    got = score("Paris", samples=["Paris", "paris", "Paris", "Lyon"])
    assert (got.raw, got.risk, got.status) == (0.5, 0.5, "scored")
    assert score("Paris", samples=["Paris"]).risk == 0
    assert score("Paris", samples=["Paris."]).risk == 1


def test_normalize():
    samples = ["the  PARIS.", " Paris\n", "Paris!", "Lyon"]
    assert score("Paris", "exact_match(normalize=True)", samples=samples).raw == 0.75
    assert score("Paris", samples=samples).raw == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Answer: a cat.", "answer cat"),
        ("Straße", "strasse"),
        ("ＡＢＣ", "abc"),
        ("A", "a"),
        ("The", "the"),
        ("?!", "?!"),
        ("theatre", "theatre"),
        ("C++ (an option)", "c++ option"),
        ("don't", "don t"),
        ("《红楼梦》", "红楼梦"),
        (" ", ""),
    ],
)
def test_normalized(text, expected):
    assert normalized(text) == expected


def test_other_sources_and_not_applicable():
    assert score("x", "exact_match(against=reference)", reference=["x", "y"]).raw == 0.5
    assert score("x", "exact_match(against=contexts)", contexts="x").raw == 1
    for got in (score("x"), score(" \n", samples=["x"]), score("x", samples=[""])):
        assert got.status == "not_applicable" and got.risk is None


def test_registered_as_the_contract_says():
    found = REGISTRY.get("exact_match")
    assert found.raw_is == "confidence" and found.presets == {"all", "fast"}
    assert found.cost == "free"
