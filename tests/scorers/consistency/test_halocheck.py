from __future__ import annotations

import asyncio
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nli_evidence import FixedVerdicts
from verdict_tables import apart, evidence_of, same, tables

from veridical.core.records import Record
from veridical.errors import NotApplicable
from veridical.scorers.consistency.halocheck import halocheck

A, B, C = "Ann left early.", "Bob came at noon.", "Cleo never called."
TABLE = {
    (A, B): (0.1, 0.2, 0.7),
    (B, A): (0.3, 0.6, 0.1),
    (A, C): (0.5, 0.5, 0.0),
    (C, A): (0.0, 0.6, 0.4),
    (B, C): (0.2, 0.8, 0.0),
    (C, B): (0.6, 0.0, 0.4),
}


async def test_worked_by_hand():
    record = Record(response=f"{A} {B}", samples=[C])
    evidence = FixedVerdicts(record, TABLE)
    found = await halocheck(record, evidence)
    # response as premise: max(.5, .2) - max(0, 0); sample: mean of 0 - .4 (A) and .6 - .4 (B)
    assert found.raw == pytest.approx((0.5 + (-0.4 + 0.2) / 2) / 2)
    assert found.risk == pytest.approx((1 - found.raw) / 2)
    assert evidence.asked == [[(A, C), (B, C), (C, A), (C, B)]]
    assert found.units == ()


async def test_three_answers_of_several_sentences_against_a_loop():
    answers = [[A, B], [B, C], [C, A, B]]
    record = Record(response=" ".join(answers[0]), samples=[" ".join(a) for a in answers[1:]])

    def value(p, h):
        return (1.0, 0.0, 0.0) if p == h else TABLE[p, h]

    zs = []
    for premise, hypothesis in permutations(answers, 2):
        columns = [
            max(value(p, h)[0] for p in premise) - max(value(p, h)[2] for p in premise)
            for h in hypothesis
        ]
        zs.append(sum(columns) / len(columns))
    found = await halocheck(record, FixedVerdicts(record, TABLE))
    assert found.raw == pytest.approx(sum(zs) / 6)


@pytest.mark.parametrize("n", [2, 5])
async def test_extremes(n):
    agree, differ = await halocheck(*evidence_of(same(n))), await halocheck(*evidence_of(apart(n)))
    assert (agree.raw, agree.risk) == (pytest.approx(1), pytest.approx(0))
    assert (differ.raw, differ.risk) == (pytest.approx(-1), pytest.approx(1))


@settings(max_examples=40, deadline=None)
@given(tables(), st.randoms())
def test_answers_of_one_sentence_range_and_order(table, random):
    found = asyncio.run(halocheck(*evidence_of(table)))
    off = ~np.eye(len(table), dtype=bool)
    assert found.raw == pytest.approx((table[off][:, 0] - table[off][:, 2]).mean(), abs=1e-12)
    assert -1 <= found.raw <= 1 and 0 <= found.risk <= 1
    order = list(range(len(table)))
    random.shuffle(order)
    assert asyncio.run(halocheck(*evidence_of(table, order))).raw == pytest.approx(
        found.raw, abs=1e-12
    )


async def test_what_it_does_not_apply_to():
    for record in (
        Record(response=A),
        Record(response=" ", samples=[A]),
        Record(response=A, samples=[A], sentences=[[0, 0]]),
    ):
        with pytest.raises(NotApplicable):
            await halocheck(record, FixedVerdicts(record))
    with pytest.raises(NotApplicable, match="contradiction"):
        await halocheck(*evidence_of(same(2), contradicts=False))
