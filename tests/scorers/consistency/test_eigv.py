from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from scipy.sparse.csgraph import laplacian
from verdict_tables import apart, evidence_of, same, tables

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.spectral import eigv, normalised_laplacian, similarity_graph


def score(table, order=None, **parameters):
    return asyncio.run(eigv(*evidence_of(table, order), **parameters))


def by_random_walk(table, affinity):
    """U_EigV by another way: the positive eigenvalues of the transition matrix D^-1 W, which is
    similar to I - L."""
    a = table[..., 0] if affinity == "entailment" else 1 - table[..., 2]
    w = (a + a.T) / 2
    found = np.linalg.eigvals(w / w.sum(axis=1, keepdims=True))
    return found.real.clip(0).sum()


@pytest.mark.parametrize("n", [2, 3, 7])
def test_identical_answers_have_one_meaning_and_disjoint_ones_n(n):
    one, many = score(same(n)), score(apart(n))
    assert (one.raw, one.risk) == (pytest.approx(1), pytest.approx(0, abs=1e-9))
    assert (many.raw, many.risk) == (pytest.approx(n), pytest.approx(1 - 1 / n))


def test_groups_are_counted():
    table = apart(5)
    table[np.ix_([0, 1, 2], [0, 1, 2])] = (1, 0, 0)
    table[np.ix_([3, 4], [3, 4])] = (1, 0, 0)
    assert score(table).raw == pytest.approx(2)


def test_two_answers_worked_by_hand():
    # w = (0.6 + 0.2) / 2; L = [[1 - 1/1.4, -0.4/1.4], ...]: eigenvalues 0 and 0.8 / 1.4
    table = same(2)
    table[0, 1], table[1, 0] = (0.6, 0.3, 0.1), (0.2, 0.8, 0.0)
    assert score(table).raw == pytest.approx(1 + 1 - 0.8 / 1.4)
    # 1 - contradiction: w = (0.9 + 1) / 2
    assert score(table, affinity="contradiction").raw == pytest.approx(1 + 1 - 1.9 / 1.95)


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["entailment", "contradiction"]), st.randoms())
def test_reference_range_and_order(table, affinity, random):
    order = list(range(len(table)))
    random.shuffle(order)
    found = score(table, affinity=affinity)
    assert found.raw == pytest.approx(by_random_walk(table, affinity), abs=1e-6)
    assert 1 <= found.raw <= len(table) + 1e-9
    assert found.risk == pytest.approx(1 - 1 / found.raw)
    assert score(table, order, affinity=affinity).raw == pytest.approx(found.raw, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(tables())
def test_the_laplacian_is_scipys(table):
    w = asyncio.run(similarity_graph(*evidence_of(table), "entailment", False))
    assert np.array_equal(w, w.T)
    # csgraph leaves self loops out of degrees; as edges to a twin node they would count, so the
    # unnormalised Laplacian (which they cannot change) is scaled here
    scale = np.diag(1 / np.sqrt(w.sum(axis=0)))
    np.testing.assert_allclose(normalised_laplacian(w), scale @ laplacian(w) @ scale, atol=1e-12)


async def test_one_request_of_all_ordered_pairs_with_prompts_if_asked():
    record = Record(response="Rome", samples=["Paris", "Rome"], prompt="Where?")
    evidence = FixedVerdicts(record)
    await eigv(record, evidence, prompts=True)
    (asked,) = evidence.asked
    assert ("Where?\nRome", "Where?\nParis") in asked and len(asked) == 6


async def test_what_it_does_not_apply_to():
    for record in (Record(response="x"), Record(response=" ", samples=["x"])):
        with pytest.raises(NotApplicable):
            await eigv(record, FixedVerdicts(record))
    record, evidence = evidence_of(same(3), contradicts=False)
    assert (await eigv(record, evidence)).raw == pytest.approx(1)
    with pytest.raises(NotApplicable, match="contradiction"):
        await eigv(record, evidence, affinity="contradiction")
