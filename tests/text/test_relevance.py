from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.relevance import MostAbout


def test_rare_words_count_more():
    candidates = [["he", "was", "in", "the", "city"], ["Rome", "fell"], ["he", "was", "in", "it"]]
    # log(4/2) * 3 = 2.08 for the first and third; log(4/1) = 1.39 for "rome"
    assert MostAbout(candidates).place(["He", "was", "in", "Rome"]) == 0
    # a tie, log 4 = 2 log 2: the earliest
    assert MostAbout(candidates).place(["He", "in", "ROME"]) == 0
    assert MostAbout(candidates).place(["He", "Rome"]) == 1


def test_words_count_once_and_marks_not_at_all():
    assert MostAbout([["!", "?", "..."], ["a"]]).place(["a", "!", "?"]) == 1
    assert MostAbout([["a", "a", "a"], ["b", "c"]]).place(["a", "a", "b", "c"]) == 1


def test_the_earliest_of_equals():
    assert MostAbout([["a"], ["b"]]).place(["x"]) == 0
    assert MostAbout([["a"], ["b"]]).place([]) == 0
    assert MostAbout([["b"], ["a"], ["a"]]).place(["a"]) == 1
    with pytest.raises(ValueError, match="candidates must not be empty"):
        MostAbout([]).place(["a"])


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("abcdef.")),
    st.lists(st.lists(st.sampled_from("ABcdef!")), min_size=1, max_size=6),
)
def test_against_a_plain_sum(unit, candidates):
    held = [{w.lower() for w in c if w.isalpha()} for c in candidates]
    overlap = [
        sum(
            math.log((len(held) + 1) / sum(w in h for h in held)) for w in sorted(set(unit) & words)
        )
        for words in held
    ]
    chosen = MostAbout(candidates).place(unit)
    assert overlap[chosen] == pytest.approx(max(overlap))
    assert MostAbout(candidates).place(reversed(unit)) == chosen


def test_candidates_read_once_answer_for_many_units():
    candidates = [["in", "1912"], ["in", "Rome", "."], ["RAIN", "fell"]]
    about = MostAbout(candidates)
    units = [["Born", "in", "Rome"], ["1912"], ["rain"], ["nothing"], [], ["In"]]
    assert [about.place(u) for u in units] == [1, 0, 2, 0, 0, 0]
    assert [about.place(u) for u in units] == [MostAbout(candidates).place(u) for u in units]
    with pytest.raises(ValueError, match="candidates must not be empty"):
        MostAbout([])


def test_the_nearest_of_those_that_share_a_word():
    about = MostAbout([["a", "b"], ["c"], ["b", "d"], ["b", "d", "e"]])
    assert about.nearest(["b", "d", "x"], 2) == [2, 3]  # the earlier of equals
    assert about.nearest(["b", "d", "x"], 9) == [2, 3, 0]
    assert about.nearest(["b", "e"], 1) == [3]
    assert about.nearest(["x"], 3) == []
