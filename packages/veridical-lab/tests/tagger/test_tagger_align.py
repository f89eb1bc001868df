"""Triplets placed in the words of a response, by hand-worked examples."""

from __future__ import annotations

import pytest

from veridical import Record
from veridical.text.words import word_spans
from veridical_lab.tagger import align as reasons
from veridical_lab.tagger.align import align


def placed(response: str, *triplets: tuple[str, str, str]):
    """(head, relation, tail) in the response's own words, and the reasons of those left out."""
    record = Record(response=response)
    found, missing = align(record, triplets)
    shown = []
    for one in found:
        words = [w.text for w in word_spans(record.sentences[one.sentence].text)]
        shown.append(
            (
                " ".join(words[i] for i in sorted(one.head)),
                " ".join(words[i] for i in sorted(one.relation)),
                " ".join(words[slice(*one.tail)]),
            )
        )
    return shown, dict(missing)


@pytest.mark.parametrize(
    ("response", "triplet", "expected"),
    [
        (
            "Optus Stadium is located in Perth, Australia.",
            ("Optus Stadium", "located in", "Perth"),
            ("Optus Stadium", "located in", "Perth"),
        ),
        (  # a relation whose words stand apart
            "Ann Lee was born to a painter in Rome.",
            ("Ann Lee", "was born in", "Rome"),
            ("Ann Lee", "was born in", "Rome"),
        ),
        (  # forms of a word, and the article that the triplet left out of the tail
            "The factories create a lot of smoke.",
            ("factory", "creates", "lot of smoke"),
            ("factories", "create", "lot of smoke"),
        ),
        (  # the head was carried over from the sentence before
            "She moved to Oslo in 1990.",
            ("Ann Lee", "moved to", "Oslo"),
            ("She", "moved to", "Oslo"),
        ),
        (  # the nearer of two mentions of the tail's words counts for the relation
            "In 1990 the band played in Rome, and in 1991 in Oslo.",
            ("the band", "played in", "Oslo"),
            ("the band", "played in", "Oslo"),
        ),
    ],
)
def test_the_words_of_each_part(response, triplet, expected):
    assert placed(response, triplet) == ([expected], {})


@pytest.mark.parametrize(
    ("triplet", "reason"),
    [
        (("Ann Lee", "profession", "painter"), reasons.NO_RELATION),
        (("Bob Ray", "was", "a painter"), reasons.NO_HEAD),
        (("Ann Lee", "was born in", "northern Italy"), reasons.NO_TAIL),
        (("Quito", "lies", "uphill"), reasons.NO_PLACE),
    ],
)
def test_what_does_not_stand_there_is_left_out_with_its_reason(triplet, reason):
    assert placed("Ann Lee was a painter born outside Italy.", triplet) == ([], {reason: 1})


def test_a_sentence_that_is_none_is_left_out():
    response = "The table lists " + ", ".join(f"item {i}" for i in range(120)) + " by Ann."
    assert placed(response, ("Ann", "lists", "item 7"))[1] == {reasons.TOO_LONG: 1}
