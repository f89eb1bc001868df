from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile import TEXTS
from hostile_texts import repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.verbatim import Verbatim

TEXT = "The “Old\n  House” — built in 1912 — wasn’t\u00a0ﬁnished."


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (['the "old house"'], "The “Old\n  House”"),
        (["built", "finished"], "built in 1912 — wasn’t\u00a0ﬁnished"),
        (["- built in 1912 -"], "— built in 1912 —"),
        (["wasn't"], "wasn’t"),
        (["1913"], None),
        (["finished", "built"], None),  # in this order
        ([], None),
        ([" "], None),
    ],
)
def test_only_what_is_there_word_for_word_is_found(pieces: list[str], found: str | None) -> None:
    place = Verbatim(TEXT).find(pieces)
    assert (place and TEXT[slice(*place)]) == found


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=80), st.data())
def test_any_slice_of_a_text_is_found_in_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    place = Verbatim(text).find([piece])
    if place is None:
        assert not Verbatim(piece)._text.strip()  # nothing that is seen
    else:
        assert 0 <= place[0] < place[1] <= len(text)
        assert Verbatim(piece)._text.strip() in Verbatim(text[slice(*place)])._text


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_are_read(text: str) -> None:
    Verbatim(text * 5).find([text, text])


def test_time_is_about_linear() -> None:
    def found(text: str) -> object:
        half = text[1 : len(text) // 2]
        return Verbatim(text).find(["a" * len(half) + "b", half + "c"])

    assert growth(found, repeated("ab")) < MOST
