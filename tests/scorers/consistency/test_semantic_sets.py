from __future__ import annotations

import pytest
from meanings import SAME, record_of, table_of
from nli_evidence import FixedVerdicts

from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.semantic_entropy import semantic_sets

MEANINGS = {"Where? Paris": 1, "It is Paris": 1, "Where? Rome": 2, "Where? Oslo": 3}


async def score(response, samples, table=None, **parameters):
    record = record_of(response, samples, prompt="Where?")
    evidence = FixedVerdicts(record, table or table_of(MEANINGS))
    found = await semantic_sets(record, evidence, **parameters)
    return found


@pytest.mark.parametrize(
    "samples, confidence",
    [
        (["It is Paris", "Paris"], 1),  # 1 set of m = 2
        (["It is Paris", "Rome", "", "Rome"], 2 / 3),  # 2 sets of m = 3
        (["Rome", "Oslo"], 0),  # 3 sets of m = 2
        (["Rome"], 0),
        (["Paris"], 1),
    ],
)
async def test_how_few_meanings_there_are(samples, confidence):
    found = await score("Paris", samples)
    assert found.raw == pytest.approx(confidence)
    assert found.risk == pytest.approx(1 - confidence)


async def test_kinds_of_clusters_and_prompts():
    table = {("Where? Paris", "Where? Rome"): SAME}  # read with the question
    assert (await score("Paris", ["Rome"], table)).raw == 0
    assert (await score("Paris", ["Rome"], table, cluster="either")).raw == 1
    table = table_of({"Where?\nParis": 1, "Where?\nRome": 1})
    assert (await score("Paris", ["Rome"], table, prompts=True)).raw == 1


async def test_not_applicable():
    with pytest.raises(NotApplicable, match="no samples"):
        await score("Paris", [""])
    with pytest.raises(NotApplicable, match="empty"):
        await score(" ", ["Paris"])


def test_registered_as_a_confidence_by_nli():
    scorer = REGISTRY.get("semantic_sets")
    assert (scorer.raw_is, scorer.cost, scorer.presets) == ("confidence", "nli", {"all"})
