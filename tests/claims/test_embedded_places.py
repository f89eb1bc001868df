"""Places of claims by embeddings: the sentence that says the same in other words."""

from __future__ import annotations

import pytest

import veridical
from veridical.core.records import Record
from veridical.core.registry import REGISTRY

RESPONSE = (
    "Ada Lovelace was an English mathematician. Her spouse was William King. He passed away young. "
    "The bridge is long."
)
CLAIMS = [
    ["William King", "died", "early"],
    ["Ada Lovelace", "was", "an English mathematician"],
    "The husband had a short life.",
    "Pizza tastes good.",
]


def placed(place: str) -> dict[str, tuple[str, str]]:
    """By a claim's text, its sentence and its own place."""
    row = {"response": RESPONSE, "contexts": ["Ada Lovelace wrote."], "claims": CLAIMS}
    (found,) = veridical.check(
        [row], f"claims(extractor=given, place={place})", store="none", nli="mini"
    )
    (score,) = found.scores.values()
    sentences = Record(response=RESPONSE).sentences
    reports = zip(score.raw["claims"], score.units, strict=True)
    return {r["text"]: (sentences[r["sentence"]].text, u.text) for r, u in reports}


def test_a_claim_in_other_words_is_found_by_embeddings() -> None:
    words, embedded = placed("words"), placed("embeddings")
    young = "He passed away young."
    assert words["William King died early."] == ("Her spouse was William King.", "William King")
    assert embedded["William King died early."] == (young, young)
    # what has no place by words stands for the whole response
    assert words["The husband had a short life."][1] == RESPONSE
    assert embedded["The husband had a short life."] == (young, young)


def test_a_claim_that_words_place_stays_and_so_does_one_that_nothing_places() -> None:
    words, embedded = placed("words"), placed("embeddings")
    mathematician = "Ada Lovelace was an English mathematician."
    assert words[mathematician] == embedded[mathematician]
    assert embedded["Pizza tastes good."][1] == RESPONSE


@pytest.mark.parametrize(("place", "asks"), [("words", False), ("embeddings", True)])
def test_only_embeddings_ask_an_encoder(place: str, asks: bool) -> None:
    (bound,) = REGISTRY.parse(f"claims(place={place})")
    assert ("embed" in bound.costs) == asks
