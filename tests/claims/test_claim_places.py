"""Triplets as statements, and their places in responses."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import Record
from veridical.claims.triplets import Places, statement


@pytest.mark.parametrize(
    ("triplet", "expected"),
    [
        (("Optus Stadium", "located in", "Perth"), "Optus Stadium located in Perth."),
        (("snakes", "have odor", "No"), "It is not true that snakes have odor."),
        (("Mushrooms", "grow rapidly", "true"), "Mushrooms grow rapidly."),
        (("Who?\n", " asked ", "Why?"), "Who? asked Why?"),
        (("", "", ""), ""),
    ],
)
def test_statements(triplet, expected):
    assert statement(triplet) == expected


TEXT = (
    "OPEC was founded in Baghdad by Iran, Kuwait and Venezuela. It has thirteen members.\n"
    "These countries have left:\n- Qatar (2019)\n- Ecuador\n- Angola"
)


@pytest.mark.parametrize(
    ("claim", "sentence", "parts"),
    [
        (("OPEC", "founded by", "Venezuela"), 0, ["OPEC", "founded", "Venezuela"]),
        (("OPEC", "has", "13 members"), 1, ["members"]),
        (("Ecuador", "has left", "OPEC"), 4, ["Ecuador"]),  # an item, read with its lead-in
        (("Qatar (2019)", "have left", "OPEC"), 3, ["Qatar (2019)"]),
        (("Countries", "have left", "OPEC"), 2, ["countries have left"]),
        ("OPEC was founded in Baghdad", 0, ["OPEC was founded in Baghdad"]),
    ],
)
def test_places(claim, sentence, parts):
    place = Places(Record(response=TEXT)).locate(claim)
    assert place.sentence == sentence
    assert [TEXT[a:b] for a, b in place.parts] == parts
    assert (place.start, place.end) == (place.parts[0][0], place.parts[-1][1])


def test_what_is_not_there_has_no_place():
    record = Record(response=TEXT)
    assert Places(record).locate(("Paris", "is the capital of", "France")) is None
    assert Places(record).locate(("", "", "")) is None
    assert Places(record).locate("") is None
    assert Places(Record(response="")).locate(("OPEC", "has", "members")) is None


def test_only_among_the_given_sentences():
    record = Record(response="Ann lives in Oslo. Ann lives in Rome.")
    assert Places(record).locate(("Ann", "lives in", "Oslo")).sentence == 0
    assert Places(record).locate(("Ann", "lives in", "Oslo"), among=[1]).sentence == 1
    assert Places(record).locate(("Ann", "lives in", "Oslo"), among=[7]) is None


@given(st.text(max_size=200), st.tuples(st.text(), st.text(), st.text()), st.text())
def test_any_text(response, triplet, text):
    response = response.replace("\x00", "").encode("utf-8", "ignore").decode()
    places = Places(Record(response=response))
    for claim in (triplet, text, response):
        place = places.locate(claim)
        if place is not None:
            ends = [x for part in place.parts for x in part]
            assert ends == sorted(ends) and all(a < b for a, b in place.parts)
            assert place.start >= 0 and place.end <= len(response)


@pytest.fixture(scope="module")
def labelled(shared_data: Path) -> dict[tuple[str, ...], list[tuple[str, str, str]]]:
    """RefChecker's (setting, model, id, response) -> its triplets, as Claude 2 extracted them."""
    found: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    with (shared_data / "refchecker" / "claims.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            key = (row["setting"], row["model"], row["id"], row["response"])
            found[key].append(tuple(row["triplet"]))
    return found


@pytest.mark.data
def test_refchecker_triplets_are_found(labelled):
    total = found = 0
    for (*_, response), triplets in labelled.items():
        record = Record(response=response)
        places = Places(record)
        for triplet in triplets:
            total += 1
            place = places.locate(triplet)
            if place is not None:
                found += 1
                sentence = record.sentences[place.sentence]
                assert sentence.start <= place.start < place.end <= sentence.end
    assert total == 10_733
    assert found >= 0.98 * total  # 0.997 when written


#: Read by eye: a triplet, and how the sentence that says it begins.
READ = [
    (("hospital", "may complete", "birth certificate"), "In some cases, the hospital"),
    (("Melania Trump", "does not speak", "Russian"), "This suggests Russian is not one"),
    (("Collagen", "is major component of", "skin, bones, tendons, ligaments, cartilage, blood "
      "vessels, and teeth"), "It is a major component of skin"),
    (("name Mandy", "short form of", "name Miranda"), "- Short form of Miranda"),
    (("Goa", "is part of", "Western Ghats"), "3. Goa"),
    (("Frank Sinatra's version", "recorded in", "1957"), "- Frank Sinatra in 1957"),
    (("Memoni/Kutchi biryani", "is a type of", "biryani"), "13. Memoni/Kutchi biryani"),
    (("Slumdog Millionaire", "release year", "2008"), "It was featured in the 2008 film"),
    (("bull terrier", "has average weight", "70 pounds"), "This popular large breed averages"),
    (("The Salvation Army", "has membership of", "over 1.7 million"), "The organisation reports"),
    (("HP", "insists", "their fax machines work best with 2-conductor line cords"),
     'Passage 4 states: "Hewlett-Packard insists'),
    (("Drew Carey", "nationality", "American"), 'Passage 1: "The American national'),
    (("Walter", "means", '"ruler of the army"'), "It is a patronymic surname derived"),
    (("The Killing of a Sacred Deer", "filmed in", "Amsterdam, Netherlands"),
     "* Amsterdam, Netherlands: Some of"),
    (("Spirit Airlines' carry-on baggage", "maximum weight", "40 pounds"),
     "The maximum weight for carry-on bags"),
    (("Hey June", "have Chinese name", "False"), "2. Hey June"),
    (("Clarice Feldman", "resides in", "Washington, DC"), "She currently resides"),
    (("Preston North End", "actual nickname", "Old Invincibles"), "The actual nickname of the"),
    (("food", "should not be left out", "in the open"), "Firstly, in order to prevent"),
    (("Israel and Egypt", "fought", "4 wars"), "The two countries have fought four wars"),
    (("Salmon", "migrate to", "ocean"), "Salmon are anadromous"),
]  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize(("triplet", "beginning"), READ, ids=lambda x: str(x)[:20])
def test_places_read_by_eye(labelled, triplet, beginning):
    told = []
    for (*_, response), triplets in labelled.items():
        record = Record(response=response)
        if triplet in triplets and any(s.text.startswith(beginning) for s in record.sentences):
            place = Places(record).locate(triplet)
            told.append(record.sentences[place.sentence].text.startswith(beginning))
    assert told and all(told)
