from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_evidence import FixedReplies
from token_records import reading_of, record_of, token

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.core.tokens import TokenProbabilities
from veridical.errors import NotApplicable
from veridical.scorers.probability.token_alternatives import boosted_prob, boosted_probabilities

#: "Paris" shares 0.9 with two others; " is" falls off the cut; "." has no cut at all.
TOKENS = [
    token("Paris", 0.3, 0.3, 0.3, 0.05),
    {
        "token": " is",
        "logprob": float(np.log(0.04)),
        "top": [
            {"token": " was", "logprob": float(np.log(0.8))},
            {"token": " is", "logprob": float(np.log(0.04))},
        ],
    },
    token(".", 0.25, 0.2, 0.18, 0.15),
]


def by_hand(p: list[float], own: float, jump: float = 0.3, least: float = 0.005) -> float:
    """The method token by token, in plain words: sum down to the last great fall."""
    cut = None
    for i in range(len(p) - 1):
        fall = p[i] - p[i + 1]
        if fall > jump * p[i] and fall > least:
            cut = i
    return own if cut is None or p.index(own) > cut else sum(p[: cut + 1])


async def score(record: Record, **parameters):
    readings = parameters.pop("readings", None)
    return await boosted_prob(record, FixedReplies(record, readings=readings), **parameters)


async def test_worked_by_hand():
    found = await score(record_of(TOKENS))
    assert [u.raw for u in found.units] == pytest.approx([0.9, 0.04, 0.25])
    assert found.raw == pytest.approx((0.9 + 0.04 + 0.25) / 3)
    assert found.risk == pytest.approx(1 - found.raw)
    assert [u.text for u in found.units] == ["Paris", " is", "."]


async def test_a_smaller_jump_cuts_sooner():
    found = await score(record_of(TOKENS[2:]), jump=0.15)
    # falls of 0.05, 0.02 and 0.03; 0.15 of 0.25, 0.2 and 0.18: the last fall counts
    assert found.raw == pytest.approx(0.25 + 0.2 + 0.18)
    assert (await score(record_of(TOKENS[2:]), jump=0.15, least=0.04)).raw == pytest.approx(0.25)


@given(st.lists(st.integers(1, 1000), min_size=2, max_size=20, unique=True), st.data())
def test_equals_the_method_in_plain_words(parts: list[int], data: st.DataObject):
    total = sum(parts) * 1.25
    p = sorted((part / total for part in parts), reverse=True)
    own = data.draw(st.sampled_from(p))
    place = np.zeros(1, np.int64)
    tokens = TokenProbabilities(place, place + 1, np.log([own]), np.log([p]))
    assert boosted_probabilities(tokens, 0.3, 0.005)[0] == pytest.approx(by_hand(p, own), abs=1e-9)


async def test_a_token_beside_the_listed_ones_counts_with_them():
    readings = {("", "ab"): reading_of(["a", "b"], [0.01, 0.5], top=[[0.6, 0.3], [0.5, 0.4]])}
    record = Record(response="ab")
    found = await score(record, proxy="m", condition="none", readings=readings)
    # 0.6, 0.3, 0.01: cut after 0.3, "a" is not of them; 0.5, 0.4: no cut
    assert [u.raw for u in found.units] == pytest.approx([0.01, 0.5])


async def test_alternatives_are_needed():
    with pytest.raises(NotApplicable, match="alternatives"):
        await score(record_of([token("a", 0.5)]))
    with pytest.raises(NotApplicable, match="proxy=MODEL"):
        await score(Record(response="a"))


def test_a_proxy_stands_for_log_probabilities():
    (bound,) = REGISTRY.parse("boosted_prob(proxy=m)")
    assert bound.needs == set()
    assert bound.scorer.raw_is == "confidence"
