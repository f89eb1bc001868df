from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from verdict_tables import apart, evidence_of, same, tables

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency.spectral import eccentricity


def score(table, order=None, **parameters):
    return asyncio.run(eccentricity(*evidence_of(table, order), **parameters))


def by_projection(table, affinity, threshold=0.9):
    """Squared offsets without any choice of eigenvectors: with P the projection on the kept
    eigenspace and 1 the vector of ones, ||v'_j||^2 = (e_j - 1/n)^T P (e_j - 1/n).

    P is made from the singular vectors of I - L, whose sign tells the eigenvalue's.
    """
    a = table[..., 0] if affinity == "entailment" else 1 - table[..., 2]
    w = (a + a.T) / 2
    d = np.diag(w.sum(axis=1) ** -0.5)
    values, vectors = np.linalg.eigh(d @ w @ d)
    p = sum(
        (
            np.outer(v, v)
            for x, v in zip(values, vectors.T, strict=True)
            if round(1 - x, 9) < threshold
        ),
        np.zeros_like(w),
    )
    offset = np.eye(len(w)) - 1 / len(w)
    return np.einsum("ij,ik,kj->j", offset, p, offset).clip(0)


def groups(*sizes):
    """Answers that entail each other within groups and contradict those of others."""
    table = apart(sum(sizes))
    at = 0
    for size in sizes:
        table[at : at + size, at : at + size] = (1, 0, 0)
        at += size
    return table


@pytest.mark.parametrize("of", ["response", "all"])
def test_identical_answers_have_no_eccentricity(of):
    found = score(same(4), of=of)
    assert found.raw == pytest.approx(0, abs=1e-7)
    assert found.risk == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 8])
def test_disjoint_answers(n):
    # L = 0: the embedding is any orthonormal basis; each offset has length sqrt(1 - 1/n)
    assert score(apart(n)).raw == pytest.approx(np.sqrt(1 - 1 / n))
    whole = score(apart(n), of="all")
    assert whole.raw == pytest.approx(np.sqrt(n - 1))
    assert whole.risk == pytest.approx(1 - 1 / n)


def test_groups_worked_by_hand():
    # eigenvectors of 0: indicators of {0} and {1, 2, 3} over the root of their size. The centre
    # is (1/4, sqrt(3)/4); the response's offset (3/4, -sqrt(3)/4), the others' (-1/4, 1/(4 sqrt 3))
    table = groups(1, 3)
    assert score(table).raw == pytest.approx(np.sqrt(9 / 16 + 3 / 16))
    assert score(table, [1, 0, 2, 3]).raw == pytest.approx(np.sqrt(1 / 16 + 1 / 48))
    assert score(table, of="all").raw == pytest.approx(np.sqrt(12 / 16 + 3 * (1 / 12)))


def test_equal_groups_count_as_k_minus_1():
    found = score(groups(2, 2, 2), of="all")
    assert found.raw**2 == pytest.approx(2)
    assert found.risk == pytest.approx(1 - 1 / 3)


def test_threshold():
    # two answers, w = 0.1: the second eigenvalue is 2 * 0.1 / 1.1
    table = same(2)
    table[0, 1] = table[1, 0] = (0.1, 0.9, 0)
    assert score(table, threshold=0.2).raw == pytest.approx(np.sqrt(1 / 2))
    assert score(table, threshold=0.18).raw == pytest.approx(0, abs=1e-7)
    for threshold in (0, -1, 2.1, float("nan")):
        with pytest.raises(UsageError, match=r"^eccentricity\(threshold="):
            REGISTRY.bind("eccentricity", {"threshold": threshold})


@settings(max_examples=40, deadline=None)
@given(tables(), st.sampled_from(["entailment", "contradiction"]), st.randoms())
def test_projection_range_and_order(table, affinity, random):
    squares = by_projection(table, affinity)
    found = score(table, affinity=affinity)
    whole = score(table, affinity=affinity, of="all")
    assert found.raw**2 == pytest.approx(squares[0], abs=1e-9)
    assert whole.raw**2 == pytest.approx(squares.sum(), abs=1e-9)
    assert 0 <= found.raw == found.risk < 1
    assert whole.raw**2 <= len(table) - 1 + 1e-9 and 0 <= whole.risk < 1
    order = list(range(1, len(table)))
    random.shuffle(order)
    again = score(table, [0, *order], affinity=affinity)
    assert again.raw**2 == pytest.approx(found.raw**2, abs=1e-9)


async def test_what_it_does_not_apply_to():
    for record in (Record(response="x"), Record(response=" ", samples=["x"])):
        with pytest.raises(NotApplicable):
            await eccentricity(record, FixedVerdicts(record))
