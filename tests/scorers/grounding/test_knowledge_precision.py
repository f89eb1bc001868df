"""Knowledge precision against hand-worked shares."""

from __future__ import annotations

from typing import Any

import pytest

from veridical.core.records import Record
from veridical.core.scores import Score
from veridical.errors import NotApplicable
from veridical.scorers.grounding.knowledge_precision import knowledge_precision


async def scored(against: str = "contexts", **fields: Any) -> Score:
    return await knowledge_precision(Record(**fields), None, against=against)  # type: ignore[arg-type]


async def test_shares_by_hand() -> None:
    # lighthouse, built: both known (figures do not count); guide, charges, entry: only "entry" is
    score = await scored(
        response="The lighthouse was built in 1912. Guides charge for entry.",
        contexts=["It was built in 1912.", "The lighthouse: free entry."],
    )
    assert [u.raw for u in score.units] == pytest.approx([5 / 6, 4 / 7])
    assert score.raw == pytest.approx(6 / 9)
    assert score.risk == pytest.approx(3 / 9)


async def test_endings_and_function_words_do_not_count() -> None:
    score = await scored(response="Does it close? The shops closed.", contexts="A shop closes.")
    assert score.raw == pytest.approx(6 / 7)  # close, shops, closed


async def test_citations_are_no_words() -> None:
    score = await scored(response="The shop closes [7].", contexts="The shop closes.")
    assert score.raw == pytest.approx(5 / 6)  # shop, closes


async def test_a_reference_can_be_the_source() -> None:
    score = await scored("reference", response="Leeds", reference="In Leeds")
    assert score.raw == pytest.approx(4 / 5)


@pytest.mark.parametrize("response", ["", "Sure!", "It was him."])
async def test_nothing_to_compare(response: str) -> None:
    with pytest.raises(NotApplicable):
        await scored(response=response, contexts="A shop.")
