from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_evidence import FixedEvidence
from hypothesis import given
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.consistency.snne import neighbour_entropy, snne

RECORD = Record(response="a", samples=["b", "c"])
#: Probabilities of entailment, first text by second; s is the mean of both directions.
P = {
    ("a", "b"): 0.9,
    ("b", "a"): 0.7,
    ("a", "c"): 0.2,
    ("c", "a"): 0.0,
    ("b", "c"): 0.1,
    ("c", "b"): 0.5,
}
TABLE = {pair: (p, 1 - p, 0.0) for pair, p in P.items()}
S = [[1, 0.8, 0.1], [0.8, 1, 0.3], [0.1, 0.3, 1]]


def by_hand(s, tau):
    return -sum(math.log(sum(math.exp(x / tau) for x in row)) for row in s) / len(s)


@pytest.mark.parametrize("tau", [0.1, 1.0, 10.0])
async def test_the_published_formula(tau):
    found = await snne(RECORD, FixedVerdicts(RECORD, TABLE), tau=tau)
    assert found.raw == pytest.approx(by_hand(S, tau))
    assert found.risk == pytest.approx(math.exp(found.raw) * (1 + math.exp(1 / tau)))


async def test_samples_alone_as_published():
    found = await snne(RECORD, FixedVerdicts(RECORD, TABLE), response=False)
    assert found.raw == pytest.approx(by_hand([[1, 0.3], [0.3, 1]], 1))


async def test_by_embeddings():
    vectors = {"a": (1, 0), "b": (0.6, 0.8), "c": (0, 1)}
    found = await snne(RECORD, FixedEvidence(RECORD, vectors), similarity="cosine")
    s = [[1, 0.8, 0.5], [0.8, 1, 0.9], [0.5, 0.9, 1]]
    assert found.raw == pytest.approx(by_hand(s, 1), abs=1e-6)
    (bound,) = REGISTRY.parse("snne(similarity=cosine)")
    assert bound.costs == {"embed"}


@given(st.integers(2, 9), st.sampled_from([0.01, 0.1, 1, 100]), st.integers(0, 1000))
def test_the_stated_range(n, tau, seed):
    s = np.random.default_rng(seed).uniform(0, 1, (n, n))
    np.fill_diagonal(s, 1)
    raw = neighbour_entropy(s, tau)
    assert -math.log(n) - 1 / tau - 1e-9 <= raw
    assert raw <= -np.logaddexp(math.log(n - 1), 1 / tau) + 1e-9


async def test_different_answers_are_riskier():
    def table(p):
        return dict.fromkeys(P, (p, 1 - p, 0.0))

    risks = [(await snne(RECORD, FixedVerdicts(RECORD, table(p)))).risk for p in (1, 0.5, 0)]
    assert 0 < risks[0] < risks[1] < risks[2] <= 1


async def test_what_it_needs():
    for record, reason in ((Record(response=" "), "empty"), (Record(response="a"), "samples")):
        for similarity in ("entailment", "cosine"):
            with pytest.raises(NotApplicable, match=reason):
                await snne(record, FixedVerdicts(record), similarity=similarity)
