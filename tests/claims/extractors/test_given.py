"""Claims that come with the record."""

from __future__ import annotations

import pytest

from veridical import Record
from veridical.claims.extractors import find_extractor
from veridical.claims.extractors.given import given_claims
from veridical.core.evidence import LocalEvidence
from veridical.errors import ModelError, NotApplicable

RESPONSE = "Ada was born in London. She died in 1852."


async def extracted(claims, response=RESPONSE):
    meta = {} if claims is ... else {"claims": claims}
    record = Record(response=response, meta=meta)
    return await find_extractor("given")(record, LocalEvidence(record))


async def test_statements_and_triplets_with_their_places():
    found = await extracted(
        ["She died in 1852.", ["Ada", "born in", "London"], ["Ada", "is", "No"]]
    )
    first, second, third = found.claims
    assert RESPONSE[first.start : first.end] == "died in 1852" and first.sentence == 1
    assert (first.text, first.triplet) == ("She died in 1852.", None)
    assert RESPONSE[second.start : second.end] == "Ada was born in London"
    assert (second.text, second.triplet) == ("Ada born in London.", ("Ada", "born in", "London"))
    assert third.text == "It is not true that Ada is."
    assert not found.abstained


async def test_a_claim_of_other_words_stands_for_the_whole():
    (claim,) = (await extracted(["Bronze costs gold."])).claims
    assert (claim.start, claim.end, claim.sentence) == (0, len(RESPONSE), 0)


async def test_no_claims_is_an_abstention_and_no_list_is_not():
    assert (await extracted([])).abstained
    with pytest.raises(NotApplicable, match="the record has no field"):
        await extracted(...)
    with pytest.raises(NotApplicable, match="empty"):
        await extracted(["a"], response=" ")


@pytest.mark.parametrize(
    "claims",
    ["Ada", 5, {"a": 1}, [5], [None], [""], [" "], [["a", "b"]], [["a", "b", 3]], [["", " ", ""]],
     [["a", "b", "c", "d"]], ["\x00"], ["\ud800"], [[]]],
)  # fmt: skip
async def test_other_forms_are_failures(claims):
    with pytest.raises(ModelError, match="'claims'"):
        await extracted(claims)
    with pytest.raises(ValueError):
        given_claims(Record(response=RESPONSE, meta={"claims": claims}))
