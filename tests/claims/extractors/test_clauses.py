"""Clauses of sentences: worked by hand, and what holds of any text."""

from __future__ import annotations

import asyncio

import pytest
from growing import MOST, growth
from hostile_texts import repeated
from hypothesis import example, given
from hypothesis import strategies as st

import test_hostile_runs as hostile_runs
from veridical import Record
from veridical.claims.extractors import find_extractor
from veridical.claims.extractors.clause_rules import clauses_of
from veridical.core.evidence import LocalEvidence
from veridical.errors import NotApplicable


def split(sentence: str) -> list[str]:
    return [" ".join(sentence[a:b] for a, b in c.parts) for c in clauses_of(sentence)]


CUT = {
    "coordinated clauses": (
        "Ann Lee wrote the book, and her brother was the editor.",
        ["Ann Lee wrote the book", "her brother was the editor."],
    ),
    "but": ("The film was long but it won a prize.", ["The film was long", "it won a prize."]),
    "semicolon": (
        "She studied law; she then worked in Rome.",
        ["She studied law", "she then worked in Rome."],
    ),
    "predicates": (
        "Ann was born in Rome and moved to Oslo.",
        ["Ann was born in Rome", "Ann moved to Oslo."],
    ),
    "shared auxiliary": (
        "The song was written by Mike Post and sung by The Happenings.",
        ["The song was written by Mike Post", "The song was sung by The Happenings."],
    ),
    "three predicates": (
        "He joined the band, wrote a song, and left the country.",
        ["He joined the band", "He wrote a song", "He left the country."],
    ),
    "who, after the subject": (
        "Bob Ray, who was born in Rome, is a poet.",
        ["Bob Ray is a poet.", "Bob Ray was born in Rome"],
    ),
    "who, after a name": (
        "He met Mary Jones, who was a nurse and later became a doctor.",
        ["He met Mary Jones", "Mary Jones was a nurse", "Mary Jones later became a doctor."],
    ),
    "who, of the kind": (
        "Ann Lee is an American actress who won an Oscar.",
        ["Ann Lee is an American actress", "Ann Lee won an Oscar."],
    ),
    "which": (
        "She studied at Stanford University, which was founded in 1885.",
        ["She studied at Stanford University", "Stanford University was founded in 1885."],
    ),
    "apposition": (
        "Ann Lee, an American actress, won an Oscar.",
        ["Ann Lee won an Oscar.", "Ann Lee, an American actress"],
    ),
    "apposition at the end": (
        "The studios are in Winchester, a part of Las Vegas.",
        ["The studios are in Winchester", "Winchester, a part of Las Vegas."],
    ),
    "brackets": (
        "John Smith (born 5 May 1950) moved to Oslo.",
        ["John Smith (born 5 May 1950)", "John Smith moved to Oslo."],
    ),
    "participle before": (
        "Born in 1950, Bill Clay moved to Oslo.",
        ["Born in 1950, Bill Clay", "Bill Clay moved to Oslo."],
    ),
    "participle after": (
        "He played for Leeds, winning the league in 1990.",
        ["He played for Leeds", "He winning the league in 1990."],
    ),
    "names": (
        "It stars Tom Hanks, Jennifer Leigh and Liam Aiken.",
        ["It stars Tom Hanks", "It stars Jennifer Leigh", "It stars Liam Aiken"],
    ),
    "callings": (
        "Bill Clay is a football player, coach, and broadcaster.",
        ["Bill Clay is a football player", "Bill Clay is coach", "Bill Clay is broadcaster"],
    ),
    "a lead is no claim": (
        "Based on the context, Ann was caught in Rome and killed in Oslo.",
        ["Based on the context, Ann was caught in Rome", "Ann was killed in Oslo."],
    ),
    "list item": (
        "2. Ann was born in Rome and moved to Oslo.",
        ["Ann was born in Rome", "Ann moved to Oslo."],
    ),
}


@pytest.mark.parametrize(("sentence", "clauses"), CUT.values(), ids=CUT)
def test_cut(sentence, clauses):
    assert sorted(split(sentence)) == sorted(clauses)


@pytest.mark.parametrize(
    "sentence",
    [
        "He did not eat and drink.",
        "If it rains, he stays and she was wet.",
        "He said that the film was good and that he liked it.",
        "Was he born in Rome and did he move to Oslo?",
        "Neither Ann nor Bob was born in Rome and moved to Oslo.",
        "He joined a band formed in 1990 and led by Bob.",
        "He won the race, which was a surprise to all.",
        "She is the daughter of Ann Lee and Bob Ray, who won an Oscar.",
        "The treaty was signed between France, Spain, and Italy.",
        "He moved to Oslo or went to Rome.",
        "Ware was caught in Rome and killed three men.",
        "She starred in The Huntsman: Winter's War, which was shot in Rome.",
        'He wrote "Ann was born in Rome and moved to Oslo" in 1990.',
        "It is a black and white film.",
        "He was the only player who won the cup.",
        "The red, green, and blue lights.",
        "Er wurde in Rom geboren, und er zog nach Oslo; dort war er Lehrer, der viel schrieb.",
        "Il est né à Rome, et il est mort à Oslo, qui est une ville.",
        "他出生在罗马，后来搬到了奥斯陆，并且成为了一名医生。",
    ],
)
def test_kept_whole(sentence):
    assert split(sentence) == [sentence]


PIECES = [
    "Ann Lee", "he", "it", "was", "is", "born", "won", "became", "and", "but", "who", "which",
    ",", ";", "(born 1990)", "a", "the", "singer", "actor", "in", "by", "1990", "Rome", "of",
    "winning", "said", "that", "not", "“so”", ".", "—", "\n", "’s", "🙂", "who's", "Jr.",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=40).map(" ".join))
@example("Ann Lee, who was a singer, won , and he became a actor , singer and actor .")
def test_places_hold_for_any_words(sentence):
    for clause in clauses_of(sentence):
        assert clause.parts and all(a < b for a, b in clause.parts)
        own = [p for p in clause.parts if clause.start <= p[0] and p[1] <= clause.end]
        assert (own[0][0], own[-1][1]) == (clause.start, clause.end)
        assert 0 <= clause.start < clause.end <= len(sentence)


async def extracted(name: str, response: str, **fields):
    record = Record(response=response, **fields)
    return await find_extractor(name)(record, LocalEvidence(record))


async def test_claims_have_their_places_in_the_response():
    response = "  Him.\nAnn Lee was born in Rome and moved to Oslo. Goods!"
    found = (await extracted("clauses", response)).claims
    assert [(c.text, c.sentence) for c in found] == [
        ("Him.", 0),
        ("Ann Lee was born in Rome", 1),
        ("Ann Lee moved to Oslo.", 1),
        ("Goods!", 2),
    ]
    carried = found[2]
    assert carried.span(response).text == "moved to Oslo."
    assert [response[a:b] for a, b in carried.parts] == ["Ann Lee", "moved to Oslo."]
    assert not found[1].parts


async def test_small_talk_claims_nothing():
    response = "Sure! Yes, Ann Lee was born in Rome and moved to Oslo. I hope this helps."
    found = (await extracted("clauses", response)).claims
    assert [(c.text, c.sentence) for c in found] == [
        ("Ann Lee was born in Rome", 1),
        ("Ann Lee moved to Oslo.", 1),
    ]
    assert found[0].span(response).text == "Ann Lee was born in Rome"
    assert (await extracted("sentences", "Sure! I hope this helps.")).claims == ()


async def test_given_sentences_and_blank_responses():
    found = await extracted("clauses", "A b. *** C d.", sentences=[(0, 4), (4, 9), (8, 13)][:2])
    assert [c.text for c in found.claims] == ["A b."]
    assert (await extracted("clauses", "I don't know.")).abstained
    with pytest.raises(NotApplicable):
        await extracted("clauses", " \n")


@pytest.mark.parametrize("name", ["clauses", "triplets"])
@pytest.mark.parametrize("text", hostile_runs.ENDLESS)
def test_hostile_text_takes_linear_time(name, text):
    def extract(response):
        if response.strip():
            asyncio.run(extracted(name, response))

    assert growth(extract, repeated(hostile_runs.ENDLESS[text])) < MOST


@pytest.mark.parametrize(
    "piece",
    [
        "Ann Lee, ",
        "Ann, who was a singer, was ",
        "and he was ",
        "Ann was a singer, and he won " * 50 + ". ",
        "Ann (born 1990) was ",
        "He said 'a ",
    ],
    ids=lambda t: t[:20],
)
def test_endless_clauses_take_linear_time(piece):
    def extract(response):
        asyncio.run(extracted("triplets", f"He saw {response} and Bob."))

    assert growth(extract, repeated(piece)) < MOST


async def test_citations_by_number_are_no_part_of_a_claim():
    answer = "Ann was born in Rome [1], and moved to Oslo [2, 3]. She died in 1950.[4]"
    record = Record(response=answer)
    found = (await find_extractor("clauses")(record, LocalEvidence(record))).claims
    assert [c.text for c in found] == [
        "Ann was born in Rome",
        "Ann moved to Oslo.",
        "She died in 1950.",
    ]
    assert [answer[c.start : c.end] for c in found][1:] == [
        "moved to Oslo [2, 3].",
        "She died in 1950.[4]",
    ]
