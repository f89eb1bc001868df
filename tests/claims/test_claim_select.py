from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.claims.bm25 import Bm25, terms
from veridical.claims.select import screen, select
from veridical.core.evidence import Evidence, LocalEvidence
from veridical.core.records import Record
from veridical.core.verdicts import Verdicts
from veridical.text.relevance import MostAbout
from veridical.text.words import words

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


def screened(texts, passages, **options):
    """Places that each text keeps, and the place most about it."""
    evidence = LocalEvidence(Record(response="x"))
    kept = screen(texts, passages, evidence, **options)
    return [(s.read.tolist(), s.about) for s in kept]


FILLER = [f"the mill of town {i} was sold to a trader in spring" for i in range(60)]


def test_the_screen_reads_short_sources_whole():
    assert screened(["dog", "bird"], DOCUMENTS) == [([0, 1, 2, 3], 1), ([0, 1, 2, 3], 2)]
    size = max(map(len, FILLER))
    assert len(screened(["the mill of town 7"], FILLER, top=60, size=size)[0][0]) == 60
    assert screened(["the mill of town 7"], FILLER, top=0, size=1) == [(list(range(60)), 7)]
    assert screened([], FILLER, top=1, size=size) == []


def test_the_screen_keeps_as_much_text_as_may_be_read():
    (one,) = screened(["the mill of town 7"], FILLER, top=1, size=50)
    assert one == ([7], 7)
    (few,) = screened(["the mill of town 7"], FILLER, top=4, size=60)
    # 7 has the rare word; others are equals, of which the earlier are kept
    assert few == ([0, 1, 2, 7], 7)
    small = [f"mill {i}" for i in range(60)]
    (many,) = screened(["mill 7"], small, top=4, size=60)
    assert len(many[0]) == sum(np.cumsum([6, *[6] * 9, *[7] * 50]) <= 240)  # characters, not places
    assert 7 in many[0]


def test_the_screen_keeps_one_passage_however_long():
    long = "the tower of Zwolle is high " * 50
    (one,) = screened(["Zwolle"], [*FILLER, long], top=1, size=40)
    assert one == ([60], 60)


@pytest.mark.parametrize(
    ("text", "planted"),
    [
        ("Its turnover was 48,213 guilders.", "in that year 48,213 guilders were turned over"),
        ("Zwolle has it.", "a bell from ZWOLLE hangs in the hall of the trader's mill"),
        (
            "山田太郎は東京で生まれた。",
            "作家の山田太郎は一九二二年に東京で生まれ、のちに京都へ移った。",
        ),
        ("Он родился в Твери.", "писатель, который родился в Твери, продал мельницу"),
    ],
)
def test_numbers_names_and_other_scripts(text, planted):
    others = FILLER + [f"京都の水車は春に商人へ売られた。町は{i}番。" for i in range(60)]
    passages = [*others[:77], planted, *others[77:]]
    ((kept, about),) = screened([text], passages, top=2, size=50)
    assert about == 77
    assert 77 in kept
    assert len(kept) < 8


def test_a_text_that_shares_no_word_is_read_by_all():
    unknown, known = screened(["Ja, natürlich!", "town 3"], FILLER, top=1, size=50)
    assert unknown == (list(range(60)), 0)
    assert known == ([3], 3)
    assert screened(["?!"], FILLER, top=1, size=50) == [(list(range(60)), 0)]


def test_passages_with_the_same_text_are_kept_together():
    passages = [*FILLER, "town 7 has a bell", *FILLER, "town 7 has a bell"]
    ((kept, about),) = screened(["a bell in town 7"], passages, top=1, size=40)
    assert (kept, about) == ([60, 121], 60)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("abcdef!"), max_size=6).map(" ".join), min_size=1),
    st.lists(st.lists(st.sampled_from("abcxyz."), max_size=6).map(" ".join), max_size=4),
    st.integers(0, 4),
    st.integers(1, 9),
)
def test_what_the_screen_keeps(passages, texts, top, size):
    kept = screened(texts, passages, top=top, size=size)
    assert len(kept) == len(texts)
    for text, (read, about) in zip(texts, kept, strict=True):
        assert about == MostAbout([words(p) for p in passages]).place(words(text))
        assert about in read
        assert read == sorted(set(read))
        some = {passages[i] for i in read}
        if len(read) < len(passages):
            # the best of them may be longer than what may be read, and so may what is most about
            assert sum(sorted(map(len, some))[:-2]) <= top * size
            shared = set(words(text)) & set("abcxyz") & {w for p in passages for w in words(p)}
            assert shared
