from __future__ import annotations

import numpy as np
import pytest
from nli_evidence import FixedVerdicts

import veridical
from veridical.core.passage_verdicts import passage_verdicts
from veridical.core.records import Record

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
