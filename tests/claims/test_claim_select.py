from __future__ import annotations

import math

import numpy as np
import pytest

from veridical.claims.bm25 import Bm25, terms
from veridical.claims.select import select
from veridical.evidence import Evidence
from veridical.evidence.verdicts import Verdicts
from veridical.records import Record

DOCUMENTS = ["the cat sat", "the dog sat on the mat", "a bird sang", "the cat and the dog"]


class Models(Evidence):
    """Embeddings count letters; the NLI model says what ``table`` has of (passage, claim)."""

    def __init__(self, table=None, contradicts=True):
        super().__init__(Record(response="x"))
        self.table, self.contradicts, self.asked = table or {}, contradicts, []

    async def embed(self, texts):
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = np.array([[t.count(c) for c in letters] for t in texts], np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    async def nli(self, pairs, model=None):
        self.asked.append((pairs, model))
        rows = [self.table.get(p, (0, 1, 0)) for p in pairs]
        return Verdicts(np.array(rows, float), self.contradicts)

    async def _score(self, bound):
        raise AssertionError("no scorer is asked")


def by_the_formula(query, document, documents, k1=1.2, b=0.75):
    """Robertson and Zaragoza 2009, term by term."""
    mean = sum(map(len, documents)) / len(documents)
    total = 0.0
    for term in query:
        df = sum(term in d for d in documents)
        idf = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
        tf = document.count(term)
        total += idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(document) / mean))
    return total


def test_bm25_by_the_formula():
    documents = [d.split() for d in DOCUMENTS]
    queries = [["cat"], ["the", "dog"], ["unknown", "bird"], ["cat", "cat"], []]
    found = Bm25(documents).scores(queries)
    expected = [[by_the_formula(q, d, documents) for d in documents] for q in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = Bm25(documents, k1=2.0, b=0.0).scores(queries)
    expected = [[by_the_formula(q, d, documents, 2.0, 0.0) for d in documents] for q in queries]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_bm25_of_next_to_nothing():
    assert Bm25([]).scores([["a"]]).shape == (1, 0)
    assert Bm25([[], []]).scores([["a"]]).tolist() == [[0, 0]]
    assert Bm25([["a"]]).scores([]).shape == (0, 1)
    assert terms(["The", "U.S.", ",", "—", "3", "Ärger"]) == ["the", "u.s.", "3", "ärger"]


async def test_few_passages_are_all_taken():
    for how in ("all", "bm25", "embedding", "cross_encoder"):
        found = await select(["a", "b"], DOCUMENTS, Models(), how=how, top=4)
        assert [ids.tolist() for ids in found] == [[0, 1, 2, 3]] * 2
    found = await select(["a"], DOCUMENTS, Models(), how="all", top=1)
    assert found[0].tolist() == [0, 1, 2, 3]


async def test_by_words_and_by_embeddings():
    found = await select(["Dog!", "bird"], DOCUMENTS, Models(), how="bm25", top=2)
    assert [ids.tolist() for ids in found] == [[1, 3], [2]]
    passages = ["xyz", "aab", "zzz"]
    found = await select(["aba", "zz"], passages, Models(), how="embedding", top=1)
    assert [ids.tolist() for ids in found] == [[1], [2]]


async def test_cross_encoder_ranks_what_bm25_finds():
    passages = [f"the cat number {i}" for i in range(8)] + ["no such animal"] * 3
    table = {
        (passages[5], "cat"): (0.0, 0.2, 0.8),
        (passages[2], "cat"): (0.7, 0.3, 0.0),
        (passages[9], "cat"): (1.0, 0.0, 0.0),  # not among those it is asked about
    }
    models = Models(table)
    found = await select(["cat"], passages, models, how="cross_encoder", top=2, ranker="mine")
    assert found[0].tolist() == [2, 5]
    ((pairs, model),) = models.asked
    assert model == "mine"
    assert pairs == [(p, "cat") for p in passages[:8]]
    # a model without contradiction has the rest in neutral: entailment alone counts
    models = Models({k: (e, n + c, 0.0) for k, (e, n, c) in table.items()}, contradicts=False)
    found = await select(["cat"], passages, models, how="cross_encoder", top=1)
    assert found[0].tolist() == [2]


async def test_equally_good_passages_in_order():
    found = await select(["zebra"], DOCUMENTS, Models(), how="bm25", top=2)
    assert found[0].tolist() == [0, 1]


@pytest.mark.parametrize("how", ["bm25", "embedding", "cross_encoder"])
async def test_nothing_asked(how):
    assert await select([], [f"p{i}" for i in range(20)], Models(), how=how, top=1) == []


async def test_passages_that_share_common_words_only_are_left_out():
    passages = [f"the tower of town {i} is high" for i in range(30)]
    passages[7] = "the tower of Zwolle is high, says everybody who has been there"
    found = await select(["The tower of Zwolle is high"], passages, Models(), top=8)
    assert found[0].tolist() == [7]
    found = await select(["The tower is high"], passages, Models(), top=8)
    assert len(found[0]) == 8  # no word tells them apart
