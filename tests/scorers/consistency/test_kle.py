from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from scipy.linalg import expm, fractional_matrix_power, logm
from scipy.sparse.csgraph import laplacian
from verdict_tables import apart, evidence_of, same, tables

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.consistency.spectral import kle


def score(table, order=None, **parameters):
    return asyncio.run(kle(*evidence_of(table, order), **parameters))


def reference(table, kernel="heat", t=0.3, kappa=1.0, nu=1.0):
    """The paper's definition, step by step with matrix functions."""
    n = len(table)
    one_way = np.take([1, 0.5, 0], table.argmax(axis=2))
    w = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                w[i, j] = one_way[i, j] + one_way[j, i]
    l = laplacian(w)  # noqa: E741
    if kernel == "heat":
        k = expm(-t * l)
    else:
        k = fractional_matrix_power(2 * nu / kappa**2 * np.eye(n) + l, -nu)
    k = k / np.sqrt(np.outer(np.diag(k), np.diag(k))) / n
    assert np.trace(k) == pytest.approx(1)
    return -np.trace(k @ logm(k + 1e-13 * np.eye(n))).real


@pytest.mark.parametrize("kernel", ["heat", "matern"])
def test_contradicting_answers_have_the_greatest_entropy(kernel):
    found = score(apart(5), kernel=kernel)
    assert found.raw == pytest.approx(np.log(5))
    assert found.risk == pytest.approx(1 - 1 / 5)


def test_equal_answers_worked_by_hand():
    # L = 2 (n I - J): the heat kernel has eigenvalues 1 and, n - 1 times, exp(-2 n t)
    n, t = 4, 0.3
    p = np.array([1, *[np.exp(-2 * n * t)] * (n - 1)])
    p /= p.sum()
    assert score(same(n)).raw == pytest.approx(-(p * np.log(p)).sum())
    assert score(same(n), t=50).raw == pytest.approx(0, abs=1e-9)
    assert score(same(12)).raw < score(same(4)).raw


def test_two_answers_worked_by_hand():
    # weights 1 + 0.5: L = 1.5 [[1, -1], [-1, 1]], eigenvalues 0 and 3
    table = same(2)
    table[0, 1], table[1, 0] = (0.5, 0.3, 0.2), (0.3, 0.4, 0.3)
    p = np.array([1, np.exp(-0.9)]) / (1 + np.exp(-0.9))
    assert score(table).raw == pytest.approx(-(p * np.log(p)).sum())
    # Matern, nu = kappa = 1: eigenvalues 1/2 and 1/5
    p = np.array([5, 2]) / 7
    assert score(table, kernel="matern").raw == pytest.approx(-(p * np.log(p)).sum())


@settings(max_examples=40, deadline=None)
@given(
    tables(),
    st.sampled_from(
        [{}, {"t": 0.7}, {"kernel": "matern"}, {"kernel": "matern", "kappa": 2.0, "nu": 1.5}]
    ),
    st.randoms(),
)
def test_reference_range_and_order(table, parameters, random):
    found = score(table, **parameters)
    assert found.raw == pytest.approx(reference(table, **parameters), abs=1e-8)
    assert 0 <= found.raw <= np.log(len(table)) + 1e-9
    assert found.risk == pytest.approx(1 - np.exp(-found.raw))
    order = list(range(len(table)))
    random.shuffle(order)
    assert score(table, order, **parameters).raw == pytest.approx(found.raw, abs=1e-9)


@pytest.mark.parametrize("name", ["t", "kappa", "nu"])
@pytest.mark.parametrize("value", [0.0, -1.0, 1e7, float("inf"), float("nan")])
def test_parameters_are_checked(name, value):
    with pytest.raises(UsageError, match=rf"^kle\({name}="):
        REGISTRY.bind("kle", {name: value})


@pytest.mark.parametrize("kappa", [1e-6, 1e6])
@pytest.mark.parametrize("nu", [1e-6, 1.0, 1e6])
def test_no_limit_runs_out_of_range(kappa, nu):
    found = score(same(3), kernel="matern", kappa=kappa, nu=nu)
    assert found.status == "scored" and 0 <= found.raw <= np.log(3) + 1e-9


async def test_what_it_does_not_apply_to():
    for record in (Record(response="x"), Record(response=" ", samples=["x"])):
        with pytest.raises(NotApplicable):
            await kle(record, FixedVerdicts(record))
