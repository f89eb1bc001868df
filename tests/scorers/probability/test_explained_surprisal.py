"""Explained surprisal, by hand-worked probabilities, and by a real small language model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm_evidence import FixedReplies
from token_records import reading_of

from veridical.core.records import Record
from veridical.errors import ModelError, NotApplicable
from veridical.scorers.probability.explained_surprisal import (
    READ,
    _packs,
    explained,
    explained_surprisal,
)
from veridical.weights import download

TOKENS = ["She", " met", " Ann", " in", " 1990", ".", " It", " rained", "."]
ALONE = [0.5, 0.5, 0.01, 0.5, 0.0001, 0.9, 0.5, 0.1, 0.9]
TEXT = "".join(TOKENS)


def readings(given: dict[str, list[float]]):
    """What the proxy says of TEXT alone, and after each prompt."""
    told = {"\n\n": ALONE, **{p + "\n\n": v for p, v in given.items()}}
    return {(p, TEXT): reading_of(TOKENS, v) for p, v in told.items()}


def after(ann: float, year: float) -> list[float]:
    return [0.5, 0.5, ann, 0.5, year, 0.9, 0.5, 0.99, 0.9]


async def scored(record, said, **options):
    return await explained_surprisal(record, FixedReplies(record, readings=said), **options)


async def test_the_share_that_is_left_of_the_surprisal_of_names_and_figures():
    record = Record(response=TEXT, samples=["one", "two"])
    # -log .1 is half of -log .01; a year that is likelier only by the square root: half as well
    said = readings({"one\n\ntwo": after(0.1, 1.0)})
    score = await scored(record, said, proxy="m")
    assert score.raw == pytest.approx((0.5 + 0.0) / 2)
    assert score.risk == score.raw
    met, rained = [u for u in score.units if u.level == "sentence"]
    assert met.risk == pytest.approx(0.25) and rained.risk is None  # nothing to tell there
    assert [e.text for e in met.evidence] == [" Ann", " 1990"]  # the least explained first
    assert not [u for u in score.units if u.level == "span"]  # none is explained by under half
    assert met.evidence[0].probability == pytest.approx(0.1)


async def test_an_item_is_explained_as_far_as_its_least_explained_token():
    tokens = ["On", " 4", " May", " 19", "90", ",", " Ann", " left", "."]
    text = "".join(tokens)
    alone = [0.5, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]
    given = [0.5, 1.0, 1.0, 1.0, 0.01, 0.01, 0.1, 0.01, 0.01]  # the year's second half is not
    said = {
        ("\n\n", text): reading_of(tokens, alone),
        ("one\n\n", text): reading_of(tokens, given),
    }
    score = await scored(Record(response=text, samples=["one"]), said, proxy="m")
    assert score.raw == pytest.approx((1.0 + 0.5) / 2)
    (date,) = [u for u in score.units if u.level == "span"]
    assert (date.label, text[date.start : date.end], date.risk) == ("date", "4 May 1990", 1.0)


@pytest.mark.parametrize(
    ("alone", "after_sources", "share"),
    [
        (0.01, 0.01, 0.0),
        (0.01, 1.0, 1.0),
        (0.01, 0.1, 0.5),
        (0.01, 0.001, 0.0),  # less likely than before is not explained either
        (1.0, 1.0, 1.0),  # nothing to explain, and still certain
        (1.0, 0.5, 0.0),
    ],
)
def test_the_share_of_a_token(alone, after_sources, share):
    found = explained(np.log([alone]), np.log([after_sources]))
    assert found[0] == pytest.approx(share)


@given(st.floats(-200, 0), st.floats(-200, 0))
def test_shares_lie_between_none_and_all(alone, after_sources):
    found = explained(np.array([alone]), np.array([after_sources]))
    assert 0 <= found[0] <= 1


async def test_of_samples_that_are_too_long_to_read_together_the_mean_counts():
    long = "x" * READ
    record = Record(response=TEXT, samples=["one", long])
    said = readings({"one": after(0.1, 0.01), long: after(1.0, 0.01)})
    score = await scored(record, said, proxy="m")
    assert score.raw == pytest.approx(1 - ((0.5 + 1.0) / 2 + 0.5) / 2)


async def test_of_contexts_the_best_counts_token_by_token():
    long = "x" * READ
    record = Record(response=TEXT, contexts=["one", long])
    said = readings({"one": after(0.1, 1.0), long: after(1.0, 0.0001)})
    score = await scored(record, said, proxy="m", against="contexts")
    assert score.raw == pytest.approx(0.0)


async def test_sources_longer_than_can_be_read_are_cut_between_sentences():
    sentence = "This one has forty characters, or about. "
    long = sentence * (READ // len(sentence) + 5)
    packs = _packs([long, " ", "short"])
    assert all(len(p) <= READ for p in packs) and len(packs) == 2
    assert packs[-1].endswith("\n\nshort")
    assert " ".join(p.removesuffix("\n\nshort") for p in packs) == long.strip()


async def test_without_names_and_figures_every_word_counts():
    tokens = ["yes", ",", " it", " is"]
    record = Record(response="yes, it is", samples=["s"])
    said = {
        ("\n\n", "yes, it is"): reading_of(tokens, [0.01, 0.5, 0.01, 0.01]),
        ("s\n\n", "yes, it is"): reading_of(tokens, [1.0, 0.001, 0.1, 0.01]),
    }
    score = await scored(record, said, proxy="m")
    assert score.raw == pytest.approx(1 - (1.0 + 0.5 + 0.0) / 3)


async def test_what_cannot_be_scored_says_why():
    record = Record(response=TEXT, samples=["one"])
    with pytest.raises(NotApplicable, match="no proxy"):
        await scored(record, {})
    with pytest.raises(NotApplicable, match="no contexts"):
        await scored(record, {}, against="contexts", proxy="m")
    with pytest.raises(NotApplicable, match="no samples"):
        await scored(Record(response=TEXT, samples=[" \n"]), {}, proxy="m")
    other = {**readings({}), ("one\n\n", TEXT): reading_of([TEXT], [0.5])}
    with pytest.raises(ModelError, match="tokenizes the response differently"):
        await scored(record, other, proxy="m")


@pytest.mark.local
@pytest.mark.skipif(
    download.find(download.SMOLLM2) is None,
    reason="LOCAL LLM ABSENT: veridical models get smollm2",
)
def test_a_small_model_copies_what_the_samples_say():
    import veridical

    said = "Oswin Tarrable was a weaver from Dunmore, born in 1743. He married Ilse Fenn."
    wrong = "Oswin Tarrable was a weaver from Kilbride, born in 1781. He married Greta Moss."
    rows = [{"response": r, "samples": [said, said, "He had two sons."]} for r in (said, wrong)]
    with veridical.Engine(store=None, proxy="smollm2") as engine:
        right, false = veridical.check(rows, "explained_surprisal", engine=engine)
    assert right.risk < 0.25 and false.risk > 0.7
    (score,) = false.scores.values()
    spans = [wrong[u.start : u.end] for u in score.units if u.level == "span"]
    assert spans == ["Kilbride", "1781", "Greta Moss"]
