from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.passages import passages
from veridical.text.sentences import split_sentences

TEXT = "One is here. Two is here.  Three is here. Four is here."  # sentences of 12 to 14


def test_windows_overlap_by_a_sentence():
    found = passages(TEXT, size=30)
    assert [w.text for w in found] == [
        "One is here. Two is here.",
        "Two is here.  Three is here.",
        "Three is here. Four is here.",
    ]
    assert [[s.text for s in w.sentences] for w in found][1] == ["Two is here.", "Three is here."]


def test_no_overlap_where_it_would_leave_no_room():
    long = "This sentence is far longer than any window may be."
    found = passages(f"One is here. {long} Two is here. Three is here.", size=30)
    assert [w.text for w in found] == ["One is here.", long, "Two is here. Three is here."]


def test_short_and_blank_texts():
    assert [w.text for w in passages(f"  {TEXT}\n")] == [TEXT]
    assert passages(" \n ") == passages("") == []
    assert [w.text for w in passages(TEXT, size=30, overlap=0)] == [
        "One is here. Two is here.",
        "Three is here. Four is here.",
    ]


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["Aa bb. ", "Cc. ", "\n\n", "Dd ee ff gg hh ii. ", " x"]), max_size=30
    ),
    st.integers(1, 60),
    st.integers(0, 3),
)
def test_nothing_is_lost_or_cut(parts, size, overlap):
    text = "".join(parts)
    found = passages(text, size, overlap)
    sentences = split_sentences(text)
    held = [s for w in found for s in w.sentences]
    assert list(dict.fromkeys(held)) == sentences
    for w in found:
        assert w.text == text[w.start : w.end]
        assert (w.start, w.end) == (w.sentences[0].start, w.sentences[-1].end)
        assert len(w.text) <= size or len(w.sentences) == 1
        assert all(text[s.start : s.end] == s.text for s in w.sentences)
    for a, b in pairwise(found):
        assert a.start < b.start and a.end < b.end
        assert len(set(a.sentences) & set(b.sentences)) <= overlap
