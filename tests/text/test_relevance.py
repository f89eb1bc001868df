from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.relevance import MostAbout, most_about


def test_rare_words_count_more():
    candidates = [["he", "was", "in", "the", "city"], ["Rome", "fell"], ["he", "was", "in", "it"]]
    # log(4/2) * 3 = 2.08 for the first and third; log(4/1) = 1.39 for "rome"
    assert most_about(["He", "was", "in", "Rome"], candidates) == 0
    assert most_about(["He", "in", "ROME"], candidates) == 0  # tie: log 4 = 2 log 2; the earliest
    assert most_about(["He", "Rome"], candidates) == 1


def test_words_count_once_and_marks_not_at_all():
    assert most_about(["a", "!", "?"], [["!", "?", "..."], ["a"]]) == 1
    assert most_about(["a", "a", "b", "c"], [["a", "a", "a"], ["b", "c"]]) == 1


def test_the_earliest_of_equals():
    assert most_about(["x"], [["a"], ["b"]]) == 0
    assert most_about([], [["a"], ["b"]]) == 0
    assert most_about(["a"], [["b"], ["a"], ["a"]]) == 1
    with pytest.raises(ValueError, match="no candidate"):
        most_about(["a"], [])


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
    chosen = most_about(unit, candidates)
    assert overlap[chosen] == pytest.approx(max(overlap))
    assert most_about(reversed(unit), candidates) == chosen


def test_candidates_read_once_answer_for_many_units():
    candidates = [["in", "1912"], ["in", "Rome", "."], ["RAIN", "fell"]]
    about = MostAbout(candidates)
    units = [["Born", "in", "Rome"], ["1912"], ["rain"], ["nothing"], [], ["In"]]
    assert [about.place(u) for u in units] == [1, 0, 2, 0, 0, 0]
    assert [about.place(u) for u in units] == [most_about(u, candidates) for u in units]
    with pytest.raises(ValueError, match="no candidate"):
        MostAbout([])
