from __future__ import annotations

import numpy as np
import pytest

from veridical.claims import checkers
from veridical.claims.claim import Claim
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.verdicts import Verdicts
from veridical.errors import UsageError


class Nli(Evidence):
    def __init__(self, rows):
        super().__init__(Record(response="x"))
        self.rows, self.asked = rows, []

    async def nli(self, pairs, model=None):
        self.asked.append((list(pairs), model))
        return Verdicts(np.array(self.rows, float))

    async def _score(self, bound):
        raise AssertionError("no scorer is asked")


async def test_the_passage_is_the_premise():
    evidence = Nli([(0.1, 0.2, 0.7), (0.6, 0.4, 0.0)])
    pairs = [(Claim("Ada lived.", 0, 10, 0), "A text."), (Claim("Bob ran.", 0, 8, 0), "Another.")]
    for options, model in (({}, None), ({"nli": "mine"}, "mine"), ({"nli": None}, None)):
        found = await checkers.find_checker("nli", **options)(pairs, evidence)
        assert found.tolist() == evidence.rows or np.allclose(found, evidence.rows)
        texts, asked = evidence.asked.pop()
        assert texts == [("A text.", "Ada lived."), ("Another.", "Bob ran.")]
        assert asked == model


def test_names_and_options():
    assert "nli" in checkers.CHECKERS
    assert checkers.costs_of("nli") == {"nli"}
    assert checkers.options_of("nli") == ("nli",)
    for ask in (checkers.find_checker, checkers.costs_of, checkers.options_of):
        with pytest.raises(UsageError, match="unknown claim checker 'nly'; did you mean 'nli'"):
            ask("nly")
    with pytest.raises(UsageError, match="'nli' has no option 'llm'; it takes: nli"):
        checkers.find_checker("nli", llm="mine")


async def test_a_quarter_of_the_verdict_is_the_words():
    rows = [(0.8, 0.2, 0.0), (0.8, 0.2, 0.0), (0.1, 0.1, 0.8), (0.5, 0.3, 0.2), (0.4, 0.4, 0.2)]
    passage = "Ada, a Countess, was born in London."
    texts = ["She was born in LONDON.", "She was born in Paris.", "Bob ran to Rome.", "So it was."]
    evidence = Nli(rows)
    pairs = [(Claim(t, 0, len(t), 0), passage) for t in texts]
    pairs.append((pairs[0][0], "Paris is in France."))
    found = await checkers.find_checker("nli_words", nli="mine")(pairs, evidence)
    assert evidence.asked == [([(p, c.text) for c, p in pairs], "mine")]
    # born, london, paris, bob, ran, rome: the passage has two of the six that were asked about it
    shares = [(2 + 2 * 2 / 6) / 4, (1 + 2 * 2 / 6) / 4, (0 + 2 * 2 / 6) / 5]
    expected = [
        (0.6 + 0.25 * shares[0], 0.15 + 0.25 * (1 - shares[0]), 0.0),
        (0.6 + 0.25 * shares[1], 0.15 + 0.25 * (1 - shares[1]), 0.0),
        # another matter, which the passage does not contradict
        (0.075 + 0.25 * shares[2], 0.675 + 0.25 * (1 - shares[2]), 0.0),
        (0.5, 0.3, 0.2),  # nothing but function words
        (0.3, 0.3 + 0.25, 0.15),  # neither born nor london
    ]
    assert found == pytest.approx(np.array(expected))
    assert evidence.rows == rows  # not altered


async def test_words_do_not_hide_a_negation():
    rows = [(0.5, 0.5, 0.0)] * 2
    passage = "Ada came into the world in London."
    texts = ["Ada was born in London.", "Ada was not born in London."]
    pairs = [(Claim(t, 0, len(t), 0), passage) for t in texts]
    plain, negated = await checkers.find_checker("nli_words")(pairs, Nli(rows))
    # ada, born, london, not: the passage has two of them, of the first claim two of three
    assert plain[0] == pytest.approx(0.75 * 0.5 + 0.25 * (2 + 2 * 2 / 4) / 5)
    assert negated[0] == pytest.approx(0.75 * 0.5 + 0.25 * (2 + 2 * 2 / 4) / 6)


async def test_a_copy_and_its_denial_need_no_model():
    passage = "Ada was born in London."
    texts = ["Ada was born in London.", "Ada was not born in London."]
    pairs = [(Claim(t, 0, len(t), 0), passage) for t in texts]
    evidence = Nli(np.zeros((0, 3)))
    plain, negated = await checkers.find_checker("nli_words")(pairs, evidence)
    assert evidence.asked == [([], None)]
    assert plain.tolist() == [1, 0, 0]
    assert negated[2] > 0.5 > negated[0]
