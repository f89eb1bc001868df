from __future__ import annotations

import asyncio

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from meanings import OTHER, SAME, record_of, table_of
from nli_evidence import FixedVerdicts

from veridical.scorers.consistency._clusters import entropy, grouped, semantic_clusters
from veridical.scorers.consistency._response_pairs import response_matrix

#: One entails the other, and not the reverse: "Rome, Italy" and "Italy".
ONE_WAY = {("narrow", "wide"): SAME, ("wide", "narrow"): (0.2, 0.7, 0.1)}


def matrix(n, pairs):
    same = np.eye(n, dtype=bool)
    for i, j in pairs:
        same[i, j] = same[j, i] = True
    return same


def test_an_item_joins_the_first_cluster_whose_first_member_matches():
    # 3 matches both first members: it is in one cluster only, the earlier
    assert grouped(matrix(4, [(0, 3), (1, 3), (1, 2)])) == [[0, 3], [1, 2]]
    # 2 matches 1, which is in the cluster of 0; but 0 is what it is compared with
    assert grouped(matrix(3, [(0, 1), (1, 2)])) == [[0, 1], [2]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_an_equivalence_gives_its_classes_each_item_once(of):
    found = grouped(np.equal.outer(of, of))
    assert {frozenset(c) for c in found} == {
        frozenset(i for i, o in enumerate(of) if o == k) for k in of
    }
    assert sorted(i for c in found for i in c) == list(range(len(of)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_symmetric_relation_gives_a_partition_and_keeps_equal_items_together(data):
    kinds = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=8))
    upper = np.triu(
        np.array(data.draw(st.lists(st.booleans(), min_size=25, max_size=25))).reshape(5, 5)
    )
    relation = upper | upper.T | np.eye(5, dtype=bool)
    found = grouped(relation[np.ix_(kinds, kinds)])
    assert sorted(i for c in found for i in c) == list(range(len(kinds)))
    where = {i: n for n, c in enumerate(found) for i in c}
    for i, a in enumerate(kinds):
        assert all(where[i] == where[j] for j, b in enumerate(kinds) if a == b)


@pytest.mark.parametrize("cluster, expected", [("mutual", [[0], [1]]), ("either", [[0, 1]])])
async def test_entailment_in_one_direction_is_enough_for_either_only(cluster, expected):
    for response, sample in (("narrow", "wide"), ("wide", "narrow")):
        record = record_of(response, [sample])
        assert await semantic_clusters(record, FixedVerdicts(record, ONE_WAY), cluster) == expected


async def test_entailment_is_the_most_probable_class_not_a_threshold():
    record = record_of("a", ["b"])
    leading = FixedVerdicts(record, default=(0.4, 0.35, 0.25))
    assert await semantic_clusters(record, leading) == [[0, 1]]
    trailing = FixedVerdicts(record, default=(0.45, 0.55, 0))
    assert await semantic_clusters(record, trailing) == [[0], [1]]


async def test_clusters_of_known_meanings_on_the_prompted_texts():
    meanings = {"Q\nParis": 1, "Q\nIt is Paris": 1, "Q\nRome": 2}
    record = record_of("Paris", ["Rome", "It is Paris", "Paris", ""], prompt="Q")
    evidence = FixedVerdicts(record, table_of(meanings))
    assert await semantic_clusters(record, evidence, prompts=True) == [[0, 2, 3], [1]]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rounds_find_what_the_whole_matrix_would_and_ask_no_pair_in_vain(data):
    texts = data.draw(st.lists(st.sampled_from("abcd"), min_size=2, max_size=6))
    entails = st.sampled_from([SAME, OTHER])
    table = {(a, b): data.draw(entails) for a in "abcd" for b in "abcd" if a != b}
    record = record_of(texts[0], texts[1:])
    for rule in ("mutual", "either"):
        evidence = FixedVerdicts(record, table)
        found = asyncio.run(semantic_clusters(record, evidence, rule))
        follows = asyncio.run(response_matrix(record, FixedVerdicts(record, table))).entails
        assert found == grouped(follows & follows.T if rule == "mutual" else follows | follows.T)
        left = [sum(len(c) for c in found[k:]) for k in range(len(found))]
        assert sum(map(len, evidence.asked)) == sum(2 * (n - 1) for n in left)
        assert len(evidence.asked) == sum(n > 1 for n in left)


async def test_all_that_differ_cost_every_pair_and_all_alike_those_of_the_first():
    for texts, pairs in (("abcdef", 30), ("aaaaaa", 10), ("abbbbb", 18)):
        evidence = FixedVerdicts(record_of(texts[0], list(texts[1:])), default=OTHER)
        await semantic_clusters(record_of(texts[0], list(texts[1:])), evidence)
        assert sum(map(len, evidence.asked)) == pairs


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=9),
    st.lists(st.floats(-30, 0), min_size=9, max_size=9),
)
def test_entropy_is_that_of_the_clusters_shares(of, logs):
    logs = np.array(logs[: len(of)])
    clusters = grouped(np.equal.outer(of, of))
    shares = [np.exp(logs[c]).sum() for c in clusters]
    assert entropy(clusters, logs) == pytest.approx(scipy.stats.entropy(shares), abs=1e-9)


def test_entropy_of_probabilities_no_float_can_hold():
    # e^-2000 : e^-2001 is 1 : 1/e
    expected = scipy.stats.entropy([1, np.exp(-1)])
    assert entropy([[0], [1]], np.array([-2000.0, -2001.0])) == pytest.approx(expected)
    assert entropy([[0], [1]], np.array([0.0, -5000.0])) == 0
    assert entropy([[0], [1, 2]], np.array([0.0, -np.inf, -np.inf])) == 0


@pytest.mark.parametrize("n", range(2, 40))
def test_entropy_stays_within_its_bounds_to_the_last_bit(n):
    assert 0 <= entropy([[i] for i in range(n)], np.zeros(n)) <= np.log(n)
    assert entropy([list(range(n))], np.linspace(-3, 0, n)) == 0


async def test_equal_texts_are_together_whatever_the_model_says_of_others():
    record = record_of("a", ["b", "a", "b", "c"])
    for rule in ("mutual", "either"):
        evidence = FixedVerdicts(record, default=OTHER)
        assert await semantic_clusters(record, evidence, rule) == [[0, 2], [1, 3], [4]]
