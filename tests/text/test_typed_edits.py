"""Typed edits: what each kind makes of a sentence, worked by hand, and where it changed it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.typed_edits import Name, edits

OPPOSED, SAME = ("contradiction",) * 2, ("entailment",) * 2
UNKNOWN = ("not_entailment",) * 2


def made(sentence: str, rule: str, **more: Any) -> dict[str, tuple[Any, Any]]:
    """Edited texts of a kind, with their labels."""
    found = edits(sentence, random.Random(0), **more)
    return {e.text: (e.label, e.back) for e in found if e.rule == rule}


@pytest.mark.parametrize(
    ("sentence", "kind", "wanted"),
    [
        ("Sales rose by 12 percent.", "antonym", {"Sales fell by 12 percent.": OPPOSED}),
        ("He purchased a large farm.", "antonym", {
            "He bought a large farm.": SAME, "He purchased a big farm.": SAME,
        }),
        ("Some members left.", "quantifier", {
            "All members left.": ("neutral", "entailment"),
            "Most members left.": ("neutral", "entailment"),
        }),
        ("She always won.", "quantifier", {
            "She never won.": OPPOSED, "She at all times won.": SAME,
            "She sometimes won.": ("entailment", "neutral"),
        }),
        ("The law may change.", "modality", {
            "The law will change.": ("neutral", "entailment"), "The law might change.": SAME,
        }),
        ("It is believed to be safe.", "modality", {
            "It is safe.": ("neutral", None), "It is thought to be safe.": SAME,
        }),
        ("He was born on May 28 under a bridge.", "modality", {}),
        ("He was born on May 28 under a bridge.", "quantifier", {}),
        ("It cost less than $5.", "quantifier", {
            "It cost more than $5.": OPPOSED, "It cost under $5.": SAME,
            "It cost at least $5.": OPPOSED,
        }),
        ("The bridge was open.", "negation", {"The bridge was not open.": OPPOSED}),
        ("He can swim.", "negation", {"He cannot swim.": OPPOSED}),
        ("The bridge was not open.", "negation", {
            "The bridge was open.": OPPOSED, "The bridge wasn't open.": SAME,
        }),
        ("It will not last.", "negation", {"It will last.": OPPOSED, "It won't last.": SAME}),
        ("It is not only old but rare.", "negation", {}),
        ("Two ships sank.", "figure", None),
        ("The walk takes 2 hours.", "unit", {"The walk takes 120 minutes.": SAME}),
        ("It is 40 km long.", "unit", {"It is 40 kilometres long.": SAME}),
        ("Ada, Bob and Cy sang.", "list", {
            "Ada and Cy sang.": (None, "neutral"), "Bob, Cy and Ada sang.": SAME,
        }),
        ("In May, Ada, Bob and Cy sang.", "list", {}),
    ],
)  # fmt: skip
def test_by_words_alone(sentence: str, kind: str, wanted: dict[str, Any] | None) -> None:
    found = made(sentence, kind)
    if kind == "unit":  # and one with another unit, drawn
        found = {t: labels for t, labels in found.items() if labels != OPPOSED}
    if wanted is None:
        assert found.pop("2 ships sank.", None) is None  # no sentence begins with a digit
        ((text, labels),) = found.items()
        assert text.endswith(" ships sank.") and text[0].isupper() and labels == OPPOSED
    else:
        assert found == wanted


def test_numbers_and_dates() -> None:
    found = made("It has 3 rooms and 1,200 seats.", "figure")
    assert found.pop("It has three rooms and 1,200 seats.") == SAME
    assert found.pop("It has 3 rooms and 1200 seats.") == SAME
    assert set(found.values()) == {OPPOSED} and len(found) == 2
    assert set(made("It has at least 30 rooms.", "figure").values()) == {UNKNOWN}
    found = made("He was born on 3 May 1912.", "date")
    assert found.pop("He was born on May 3, 1912.") == SAME
    ((text, labels),) = found.items()
    assert labels == OPPOSED and len(set(text.split()) - {"on", "3", "May", "1912."}) == 4
    ((text, labels),) = made("It opened in 1931.", "date").items()
    assert labels == OPPOSED and text.startswith("It opened in ")
    assert not made("Version 1.2.3 came out.", "figure")


def test_names() -> None:
    names = [
        Name("Ada Berg", "PERSON"),
        Name("Bob Cole", "PERSON"),
        Name("Eva Dahl", "PERSON"),
        Name("Oslo", "GPE"),
    ]
    sentence = "Ada Berg taught Bob Cole to sing."
    found = made(sentence, "name", names=names)
    assert found == {
        "Eva Dahl taught Bob Cole to sing.": UNKNOWN,
        "Ada Berg taught Eva Dahl to sing.": UNKNOWN,
    }
    # one word between them does not tell a direction from a list
    assert not made(sentence, "relation", names=names)
    longer = "Ada Berg was taught by Bob Cole."
    assert made(longer, "relation", names=names) == {"Bob Cole was taught by Ada Berg.": UNKNOWN}
    assert not made("Ada Berg sang with Bob Cole.", "relation", names=names)
    added = made("Ada Berg, Cy and Bob Cole sang.", "list", names=names)
    assert added["Ada Berg, Cy, Eva Dahl and Bob Cole sang."] == ("neutral", None)


def test_joined_sentences() -> None:
    (mine,) = edits("It rained.", random.Random(0), others=["The road was closed."])
    assert mine.text == "It rained, and the road was closed."
    assert (mine.rule, mine.label, mine.back, mine.keeps) == ("splice", *SAME, True)
    (other,) = edits("It rained.", random.Random(0), foreign=["Ada sang."])
    assert (other.text, other.label, other.back) == (
        "It rained, and Ada sang.",
        "neutral",
        "entailment",
    )
    ((start, end),) = other.spans
    assert other.text[start:end] == ", and Ada sang."
    assert edits("It rained.", random.Random(0), foreign=["Did it?"]) == []


SENTENCES = [
    "Some members of the band may have sold 3,000 copies in 1912, and most were not happy.",
    "Ada Berg, Bob Cole and Eva Dahl walked 12 km on 3 May 1912 and always won more than 2 prizes.",
]


def outside(text: str, spans: tuple[tuple[int, int], ...]) -> str:
    """What stands outside of spans, which are in order and do not overlap."""
    kept, at = "", 0
    for start, end in spans:
        assert at <= start < end <= len(text)
        kept += text[at:start]
        at = end
    return kept + text[at:]


@given(st.sampled_from(SENTENCES), st.integers(0, 500))
def test_spans_are_what_differs(sentence: str, seed: int) -> None:
    names = [Name(n, "PERSON") for n in ("Ada Berg", "Bob Cole", "Eva Dahl", "Flo Gray")]
    found = edits(sentence, random.Random(seed), names, foreign=["Nobody knew why."])
    assert len({e.text for e in found}) == len(found) > 8
    for edit in found:
        assert edit.text != sentence and (edit.spans or edit.was)
        assert outside(edit.text, edit.spans) == outside(sentence, edit.was)
    assert {e.rule for e in found if not e.keeps} >= {"figure", "quantifier", "splice"}
    assert found == edits(sentence, random.Random(seed), names, foreign=["Nobody knew why."])
