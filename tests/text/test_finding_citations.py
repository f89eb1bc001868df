"""What a text cites: hand-written cases, any text, and hostile ones in linear time."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile import TEXTS
from hostile_texts import repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.citations import (
    blanked_markers,
    find_citations,
    find_links,
    heads_a_list,
    quoted_pieces,
    without_markers,
)


def numbers(text: str, *ids: str) -> list[tuple[tuple[int, int], ...]]:
    return [m.numbers for m in find_citations(text, ids).markers]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Lead is soft [3].", [((3, 3),)]),
        ("Lead is soft [1, 2].", [((1, 1), (2, 2))]),
        ("Lead is soft [1;2 and 4].", [((1, 1), (2, 2), (4, 4))]),
        ("Lead is soft [1-3].", [((1, 3),)]),
        ("Lead is soft [1–3, 7].", [((1, 3), (7, 7))]),
        ("Lead is soft [1][2].", [((1, 1),), ((2, 2),)]),
        ("Lead is soft.[^4]", [((4, 4),)]),
        ("Lead is soft [Source 3].", [((3, 3),)]),
        ("Lead is soft (sources 1 and 2).", [((1, 1), (2, 2))]),
        ("Lead is soft (see Document 12).", [((12, 12),)]),
        ("Lead is soft【3†source】.", [((3, 3),)]),
        ("铅很软［２］。", [((2, 2),)]),
        ("الرصاص لين [٣].", [((3, 3),)]),
        # not citations
        ("In 1999 [2021] it was [sic] (3) or [3 items] or x².", []),
        ("`a[1]` and ```\nb[2]\n``` c", []),
        ("[]", []),
        ("[1", []),
    ],
)
def test_markers(text: str, found: list[tuple[tuple[int, int], ...]]) -> None:
    assert numbers(text) == found


def test_ids_are_cited_and_what_looks_like_one() -> None:
    text = "A [doc-1], b [doc-9], c [doc-1, 2], d [note], e [a, b]."
    markers = find_citations(text, ["doc-1", "a, b"]).markers
    assert [(m.numbers, m.names) for m in markers] == [
        ((), ("doc-1",)),
        ((), ("doc-9",)),
        (((2, 2),), ("doc-1",)),
        ((), ("a, b",)),
    ]
    assert text[markers[0].start : markers[0].end] == "[doc-1]"


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("See https://x.org/a.", ["https://x.org/a"]),
        ("(see https://x.org/a_(b)).", ["https://x.org/a_(b)"]),
        ("[text](https://x.org/a) and <http://y.org/?q=1&r=2>", ["https://x.org/a", None]),
        ("no link, x.org", []),
    ],
)
def test_links(text: str, urls: list[str | None]) -> None:
    found = [link.url for link in find_links(text)]
    assert found == [url or "http://y.org/?q=1&r=2" for url in urls]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ('He said "the sky is very blue".', [("the sky is very blue",)]),
        ("He said “the sky … is very blue.”", [("the sky", "is very blue")]),
        ("Er sagte: „Der Himmel ist sehr blau.“", [("Der Himmel ist sehr blau",)]),
        ("Il dit « le ciel est très bleu ».", [("le ciel est très bleu",)]),
        ("彼は「今日の空はとても青くて美しい」と言った。", [("今日の空はとても青くて美しい",)]),
        ('The "big three" and "yes".', []),
        ('5" by 6" is small', []),
        ("“one “two three four five”", [("two three four five",)]),
    ],
)
def test_quotations(text: str, pieces: list[tuple[str, ...]]) -> None:
    assert [q.pieces for q in find_citations(text).quotations] == pieces


def test_what_was_put_into_a_quotation_is_not_looked_up() -> None:
    assert quoted_pieces("the engine [of the ship] was new") == ("the engine", "was new")
    assert quoted_pieces("[...]") == ()


@pytest.mark.parametrize(
    ("sentence", "heads"),
    [
        ("References:", True),
        ("## Sources", True),
        ("**Sources:** [1] Smith", True),
        ("Quellen:", True),
        ("Sources say so.", False),
        ("The references: none", False),
    ],
)
def test_a_list_of_sources_has_a_heading(sentence: str, heads: bool) -> None:
    assert heads_a_list(sentence) is heads


SYMBOLS = ["[", "]", "1", "2", "-", "–", ",", " ", "[3]", "[1, 2]", "【", "】", '"', "“", "”", "`"]
WORDS = [
    "https://",
    "x.org",
    "(",
    ")",
    "source ",
    "†",
    "a b c d",
    "…",
    ".",
    "\n",
    "doc-1",
    "٣",
    "é",
]
PIECES = st.sampled_from([*SYMBOLS, *WORDS, "```"])


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200))
def test_what_is_found_in_any_text_is_in_it_and_in_order(text: str) -> None:
    found = find_citations(text, ["doc-1", "7"])
    for items in found:
        places = [(x.start, x.end) for x in items]
        assert places == sorted(places)
        assert all(0 <= start < end <= len(text) for start, end in places)
    for marker in found.markers:
        assert marker.numbers or marker.names
        assert all(0 <= n < 1000 for pair in marker.numbers for n in pair)
    for link in found.links:
        assert text[link.start : link.end] == link.url
    for quotation in found.quotations:
        assert all(piece in text[quotation.start : quotation.end] for piece in quotation.pieces)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 999), st.integers(0, 999)), min_size=1, max_size=8))
def test_what_is_written_is_read_back(pairs: list[tuple[int, int]]) -> None:
    text = "So [" + ", ".join(f"{a}-{b}" for a, b in pairs) + "]."
    assert numbers(text) == [tuple(pairs)]


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_are_read(text: str) -> None:
    find_citations(text * 3, [text[:50], "a"])
    heads_a_list(text)


@pytest.mark.parametrize(
    "text",
    [
        *("[", "[1,", '"', "“a", "`", "```", "1-", " ", "#", "*", "([", "…", "[1]", "(source 1"),
        *("https://", "https://x.org/)", "a.", "\n", "[a ", "「あ", "[1 and "),
    ],
)
def test_time_is_linear(text: str) -> None:
    def read(long: str) -> None:
        find_citations(long, ["doc-1"])
        find_citations("[" + long + "]" + long)
        heads_a_list(long)
        quoted_pieces(long)

    assert growth(read, repeated(text)) < MOST


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Lead is soft [2], tin is hard [1, 3].", "Lead is soft, tin is hard."),
        ("Lead is soft.[1][2] It melts (source 3).", "Lead is soft. It melts."),
        ("[1] Lead is soft.", "Lead is soft."),
        ("Lead is soft【4†source】.", "Lead is soft."),
        ("He left in 1950 [4] and came back [5, 6].", "He left in 1950 and came back."),
    ],
)
def test_a_text_is_read_without_its_citations(text: str, read: str) -> None:
    assert without_markers(text) == read


def test_blanks_stand_where_citations_stood() -> None:
    assert blanked_markers("Lead [2] is soft.[1, 3]") == "Lead     is soft.      "


@pytest.mark.parametrize(
    "text",
    [
        "As was shown in [3], lead is soft.",
        "The list is [1, 2, 3].",
        "The interval is [0, 5].",
        "Then x[1] is 4.",
        "[1, 2] is sorted.",
        "It returns `a [1]`.",
        "[1]",
        "See (2020) and a [note].",
    ],
)
def test_brackets_that_are_a_word_stay(text: str) -> None:
    assert without_markers(text) == blanked_markers(text) == text
