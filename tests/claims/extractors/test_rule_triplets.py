"""Triplets by rules and by spaCy's parse."""

from __future__ import annotations

import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import Record
from veridical.claims.extractors import find_extractor
from veridical.claims.extractors.triplets import frames_of
from veridical.core.evidence import LocalEvidence

INSTALLED = any(m.name.startswith("en_core_web_sm") for m in pkgutil.iter_modules())
needs_model = pytest.mark.skipif(not INSTALLED, reason="SPACY MODEL ABSENT: no en_core_web_sm*")


async def claims(name: str, response: str):
    record = Record(response=response)
    return (await find_extractor(name)(record, LocalEvidence(record))).claims


@pytest.mark.parametrize(
    ("clause", "triplets"),
    [
        ("Ann Lee is an actress.", [("Ann Lee", "is", "an actress")]),
        ("He did not join the army.", [("He", "did not join", "the army")]),
        (
            "The song was released in 1969.",
            [("The song", "was released in", "1969")],
        ),
        (
            "Ann Lee moved to Oslo in May 1990.",
            [("Ann Lee", "moved to", "Oslo"), ("Ann Lee", "moved to Oslo in", "May 1990")],
        ),
        ("John Smith (born 5 May 1950)", [("John Smith", "born", "5 May 1950")]),
        ("He winning the league.", [("He", "winning", "the league")]),
        ("He died.", []),
        ("What a day!", []),
        ("Er war ein Lehrer.", []),
    ],
)
def test_frames(clause, triplets):
    assert [tuple(clause[a:b] for a, b in f) for f in frames_of(clause)] == triplets


async def test_places_of_rule_triplets():
    response = "Ann Lee was born in Rome and moved to Oslo in 1990. Him."
    found = await claims("triplets", response)
    assert [c.triplet for c in found] == [
        ("Ann Lee", "was born in", "Rome"),
        ("Ann Lee", "moved to", "Oslo"),
        ("Ann Lee", "moved to Oslo in", "1990"),
        None,
    ]
    assert found[1].text == "Ann Lee moved to Oslo."
    assert [response[a:b] for a, b in found[1].parts] == ["Ann Lee", "moved to Oslo"]
    assert found[1].span(response).text == "moved to Oslo"
    assert found[3].text == "Him."


@given(st.text(max_size=80))
def test_any_clause(text):
    for frame in frames_of(text):
        assert all(0 <= a < b <= len(text) for a, b in frame)


@needs_model
@pytest.mark.spacy
async def test_spacy_triplets():
    response = (
        "Ann Lee, an American actress, was born in Rome and raised in Oslo. "
        "If she won, he left. She met Bob Ray, who wrote two novels and a play."
    )
    found = await claims("spacy", response)
    triplets = {c.triplet for c in found}
    assert triplets >= {
        ("Ann Lee", "is", "an American actress"),
        ("Ann Lee", "was born in", "Rome"),
        ("Ann Lee", "was raised in", "Oslo"),
        ("She", "met", "Bob Ray"),
        ("Bob Ray", "wrote", "two novels"),
        ("Bob Ray", "wrote", "a play"),
    }
    assert not any(t and t[0] == "he" for t in triplets)
    for claim in found:
        for start, end in claim.parts:
            assert claim.start <= start < end <= claim.end
    born = next(c for c in found if c.triplet == ("Ann Lee", "was born in", "Rome"))
    assert [response[a:b] for a, b in born.parts] == ["Ann Lee", "was born in Rome"]


@needs_model
@pytest.mark.spacy
async def test_spacy_keeps_what_it_cannot_take_apart():
    (claim,) = await claims("spacy", "Rainy?")
    assert (claim.text, claim.triplet) == ("Rainy?", None)
