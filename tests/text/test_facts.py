"""Facts found with exact offsets, and looked up in other texts."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.fact_sources import FactSources
from veridical.text.facts import Fact, Facts
from veridical.text.sentences import split_sentences
from veridical.text.values.value import Value


def facts_of(text: str) -> list[Fact]:
    return Facts(text).find([(0, len(text))])[0]


def shown(text: str) -> list[tuple[str, str]]:
    return [(f.kind, text[f.start : f.end]) for f in facts_of(text)]


def only(text: str) -> Fact:
    (fact,) = facts_of(text)
    return fact


@pytest.mark.parametrize(
    ("text", "surface", "readings"),
    [
        ("on 2020-03-12 it", "2020-03-12", {(2020, 3, 12)}),
        ("on 12/03/2020 it", "12/03/2020", {(2020, 3, 12), (2020, 12, 3)}),
        ("on 31.12.2020 it", "31.12.2020", {(2020, 12, 31)}),
        ("on 12 March 1942 it", "12 March 1942", {(1942, 3, 12)}),
        ("on the 3rd of May 2001 it", "3rd of May 2001", {(2001, 5, 3)}),
        ("on March 12, 1942 it", "March 12, 1942", {(1942, 3, 12)}),
        ("on Sept. 4 it", "Sept. 4", {(None, 9, 4)}),
        ("in August 2018 it", "August 2018", {(2018, 8, None)}),
        ("他生于1942年3月12日", "1942年3月12日", {(1942, 3, 12)}),
    ],
)
def test_dates(text: str, surface: str, readings: set[object]) -> None:
    fact = only(text)
    assert fact.kind == "date"
    assert text[fact.start : fact.end] == surface
    assert isinstance(fact.content, Value)
    assert set(fact.content.dates) == readings


def test_years_ranges_and_decades_are_dates() -> None:
    assert shown("he lived 1820–1876 and in the 1990s, over 3000 years") == [
        ("date", "1820–1876"),
        ("date", "1990s"),
        ("number", "3000 years"),
    ]


def test_names() -> None:
    text = "In London he met J. R. R. Tolkien, the Duke of Wellington and Mary O'Brien-Smith's son."
    assert shown(text) == [
        ("name", "London"),
        ("name", "J. R. R. Tolkien"),
        ("name", "Duke of Wellington"),
        ("name", "Mary O'Brien-Smith"),
    ]
    assert shown("он жил в Москве у Анны Карениной") == [
        ("name", "Москве"),
        ("name", "Анны Карениной"),
    ]


def test_first_word_of_a_sentence_is_a_name_only_if_known() -> None:
    text = "Reynolds wrote. Writers praised Mary Reynolds. The end."
    found = Facts(text).find([(0, 15), (16, 46), (47, 55)])
    assert [[text[f.start : f.end] for f in s] for s in found] == [
        ["Reynolds"],
        ["Mary Reynolds"],
        [],
    ]


def test_short_answers_are_names_and_headings_are_not() -> None:
    assert shown("Paris") == [("name", "Paris")]
    assert shown("Yes") == []
    assert shown("THE CAT SAT ON THE OLD MAT TODAY") == []
    assert shown("Why Some Old Rivers May Not Freeze") == []
    assert shown("Ulf Berg met Eva Holt and Jan Roos.")[1] == ("name", "Eva Holt")


def test_what_opens_an_item_of_a_list_is_no_name() -> None:
    assert shown("1. Rinsing the filter.") == []
    assert shown("- Rinsing the filter in Ulm.") == [("name", "Ulm")]


def test_labels_headings_and_first_words_of_lines_are_no_names() -> None:
    assert shown("- **Supplier:** Elm Print Works") == [("name", "Elm Print Works")]
    assert shown("**Issue Date:** unknown") == []
    assert shown("### Storage") == []
    assert ("name", "Clause") not in shown("Then Clause 7 applies.")
    assert shown("Come to Ulm.\n🐕 Bring a dog") == [("name", "Ulm")]
    assert shown("Then ask Ann Lee: she knows.") == [("name", "Ann Lee")]


FOUND = [
    ("Barack Obama", "President Obama said", "Obama"),
    ("Barack Obama", "by Barack Obama.", "Barack Obama"),
    ("in 1942 he", "born 12/03/1942", "12/03/1942"),
    ("in the 1990s he", "it was 1994", "1994"),
    ("in the 1990s he", "the 1990s", "1990s"),
    ("on 12 March 1942 he", "on March 12th, 1942,", "March 12th, 1942"),
    ("on 12 March 1942 he", "on 1942-03-12.", "1942-03-12"),
    ("in March 1942 he", "on 12 March 1942", "12 March 1942"),
    ("about 1,234 of", "some 1234 of", "1234"),
    ("about 1.234 of", "some 1,234 of", "1,234"),
    ("seven of", "all 7 of", "7"),
    ("all 7 of", "Seven of", "Seven"),
    ("about 5,000,000 of", "some 5 million of", "5 million"),
    ("about 5 million of", "some five million of", "five million"),
    ("about 5 million of", "some 5,000,000 of", "5,000,000"),
    ("over 5 km", "some 5 kilometers", "5 kilometers"),
    ("just 25 of", "some twenty-five of", "twenty-five"),
    ("just 5% of", "only ٥٪ of", "٥٪"),
]


@pytest.mark.parametrize(("text", "source", "mention"), FOUND)
def test_found(text: str, source: str, mention: str) -> None:
    found = FactSources([source]).find(only(text))
    assert found is not None and found.sources == 1
    assert source[found.start : found.end] == mention


MISSING = [
    ("Barack Obama", "Barack said"),
    ("Barack Obama", "the obamas"),
    ("Trinity College Cambridge", "in Cambridge"),
    ("in 1942 he", "in 1943 or 19421"),
    ("in 1990 he", "in the 1990s"),
    ("in the 1990s he", "in 1989"),
    ("on 12 March 1942 he", "in March 1942 and on 12 March 1943"),
    ("over 5 km", "some 5 miles"),
    ("just 5 of", "some 5 million of, 5.5, 15 and 51"),
    ("just 250 of", "two hundred of, fifty of"),
    ("just seven of", "seventeen of, 0.7"),
    ("paid $5", "paid €5"),
]


@pytest.mark.parametrize(("text", "source"), MISSING)
def test_not_found(text: str, source: str) -> None:
    assert FactSources([source]).find(only(text)) is None


def test_several_sources_are_kept_apart() -> None:
    sources = ["", "The dogs of five", "hundred Oxford", "Fords, Ox-Ford in 19", "42; 500 Oxford"]
    read = FactSources(sources)
    assert read.find(only("he saw Oxford")) == (2, 2, 8, 14)  # not "Ox", not "Ford"
    assert read.find(only("x 500")) == (1, 4, 4, 7)  # no number runs from one into the next
    assert read.find(only("in 1942 he")) is None
    assert read.find(only("x two")) is None
    assert FactSources(["1942", "", "In 1942 in 1942"]).find(only("x 1942 he")) == (2, 0, 0, 4)
    assert FactSources([]).find(only("x 1942 he")) is None


@given(st.lists(st.sampled_from(FOUND + [(*m, "") for m in MISSING]), min_size=1, max_size=4))
def test_sources_together_are_as_sources_alone(chosen: list[tuple[str, str, str]]) -> None:
    sources = [source for _, source, _ in chosen]
    together = FactSources(sources)
    for text, _, _ in chosen:
        alone = [FactSources([source]).find(only(text)) for source in sources]
        held = [i for i, found in enumerate(alone) if found is not None]
        expected = (len(held), held[0], *alone[held[0]][2:]) if held else None
        assert together.find(only(text)) == expected


def negation(text: str) -> str | None:
    facts = Facts(text)
    i = facts.negation(*facts.token_range(0, len(text)))
    return None if i is None else facts.tokens[i]


def test_negation() -> None:
    assert negation("He did not go.") == "not"
    assert negation("He didn’t go.") == "didn’t"
    assert negation("Er war nie dort.") == "nie"
    assert negation("He went.") is None
    assert negation("Not only did he go.") is None
    assert negation("Bus no 5 left.") is None
    assert negation("A no-fly zone.") is None


def polarity(sentence: str, source: str) -> tuple[bool, str] | None:
    facts = Facts(sentence)
    everything = facts.token_range(0, len(sentence))
    cue = facts.negation(*everything)
    match = FactSources([source]).counterparts(facts.stems(*everything), cue is not None).get(0)
    return None if match is None else (match.agrees, source[match.start : match.end])


def test_polarity_of_the_best_matching_sentence() -> None:
    yes = "He attended Oxford University."
    no = "He did not attend Oxford University."
    other = "It rained in Oxford, never mind."
    assert polarity(no, f"{other} {yes}") == (False, "He attended Oxford University")
    assert polarity(yes, f"{other} {no}") == (False, "He did not attend Oxford University")
    assert polarity(no, no) == (True, no[:-1])
    assert polarity(no, other) is None
    assert polarity(yes, yes) is None  # nothing is negated anywhere
    assert polarity("It is not.", "It is.") is None


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.text(max_size=200))
def test_any_text_gives_exact_offsets(text: str, source: str) -> None:
    for fact in facts_of(text):
        assert 0 <= fact.start < fact.end <= len(text)
        assert text[fact.start : fact.end].strip()
        found = FactSources([source + text]).find(fact)
        if found is not None:
            assert 0 <= found.start < found.end <= len(source + text)


PIECES = re.findall(
    r"\S+",
    "1942 1,234 12 March 5 km seven hundred and million % $ 3rd . 1990 s İ Oxford of no ١٢ "
    "12/03/2020 2020-01-02 年 月 日",
)


@given(
    st.lists(
        st.sampled_from(PIECES),
        max_size=12,
    )
)
def test_a_text_supports_its_own_facts(words: list[str]) -> None:
    text = "x " + " ".join(words)
    for fact in facts_of(text):
        assert FactSources([text]).find(fact) is not None, (text, fact)


def test_long_runs_of_digits_are_no_numbers() -> None:
    text = "x " + "9" * 100_000 + " " + "1," * 50_000
    assert facts_of(text) == []


def test_figures_belong_to_the_sentence_they_stand_in() -> None:
    text = " ".join(f"They sold {i + 3} on 12 May 1{i:03d}." for i in range(40))
    spans = [(s.start, s.end) for s in split_sentences(text)]
    assert len(spans) == 40
    for i, facts in enumerate(Facts(text).find(spans)):
        start, end = spans[i]
        assert all(start <= f.start < f.end <= end for f in facts)
        assert [text[f.start : f.end] for f in facts if f.kind == "number"] == [str(i + 3)]
        assert [text[f.start : f.end] for f in facts if f.kind == "date"] == [f"12 May 1{i:03d}"]
