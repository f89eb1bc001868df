"""Statements of the answer and of the gold answer, each by the other, counted by hand."""

from __future__ import annotations

import pytest
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.grounding.factual_correctness import factual_correctness

YES, NO, AGAINST = (0.9, 0.1, 0.0), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)
OPTIONS = {"extractor": "sentences", "checker": "nli"}
GOLD = "Ada was born in Rome. Ada was a pilot."
ANSWER = "Ada was born in Rome. Ada liked tea. Ada drove a car."


async def score(response=ANSWER, reference=GOLD, table=None, **options):
    record = Record(response=response, reference=reference)
    return await factual_correctness(record, FixedVerdicts(record, table), **OPTIONS, **options)


TABLE = {
    (GOLD, "Ada was born in Rome."): YES,
    (GOLD, "Ada liked tea."): NO,
    (GOLD, "Ada drove a car."): AGAINST,
    (ANSWER, "Ada was born in Rome."): YES,
    (ANSWER, "Ada was a pilot."): NO,
}


async def test_precision_recall_and_f1():
    found = await score(table=TABLE)
    p, r = 1 / 3, 1 / 2
    expected = {"precision": p, "recall": r, "f1": 2 * p * r / (p + r)}
    assert {k: found.raw[k] for k in expected} == pytest.approx(expected)
    assert found.raw["score"] == found.raw["f1"]
    assert found.risk == pytest.approx(1 - found.raw["f1"])
    assert [u.label for u in found.units] == ["entailment", "neutral", "contradiction"]
    assert [u.risk for u in found.units] == pytest.approx([0.1, 0.9, 0.9])
    first, second = found.raw["recalled"]
    assert (first["label"], second["label"]) == ("entailment", "neutral")
    assert GOLD[second["start"] : second["end"]] == "Ada was a pilot."
    (place,) = first["evidence"]
    assert ANSWER[place["start"] : place["end"]] == place["text"] == "Ada was born in Rome."


@pytest.mark.parametrize(("mode", "value"), [("precision", 1 / 3), ("recall", 0.5)])
async def test_the_score_may_be_one_of_them(mode, value):
    found = await score(table=TABLE, mode=mode)
    assert (found.raw["score"], found.risk) == (pytest.approx(value), pytest.approx(1 - value))


async def test_expected_counts():
    found = await score(table=TABLE, counting="expected")
    assert found.raw["precision"] == pytest.approx((0.9 + 0.1 + 0.1) / 3)
    assert found.raw["recall"] == pytest.approx((0.9 + 0.1) / 2)


async def test_the_best_of_several_references_counts():
    found = await score("Ada flew.", ["Bob swam.", "Ada flew."])
    assert (found.risk, found.raw["reference"]) == (0.0, 1)
    assert found.units[0].evidence[0].index == 1


async def test_nothing_in_common_is_the_worst():
    found = await score("Ada flew.", "Bob swam.")
    assert (found.risk, found.raw["f1"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("response", "reference", "why"),
    [
        (" ", GOLD, "empty"),
        ("I don't know.", GOLD, "declines"),
        ("...", GOLD, "states nothing"),
        (ANSWER, "", "no reference"),
        (ANSWER, [" ", "?!"], "the reference states nothing"),
    ],
)
async def test_where_it_does_not_apply(response, reference, why):
    with pytest.raises(NotApplicable, match=why):
        await score(response, reference)


def test_parameters_that_do_not_go_together_are_refused():
    (bound,) = REGISTRY.parse("factual_correctness(checker=llm, nli=base)")
    with pytest.raises(UsageError, match="does not use nli"):
        _ = bound.costs
    with pytest.raises(UsageError, match="extractor"):
        REGISTRY.parse("factual_correctness(extractor=llm_atomic)")
    (usual,) = REGISTRY.parse("factual_correctness")
    assert usual.costs == {"nli"}


async def test_citations_are_no_part_of_what_is_said():
    found = await score("Ada flew [1, 2].", "Ada flew.")
    assert found.raw["precision"] == 1.0
    assert found.units[0].text == "Ada flew [1, 2]."
