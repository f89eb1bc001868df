from __future__ import annotations

import numpy as np
import pytest
from llm_evidence import FixedReplies
from scipy.stats import entropy
from token_records import record_of, token

from veridical.errors import NotApplicable
from veridical.scorers.probability.token_alternatives import certainties, self_certainty


async def score(tokens, **parameters):
    record = record_of(tokens)
    return await self_certainty(record, FixedReplies(record), **parameters)


def divergence(listed: list[float], vocabulary: int) -> float:
    """KL(uniform || p) by scipy, what is left spread evenly over the other tokens."""
    others = vocabulary - len(listed)
    p = [*listed, *[(1 - sum(listed)) / others] * others]
    return float(entropy(np.full(vocabulary, 1 / vocabulary), p))


async def test_mean_divergence_from_the_uniform_distribution():
    tokens = [token("a", 0.5, 0.2), token(" b", 0.1, 0.6, 0.25)]
    expected = [divergence([0.5, 0.2], 50), divergence([0.6, 0.25, 0.1], 50)]
    found = await score(tokens, vocabulary=50)
    assert [u.raw for u in found.units] == pytest.approx(expected)
    assert found.raw == pytest.approx(np.mean(expected))
    assert found.risk == pytest.approx(1 / (1 + found.raw))
    assert found.units[0].risk == pytest.approx(1 / (1 + expected[0]))


async def test_a_blind_guess_has_none():
    found = await score([token("a", 0.25, 0.25, 0.25, 0.25)], vocabulary=4)
    assert (found.raw, found.risk) == pytest.approx((0, 1))


def test_of_the_whole_vocabulary_nothing_is_spread():
    rng = np.random.default_rng(0)
    p = np.sort(rng.dirichlet(np.ones(30), size=5))[:, ::-1]
    expected = [entropy(np.full(30, 1 / 30), row) for row in p]
    np.testing.assert_allclose(certainties(np.log(p), 30), expected, rtol=1e-6)


async def test_certain_tokens_leave_the_least_that_rounding_can_tell():
    sure = await score([token("a", 1.0, 1e-9)])
    surer = await score([token("a", 1.0, 1e-12)])
    assert np.isfinite(sure.raw) and sure.raw == pytest.approx(surer.raw, rel=1e-3)
    assert sure.raw == pytest.approx(-np.log(1e-6), rel=1e-3)


async def test_k_counts_the_likeliest_alone():
    tokens = [token("a", 0.5, 0.2, 0.1)]
    assert (await score(tokens, vocabulary=50, k=2)).raw == pytest.approx(
        divergence([0.5, 0.2], 50)
    )


async def test_what_it_needs():
    with pytest.raises(NotApplicable, match="alternatives"):
        await score([token("a", 0.5)])
    with pytest.raises(NotApplicable, match="vocabulary=2"):
        await score([token("a", 0.5, 0.2, 0.1)], vocabulary=2)
