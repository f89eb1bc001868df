from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from verdict_tables import apart, evidence_of, same, tables

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.spectral import degree


def score(table, order=None, **parameters):
    return asyncio.run(degree(*evidence_of(table, order), **parameters))


def trace_form(table, affinity):
    """trace(n I - D) / n^2, with explicit matrices."""
    a = table[..., 0] if affinity == "entailment" else 1 - table[..., 2]
    n = len(a)
    d = np.diag(((a + a.T) / 2).sum(axis=1))
    return np.trace(n * np.eye(n) - d) / n**2


def test_worked_by_hand():
    # similarities of the response: 1, (0.8 + 0.4) / 2, (0 + 0.2) / 2
    table = same(3)
    table[0, 1], table[1, 0] = (0.8, 0.2, 0), (0.4, 0.1, 0.5)
    table[0, 2], table[2, 0] = (0, 0.7, 0.3), (0.2, 0.4, 0.4)
    assert score(table).raw == pytest.approx(1 - 1.7 / 3)
    assert score(table).risk == score(table).raw
    # all: W sums to 3 + 2 * (0.6 + 0.1 + 1)
    assert score(table, of="all").raw == pytest.approx(1 - 6.4 / 9)
    # 1 - contradiction of the response: 1, 0.75, 0.65
    assert score(table, affinity="contradiction").raw == pytest.approx(1 - 2.4 / 3)


@pytest.mark.parametrize("of", ["response", "all"])
def test_extremes(of):
    assert score(same(4), of=of).raw == pytest.approx(0, abs=1e-12)
    assert score(apart(4), of=of).raw == pytest.approx(3 / 4)


def test_the_odd_answer_is_riskier_than_its_samples():
    table = same(5)
    table[0, 1:] = table[1:, 0] = (0.1, 0.1, 0.8)
    assert score(table).raw > score(table, [1, 0, 2, 3, 4]).raw
    # the whole is the same whichever answer is judged
    assert score(table, of="all").raw == pytest.approx(score(table, [1, 0, 2, 3, 4], of="all").raw)


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["entailment", "contradiction"]))
def test_the_whole_is_the_trace_and_the_mean_of_the_answers(table, affinity):
    n = len(table)
    whole = score(table, of="all", affinity=affinity)
    each = [
        score(table, [j, *(i for i in range(n) if i != j)], affinity=affinity) for j in range(n)
    ]
    assert whole.raw == pytest.approx(trace_form(table, affinity), abs=1e-12)
    assert whole.raw == pytest.approx(np.mean([s.raw for s in each]), abs=1e-12)
    assert all(-1e-12 <= s.raw <= 1 - 1 / n + 1e-12 and 0 <= s.risk <= 1 for s in each)


@settings(max_examples=40, deadline=None)
@given(tables(least=3), st.randoms())
def test_the_order_of_samples_does_not_matter(table, random):
    samples = list(range(1, len(table)))
    random.shuffle(samples)
    assert score(table, [0, *samples]).raw == pytest.approx(score(table).raw, abs=1e-12)


async def test_what_it_does_not_apply_to():
    for record in (Record(response="x"), Record(response=" ", samples=["x"])):
        with pytest.raises(NotApplicable):
            await degree(record, FixedVerdicts(record))
