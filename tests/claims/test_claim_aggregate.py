from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.claims.aggregate import (
    Judged,
    Rates,
    find_rule,
    major,
    risk_of,
    rule,
    soft,
    strict,
)
from veridical.core.protocols import LABELS
from veridical.errors import UsageError

E, N, C = LABELS
SOME_LABELS = st.lists(st.sampled_from(LABELS), min_size=1, max_size=9)


def judged(*rows, labels=None, **fields):
    table = np.array(rows, float)
    return Judged(labels or tuple(LABELS[i] for i in table.argmax(axis=1)), table, **fields)


@pytest.mark.parametrize(
    ("labels", "of_strict", "of_major"),
    [
        ([E, E, N], N, E),
        ([E, N, N, C], C, N),
        ([E, C], C, C),  # a tie: the worst here, the first in the published code
        ([N, E, C, E, N], C, N),
        ([E], E, E),
        ([], "abstain", "abstain"),
    ],
)
def test_published_rules(labels, of_strict, of_major):
    assert strict(labels) == of_strict
    assert major(labels) == of_major


def test_ratios():
    found = soft([E, C, E, N])
    assert found == Rates(0.5, 0.25, 0.25, 0)
    assert found.hallucination == 0.5
    assert soft([]) == Rates(0, 0, 0, 1)


@pytest.mark.parametrize("function", [strict, major, soft])
def test_an_unknown_label_is_no_label(function):
    with pytest.raises(ValueError, match="not 'Entailment'"):
        function([E, "Entailment"])


@given(SOME_LABELS)
def test_nothing_is_altered_and_order_does_not_matter(labels):
    before = list(labels)
    found = [f(labels) for f in (strict, major, soft)]
    assert labels == before
    assert [f(labels[::-1]) for f in (strict, major, soft)] == found
    assert sum(found[2]) == pytest.approx(1)
    counts = Counter(labels)
    assert counts[found[1]] == max(counts.values())


@given(SOME_LABELS)
def test_risks_agree_with_the_published_rules_on_certain_verdicts(labels):
    certain = judged(*(np.eye(3)[LABELS.index(x)] for x in labels))
    assert risk_of(certain, "strict") == (strict(labels) != E)
    assert risk_of(certain, "soft") == pytest.approx(soft(labels).hallucination)
    entailed = labels.count(E)
    others = len(labels) - entailed
    expected = 0.5 if entailed == others else float(others > entailed)
    assert risk_of(certain, "major") == expected
    published = (entailed - labels.count(C)) / len(labels)  # weights 1, 0 and -1
    assert risk_of(certain, "weighted") == pytest.approx((1 - published) / 2)


def test_risks_by_hand():
    claims = judged((0.9, 0.1, 0), (0.6, 0.1, 0.3), (0.2, 0.7, 0.1), weights=(0, 0.25, 1))
    assert risk_of(claims, "strict") == pytest.approx(0.8)
    assert risk_of(claims, "soft") == pytest.approx((0.1 + 0.4 + 0.8) / 3)
    assert risk_of(claims, "major") == pytest.approx(0.4)
    assert risk_of(claims, "weighted") == pytest.approx((0.025 + 0.325 + 0.275) / 3)


def test_rules_of_ones_own():
    @rule("test_share_contradicted")
    def share(claims):
        return claims.labels.count(C) / len(claims.labels)

    assert risk_of(judged((0, 0, 1), (1, 0, 0)), "test_share_contradicted") == 0.5
    assert find_rule("test_share_contradicted") is share
    rule("test_share_contradicted")(share)  # a reload
    with pytest.raises(UsageError, match="registered twice"):
        rule("strict")(share)
    with pytest.raises(UsageError, match="unknown claim rule 'strickt'; did you mean 'strict'"):
        find_rule("strickt")


@pytest.mark.parametrize("given", [1.5, -0.1, math.nan, None, "high"])
def test_a_rule_that_gives_no_risk_fails(given):
    rule(f"test_gives_{given}")(lambda claims: given)
    with pytest.raises(UsageError, match="must return a risk from 0 to 1"):
        risk_of(judged((1, 0, 0)), f"test_gives_{given}")
