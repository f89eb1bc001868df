"""From probabilities to triplets, and the choice among them, by tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from veridical.claims.claim import Claim
from veridical.core.protocols import TokenVectors
from veridical_lab.tagger.candidates import (
    Candidate,
    _loses_denial,
    choose,
    matched,
    token_f1,
    tokens,
)
from veridical_lab.tagger.decode import Frame, frames_beside, tails_of
from veridical_lab.tagger.features import sentence_of, word_rows, word_width
from veridical_lab.tagger.model import Selection


def sentence(text: str, offsets=()):
    offsets = np.array(offsets, np.int64).reshape(-1, 2)
    vectors = np.arange(2.0 * len(offsets)).reshape(-1, 2).astype(np.float32)
    return sentence_of(text, TokenVectors(offsets, vectors))


def shares(classes, sure=0.9):
    """Probabilities that make each word of its class."""
    table = np.full((len(classes), 3), (1 - sure) / 2)
    table[np.arange(len(classes)), classes] = sure
    return table


def test_a_words_vector_is_the_mean_of_its_tokens():
    """ "Leeds" has two tokens, the full stop none."""
    read = sentence("In Leeds.", [(0, 2), (3, 6), (6, 8)])
    assert [w.text for w in read.words] == ["In", "Leeds", "."]
    np.testing.assert_array_equal(read.vectors, [[0, 1], [3, 4], [0, 0]])
    rows = word_rows(read)
    assert rows.shape == (3, word_width(2))
    np.testing.assert_array_equal(rows[0, -3:], [0, 0, np.log1p(3)])


def test_tails_are_parted_where_one_begins():
    table = shares([0, 1, 2, 1, 0, 2])
    assert tails_of(table, 0.5) == [(1, 3), (3, 4), (5, 6)]
    assert tails_of(table, 0.96) == []


def test_the_words_beside_a_tail():
    read = sentence("Ann Lee was born to poets in Rome .")
    beside = shares([1, 1, 2, 2, 0, 0, 2, 2, 2])  # the tail itself and marks are no relation
    assert frames_beside(read, (7, 8), beside) == [Frame((0, 2), (2, 3, 6), (7, 8))]
    assert frames_beside(read, (7, 8), shares([0, 0, 2, 2, 0, 0, 2, 0, 0])) == []  # no head
    assert frames_beside(read, (7, 8), shares([1, 1, 0, 0, 0, 0, 0, 0, 0])) == []  # no relation


def test_listed_heads_give_a_triplet_each_and_others_the_surest():
    listed = sentence("Ann , Bob and Cleo live in Rome")
    beside = shares([1, 0, 1, 0, 1, 2, 2, 0])
    assert [f.head for f in frames_beside(listed, (7, 8), beside)] == [(0, 1), (2, 3), (4, 5)]
    apart = sentence("Ann met Bob Ray who lives in Rome")
    beside = shares([1, 0, 1, 1, 0, 2, 2, 0])
    assert [f.head for f in frames_beside(apart, (7, 8), beside)] == [(2, 4)]


def test_an_opened_bracket_is_closed():
    read = sentence("The Islands (BVI) lie in the sea")
    frames = frames_beside(read, (7, 9), shares([1, 1, 1, 1, 0, 2, 2, 0, 0]))
    assert frames == [Frame((0, 5), (5, 6), (7, 9))]


@pytest.mark.parametrize(
    ("text", "relation", "loses"),
    [
        ("Rome does not have winters", (1, 3), True),
        ("Rome does not have winters", (1, 2, 3), False),
        ("Rome does n't have winters", (3,), True),
        ("Rome does have cold winters", (1, 2), False),
    ],
)
def test_a_triplet_may_not_lose_a_denial(text, relation, loses):
    assert _loses_denial(sentence(text), Frame((0, 1), relation, (4, 5))) is loses


def test_no_denial_beside_a_triplet_is_lost():
    assert _loses_denial(sentence("No dogs have wings"), Frame((1, 2), (2,), (3, 4)))


def candidate(text: str, own, share: float, by_rules=False):
    """One whose only feature is its log-odds."""
    claim = Claim(text, min(own), max(own) + 1, 0)
    return Candidate(claim, frozenset(own), by_rules, np.array([np.log(share / (1 - share))]))


PLAIN = Selection(np.zeros(1), np.ones(1), np.ones(1), np.array(0.0), 0.4)


def test_the_likelier_of_two_that_say_the_same_and_what_is_left_untold():
    found = [
        candidate("Ann lives in Rome now.", range(5), 0.5),
        candidate("Ann lives in Rome.", range(4), 0.8),
        candidate("Ann was born in 1950.", range(6, 11), 0.41),
        candidate("Ann was a nurse.", range(12, 16), 0.39),
        candidate("It rained on Ann all day.", range(20, 26), 0.1, by_rules=True),
        candidate("Ann lives in Rome and sings.", (0, 1, 2, 3, 5), 0.1, by_rules=True),
    ]
    assert [c.text for c in choose(PLAIN, found)] == [
        "Ann lives in Rome.",
        "Ann was born in 1950.",
        "It rained on Ann all day.",
    ]
    assert choose(PLAIN, []) == []


def test_token_f1_and_matching_one_to_one():
    a, b = tokens("Ann was born in Rome."), tokens("ann born in rome")
    assert token_f1(a, b) == pytest.approx(8 / 9)
    assert token_f1(tokens("..."), tokens("")) == 0
    assert matched([a, a], [b], 0.6) == 1
    assert matched([a], [b], 0.9) == 0
    # the better pair comes first, so that both known ones are matched
    said = [tokens("Ann born in Rome"), tokens("Ann was born in Rome in May")]
    assert matched(said, [tokens("Ann was born in Rome"), tokens("Ann born in Rome")], 0.6) == 2
