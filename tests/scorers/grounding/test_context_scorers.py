"""Context recall and precision: the published formulas, on judgements made by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from sklearn.metrics import average_precision_score

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.grounding.context_precision import context_precision, ranked_precision
from veridical.scorers.grounding.context_recall import context_recall

YES = (0.9, 0.1, 0.0)
OPTIONS = {"extractor": "sentences", "checker": "nli"}
ROME, PILOT, TEA = "Ada was born in Rome.", "Ada was a pilot.", "Tea is green."
GOLD = f"{ROME} {PILOT}"


async def recall(contexts, reference=GOLD, table=None, response="", **options):
    record = Record(response=response, reference=reference, contexts=contexts)
    return await context_recall(record, FixedVerdicts(record, table), **OPTIONS, **options)


async def precision(contexts, reference=GOLD, table=None, response="", **options):
    record = Record(response=response, reference=reference, contexts=contexts)
    return await context_precision(record, FixedVerdicts(record, table), **OPTIONS, **options)


async def test_recall_is_the_share_of_statements_that_the_contexts_entail():
    contexts = ["Born: Rome.", "Tea."]
    found = await recall(contexts, table={("Born: Rome.", ROME): YES})
    assert (found.raw["recall"], found.risk) == (0.5, 0.5)
    born, pilot = found.raw["statements"]
    assert (born["label"], pilot["label"]) == ("entailment", "neutral")
    assert GOLD[born["start"] : born["end"]] == ROME
    (place,) = born["evidence"]
    assert contexts[place["index"]][place["start"] : place["end"]] == place["text"] == "Born: Rome."
    assert found.units == ()  # it says nothing of the response


async def test_recall_may_add_up_probabilities_and_takes_the_best_reference():
    found = await recall(["Born."], table={("Born.", ROME): YES}, counting="expected")
    assert found.raw["recall"] == pytest.approx((0.9 + 0.1) / 2)
    several = await recall([ROME], ["Bob swam.", ROME])
    assert (several.raw["recall"], several.raw["reference"]) == (1.0, 1)


async def test_precision_is_that_of_the_ranking():
    found = await precision([ROME, TEA, PILOT])
    assert found.raw["useful"] == [1, 0, 1]
    assert found.raw["precision"] == pytest.approx((1 / 1 + 2 / 3) / 2)
    assert found.risk == pytest.approx(1 - found.raw["precision"])
    late = await precision([TEA, TEA, ROME])
    assert late.raw["precision"] == pytest.approx(1 / 3)
    none = await precision([TEA])
    assert (none.raw["precision"], none.risk) == (0.0, 1.0)


async def test_precision_by_the_response_needs_no_reference():
    found = await precision([TEA, ROME], reference=(), response=ROME, of="response")
    assert found.raw["useful"] == [0, 1]
    with pytest.raises(NotApplicable, match="no reference"):
        await precision([TEA], reference=())
    with pytest.raises(NotApplicable, match="declines"):
        await precision([TEA], response="I don't know.", of="response")


async def test_precision_looks_at_the_first_contexts_only():
    found = await precision([TEA, ROME], at=1)
    assert found.raw["useful"] == [0]


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_ranked_precision_is_average_precision(useful):
    if any(useful):
        ranks = [-i for i in range(len(useful))]
        assert ranked_precision(useful) == pytest.approx(average_precision_score(useful, ranks))
    else:
        assert ranked_precision(useful) == 0.0


@pytest.mark.parametrize("scorer", [recall, precision])
@pytest.mark.parametrize(
    ("contexts", "reference", "why"),
    [
        ([], GOLD, "no contexts"),
        ([""], GOLD, "no contexts"),
        ([ROME], (), "no reference"),
        ([ROME], "?", "states nothing"),
        ([ROME], "I don't know.", "states nothing"),
    ],
)
async def test_where_they_do_not_apply(scorer, contexts, reference, why):
    with pytest.raises(NotApplicable, match=why):
        await scorer(contexts, reference)
