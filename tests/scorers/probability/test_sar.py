"""SAR and TokenSAR, against their formulas in plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedding_evidence import FixedEvidence
from llm_evidence import FixedReplies
from token_records import reading_of, record_of, sample_of, token

from veridical.core.records import Record
from veridical.core.registry import REGISTRY
from veridical.errors import NotApplicable
from veridical.scorers.probability.sar import relevant_surprise, sar, token_sar

#: "Paris" is two tokens; "is" is a function word.
TOKENS = [
    token("Par", 0.5),
    token("is", 0.8),
    token(" is", 0.1),
    token(" big", 0.25),
    token(".", 0.9),
]
WHOLE = "Paris is big."
#: Unit vectors with cosines to (1, 0): without "Paris" 0.2, without "big" 0.6.
VECTORS = {WHOLE: (1, 0), "is big.": (0.2, math.sqrt(0.96)), "Paris is .": (0.6, 0.8)}
#: Relevances 0.4 and 0.2 make shares 2/3 (two tokens) and 1/3.
SURPRISE = -(math.log(0.5) / 3 + math.log(0.8) / 3 + math.log(0.25) / 3)


async def test_token_sar_worked_by_hand():
    record = record_of(TOKENS)
    evidence = FixedEvidence(record, VECTORS)
    found = await token_sar(record, evidence)
    assert found.raw == pytest.approx(SURPRISE, abs=1e-6)
    assert found.risk == pytest.approx(1 - math.exp(-SURPRISE), abs=1e-6)
    assert evidence.asked == [(WHOLE, "is big.", "Paris is .")]  # one request; no function words
    values = {u.text: u.raw for u in found.units}
    assert values["Par"] == pytest.approx(-math.log(0.5) / 3, abs=1e-6)
    assert values[" is"] == 0 and values["."] == 0


async def test_where_no_word_matters_all_tokens_count_alike():
    record = record_of([token("It", 0.5), token(" is", 0.25)])
    found = await token_sar(record, FixedEvidence(record, {"It is": (1, 0)}))
    assert found.raw == pytest.approx(-(math.log(0.5) + math.log(0.25)) / 2)
    record = record_of([token("Big", 0.5), token(" big", 0.25)])
    same = {"Big big": (1, 0), "big": (1, 0), "Big": (1, 0)}
    found = await token_sar(record, FixedEvidence(record, same))
    assert found.raw == pytest.approx(-(math.log(0.5) + math.log(0.25)) / 2)


def by_hand(surprisal, s, lam):
    p = [math.exp(-t) for t in surprisal]
    n = len(p)
    return (
        -sum(
            math.log(p[i] + sum(p[j] * s[i][j] for j in range(n) if j != i) / lam) for i in range(n)
        )
        / n
    )


async def test_sar_is_the_published_formula():
    samples = [sample_of([token("Rome", 0.4)]), sample_of([token("Paris", 0.9)])]
    record = record_of([token("Paris", 0.5)], samples=samples)
    vectors = {"Paris": (1, 0), "Rome": (0.6, 0.8), "": (0, 1)}
    s = [[1, 0.8, 1], [0.8, 1, 0.8], [1, 0.8, 1]]
    surprisal = [-math.log(p) for p in (0.5, 0.4, 0.9)]
    found = await sar(record, FixedEvidence(record, vectors))
    expected = by_hand(surprisal, s, 0.001)
    assert found.raw == pytest.approx(expected, rel=1e-5)
    assert found.risk == pytest.approx(1 / (1 + 0.001 * math.exp(-expected)), rel=1e-5)
    without = await sar(record, FixedEvidence(record, vectors), response=False, lam=0.1)
    smaller = [[1, 0.8], [0.8, 1]]
    assert without.raw == pytest.approx(by_hand(surprisal[1:], smaller, 0.1), rel=1e-5)


def test_relevant_surprise_equals_loops_and_stays_finite():
    rng = np.random.default_rng(1)
    for n in (1, 2, 7):
        surprisal, s = rng.uniform(0, 9, n), rng.uniform(0, 1, (n, n))
        assert relevant_surprise(surprisal, s, 0.01) == pytest.approx(by_hand(surprisal, s, 0.01))
    assert math.isfinite(relevant_surprise(np.full(2, 103.0), np.zeros((2, 2)), 0.001))


async def test_the_same_answers_are_less_of_a_surprise_than_others():
    vectors = {"a": (1, 0), "b": (-1, 0), "": (0, 1)}

    async def risk(*texts):
        first, *others = ([token(t, 0.5)] for t in texts)
        record = record_of(first, samples=[sample_of(x) for x in others])
        return (await sar(record, FixedEvidence(record, vectors))).risk

    assert await risk("b", "b", "b") < await risk("b", "b") < 1


async def test_what_they_need():
    record = record_of([token("Paris", 0.5)], samples=["Rome"])
    with pytest.raises(NotApplicable, match="sample 0 has no logprobs"):
        await sar(record, FixedEvidence(record))
    with pytest.raises(NotApplicable, match="proxy=MODEL"):
        await token_sar(Record(response="a"), FixedEvidence(Record(response="a")))
    (bound,) = REGISTRY.parse("sar(proxy=m)")
    assert bound.needs == {"samples"}


class Both(FixedReplies):
    async def embed(self, texts):
        return np.ones((len(texts), 1), np.float32)


async def test_a_proxy_reads_the_answers():
    record = Record(response="a", samples=["b"])
    readings = {("", "a"): reading_of(["a"], [0.5]), ("", "b"): reading_of(["b"], [0.1])}
    found = await sar(record, Both(record, readings=readings), proxy="m")
    assert found.raw == pytest.approx(
        by_hand([-math.log(0.5), -math.log(0.1)], np.ones((2, 2)), 0.001)
    )
