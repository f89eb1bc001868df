"""Long texts read as short ones are, though by other ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.fact_sources import FactSources
from veridical.text.facts import Fact, Facts
from veridical.text.sentences import split_sentences
from veridical.text.words import word_spans, words

PROSE = 'Ann Lee said "it is so." She left (in 1990) for Rome. '


def test_a_long_paragraph_is_split_as_its_sentences_are() -> None:
    once = [s.text for s in split_sentences(PROSE)]
    spans = split_sentences(PROSE * 2000)
    assert [s.text for s in spans] == once * 2000
    assert all((PROSE * 2000)[s.start : s.end] == s.text for s in spans[:50])


def test_chinese_prose_without_spaces_is_split_at_every_stop() -> None:
    text = "他在1990年出生于北京，后来搬到上海。" * 3000
    assert len(split_sentences(text)) == 3000


@pytest.mark.parametrize("piece", ["a", "中", "`", "ab ", "a, "])
def test_what_has_no_stop_is_one_sentence_however_long(piece: str) -> None:
    (only,) = split_sentences(piece * 50_000)
    assert only.text == (piece * 50_000).strip()


def test_paragraphs_are_kept_apart_in_long_texts() -> None:
    text = ("One is here\n\n" + "Two is there. Three too.\n\n") * 1000
    assert len(split_sentences(text)) == 3000


@pytest.mark.parametrize("mark", ["(", "😀", "_", "“", ")"])
def test_a_long_run_of_marks_is_cut_into_them(mark: str) -> None:
    assert words(f"see {mark * 3000}") == ["see", *mark * 3000]


def test_a_long_address_is_one_word_within_brackets() -> None:
    address = "https://example.org/" + "a/" * 2000 + "b"
    assert words(f"({address}") == ["(", address]
    long_word = "a" * 3000
    assert words(f"“{long_word}”") == ["“", long_word, "”"]


@given(st.text("a.b@/(_“😀中-'C$", max_size=1200))
def test_tokens_of_long_pieces_join_back(text: str) -> None:
    assert "".join(words(text * 3)) == text * 3
    assert "".join(s.text for s in word_spans(text * 3)) == text * 3


def names(count: int) -> list[str]:
    letters = "bcdfghjklmnpqrstvwxz"
    return [
        f"Al{letters[i % 20]}{letters[i // 20 % 20]}o Mo{letters[i // 400]}ko" for i in range(count)
    ]


def test_many_names_are_found_where_few_are() -> None:
    told = names(600)
    text = ", then ".join(f"he met {name}" for name in told) + "."
    source = "; ".join(reversed(told)) + " joal'talko, don't."
    many, facts = FactSources([source, "none"]), Facts(text).find([(0, len(text))])[0]
    assert len(facts) == 600
    for fact in facts:
        assert many.find(fact) == FactSources([source, "none"]).find(fact)


@given(st.lists(st.sampled_from(["ann", "x²", "²", "don't", "co₂h", "lee", "½a½"]), max_size=9))
def test_words_that_stand_alone_are_the_same_by_search_and_by_index(pieces: list[str]) -> None:
    sources = FactSources([" ".join(pieces), "-".join(pieces), "'".join(pieces)])
    for word in ("ann", "x²", "²", "x", "don't", "don", "co₂h", "co", "a", "lee"):
        assert sources._searched(word) == sources._standing.get(word, {}), word


def test_many_sentences_are_compared_as_few_are() -> None:
    said = [f"The town of Vale{c}{d} did not open" for c in "bcdfghjklm" for d in "bcdfghjklm"]
    text = ". ".join(f"{s} its {s[12:18]} school" for s in said) + "."
    source = ". ".join(s.replace("did not", "did") + " the school" for s in said) + ". It is not."
    many, facts = FactSources([source]), Facts(text)
    for sentence in split_sentences(text):
        first, stop = facts.token_range(sentence.start, sentence.end)
        stems = facts.stems(first, stop)
        for negative in (True, False):
            alone = FactSources([source]).counterparts(stems, negative)
            assert many.counterparts(stems, negative) == alone
            assert many._compared_by_stems(stems, negative) == alone


def test_dates_and_numbers_are_found_again_wherever_they_stand() -> None:
    sources = FactSources(["on 3 May 1990, 4 May 1990 and in June 1990", "5 km, 5 kg, 5 miles"])
    for text, source in (("4 May 1990", 0), ("June 1990", 0), ("5 kg", 1), ("1990", 0)):
        fact = Facts(f"it was {text} then").find([(0, 40)])[0][0]
        found = sources.find(fact)
        assert found is not None and found.first == source
        assert found == sources.find(fact._replace(start=0, end=1))
    absent = Facts("on 6 May 1990").find([(0, 20)])[0][0]
    assert sources.find(absent) is None


def test_a_run_of_hundreds_is_no_error() -> None:
    assert all(f.kind == "number" for f in _facts("hundred " * 4000))


def _facts(text: str) -> list[Fact]:
    return Facts(text).find([(0, len(text))])[0]
