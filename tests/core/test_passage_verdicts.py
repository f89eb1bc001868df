from __future__ import annotations

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.passage_verdicts import ENOUGH, TOGETHER, passage_verdicts
from veridical.core.records import Record
from veridical.text.relevance import candidates
from veridical.text.sentences import split_sentences
from veridical.text.words import words_of

RETURNS = "Items can be returned within 30 days of delivery."
SOFTWARE = "Opened software cannot be returned."
SHOP = "The shop is in Leeds."
POLICY = f"{SHOP} {RETURNS} {SOFTWARE}"
SAID = "You can return items within 30 days of delivery."


async def judged(table, *pairs, **options):
    evidence = FixedVerdicts(Record(response="x"), table, **options)
    found = await passage_verdicts(evidence, pairs)
    return found, evidence.asked


async def test_the_mean_of_the_whole_passage_and_the_better_of_two_sentences():
    table = {
        (POLICY, SAID): (0.4, 0.3, 0.3),
        (RETURNS, SAID): (0.9, 0.1, 0.0),
        (SOFTWARE, SAID): (0.0, 0.1, 0.9),
        (SHOP, SAID): (1.0, 0.0, 0.0),  # shares no word with it, and is not asked
    }
    found, asked = await judged(table, (POLICY, SAID))
    assert asked == [[(POLICY, SAID), (RETURNS, SAID), (SOFTWARE, SAID)]]
    # what a sentence alone contradicts, the others may explain: of the passage alone
    assert found.probabilities[0] == pytest.approx([0.65, 0.05, 0.3])


async def test_contradiction_has_what_entailment_leaves():
    table = {(POLICY, SAID): (0.1, 0.0, 0.9), (RETURNS, SAID): (0.9, 0.1, 0.0)}
    found, _ = await judged(table, (POLICY, SAID), default=(0.0, 1.0, 0.0))
    assert found.probabilities[0] == pytest.approx([0.5, 0.0, 0.5])


async def test_no_more_than_two_sentences_and_those_that_share_most():
    sentences = [f"Ada met {name} in Rome." for name in ("Ann", "Bob", "Cal", "Dan")]
    said = "Ada met Cal and Bob."
    _, asked = await judged({}, (" ".join(sentences), said))
    assert sorted(asked[0][1:]) == [(sentences[1], said), (sentences[2], said)]


async def test_each_sentence_is_asked_once_for_a_statement():
    first, second = f"{SHOP} {RETURNS}", f"{RETURNS} {SOFTWARE}"
    _, asked = await judged({}, (first, SAID), (second, SAID), (first, SHOP))
    (alone,) = asked
    assert len(alone) == len(set(alone))
    assert (RETURNS, SAID) in alone
    assert (RETURNS, SHOP) not in alone


@pytest.mark.parametrize(
    ("passage", "row"),
    [
        (RETURNS, (0.4, 0.3, 0.3)),  # one sentence is the whole
        ("It is open daily. Ask Lumo!", (0.4, 0.6, 0.0)),  # no shared word
    ],
)
async def test_nothing_more_is_asked(passage, row):
    found, asked = await judged({(passage, SAID): row}, (passage, SAID))
    assert asked == [[(passage, SAID)]]
    assert found.probabilities.tolist() == [list(row)]


async def test_a_passage_about_something_else_is_neutral():
    leeds = "Lumo was founded in Leeds."
    table = {
        ("Lumo has its head office in Berlin.", leeds): (0.1, 0.2, 0.7),
        ("Lumo was founded in Berlin.", leeds): (0.1, 0.2, 0.7),
    }
    found, _ = await judged(table, *table)
    assert found.probabilities == pytest.approx(np.array([[0.1, 0.9, 0.0], [0.1, 0.2, 0.7]]))
    assert found.contradicts


async def test_a_model_without_contradiction():
    table = {(POLICY, SAID): (0.4, 0.6, 0.0), (RETURNS, SAID): (0.8, 0.2, 0.0)}
    found, _ = await judged(table, (POLICY, SAID), default=(0.0, 1.0, 0.0), contradicts=False)
    assert found.probabilities[0] == pytest.approx([0.6, 0.4, 0.0])
    assert not found.contradicts


BEST, NEXT = f"{RETURNS} The shop is open.", f"{SOFTWARE} Items can be returned in Leeds."
LAST = f"{SHOP} Delivery is free. Software is sold."
APART = "Tea is served at noon. Cakes are baked at one."


async def by_alternatives(table, *passages, **options):
    """Rows of SAID by passages that are alternatives, and what was asked, in order."""
    evidence = FixedVerdicts(Record(response="x"), table, **options)
    pairs = [(passage, SAID) for passage in passages]
    found = await passage_verdicts(evidence, pairs, alternatives=[range(len(pairs))])
    return found.probabilities, [[premise for premise, _ in asked] for asked in evidence.asked]


async def test_what_entails_surely_leaves_the_others_unread():
    sure = {(BEST, SAID): (0.95, 0.05, 0.0), (RETURNS, SAID): (0.9, 0.1, 0.0)}
    rows, asked = await by_alternatives(sure, BEST, NEXT, LAST)
    assert rows[0] == pytest.approx([0.925, 0.075, 0])
    assert np.isnan(rows[1:]).all()
    assert asked == [[BEST, RETURNS]]  # its other sentence shares no word


async def test_what_its_sentences_leave_below_the_best_is_not_read():
    near = NEXT.removeprefix(f"{SOFTWARE} ")
    table = {(BEST, SAID): (0.7, 0.3, 0.0), (RETURNS, SAID): (0.7, 0.3, 0.0)}
    table |= {(near, SAID): (0.6, 0.4, 0.0), (SOFTWARE, SAID): (0.1, 0.1, 0.8)}
    rows, asked = await by_alternatives(table, BEST, NEXT, LAST, default=(0.3, 0.7, 0.0))
    # (1 + 0.6) / 2 is more than 0.7; (1 + 0.3) / 2 is less
    assert rows[:, 0] == pytest.approx([0.7, 0.45, np.nan], nan_ok=True)
    assert asked[0] == [BEST, RETURNS]
    assert asked[2:] == [[NEXT]]


async def test_the_largest_of_alternatives_is_that_of_all():
    """Whatever a model says: the best and, for contradiction, the first are as if all were read."""
    random = np.random.default_rng(4)
    passages = [BEST, NEXT, LAST, POLICY]
    for _ in range(200):
        texts = [*passages, *(s.text for p in passages for s in split_sentences(p))]
        table = {(t, SAID): tuple(random.dirichlet([0.3] * 3)) for t in texts}
        order = [passages[i] for i in random.permutation(len(passages))]
        rows, _ = await by_alternatives(table, *order)
        every, _ = await judged(table, *((p, SAID) for p in order))
        best = every.probabilities[:, 0].max()
        # those of no near sentence aside, a sure one ends the search
        found = np.nanmax(rows[:, 0])
        assert found == pytest.approx(best) or found >= ENOUGH or _left_out(order, rows, every)
        assert rows[0] == pytest.approx(every.probabilities[0])


def _left_out(order, rows, every):
    """Return True if the best was left out, as other passages hold the nearest sentences."""
    best = order[int(every.probabilities[:, 0].argmax())]
    sentences = [s.text for p in order for s in split_sentences(p)]
    nearest = candidates(tuple(dict.fromkeys(sentences))).nearest(words_of(SAID), TOGETHER)
    near = {list(dict.fromkeys(sentences))[i] for i in nearest}
    return not near & {s.text for s in split_sentences(best)}


async def test_a_passage_about_something_else_is_no_alternative():
    rows, asked = await by_alternatives({}, BEST, APART, SHOP)
    assert np.isnan(rows[1]).all()
    assert APART not in [text for texts in asked for text in texts]
    assert not np.isnan(rows[2]).any()  # one sentence is soon read


async def test_where_no_word_is_shared_all_are_read():
    rows, _ = await by_alternatives({}, APART, "Ask Lumo. Or Ada.", "Nobody. Never.")
    assert not np.isnan(rows).any()


async def test_no_pairs():
    found, asked = await judged({})
    assert len(found) == 0
    assert asked == [[]]


@pytest.mark.parametrize("scorer", ["nli_grounding", "claims"])
def test_a_sentence_that_says_so_is_not_drowned_by_the_next(scorer):
    """By the embedded model: both sentences together entail it with little more than a half."""
    row = {
        "response": "Items can be returned within 30 days.",
        "contexts": [f"{RETURNS} {SOFTWARE}"],
    }
    with veridical.Engine(processes=0, store=None) as engine:
        (result,) = veridical.check([row], scorer, engine=engine)
    assert result.scores[scorer].risk < 0.3


async def test_a_copy_is_entailed_without_the_model():
    found, asked = await judged({}, (POLICY, RETURNS), (POLICY, SHOP))
    assert found.probabilities.tolist() == [[1, 0, 0], [1, 0, 0]]
    assert not any(asked)


async def test_the_opposite_in_the_same_words_is_contradicted_without_the_model():
    pairs = [(POLICY, "Opened software can be returned."), (SHOP, "The shop is not in Leeds.")]
    found, asked = await judged({}, *pairs)
    assert (found.probabilities[:, 2] > 0.8).all()
    assert not any(asked)


async def test_what_another_sentence_says_too_is_left_to_the_model():
    passage = "Keys can be copied. Keys cannot be copied."
    _, asked = await judged({}, (passage, "The keys can be copied."))
    assert asked[0][0] == (passage, "The keys can be copied.")


async def test_an_address_that_the_passage_lacks_is_not_entailed():
    passage = "The shop sells tea. See https://shop.example/tea or write to us."
    right, wrong = "Tea: https://shop.example/tea", "Tea: https://shop.example/tee"
    found, _ = await judged({}, (passage, right), (passage, wrong), default=(0.9, 0.1, 0.0))
    assert found.probabilities[0] == pytest.approx([0.9, 0.1, 0])
    assert found.probabilities[1] == pytest.approx([0.1, 0.9, 0])
