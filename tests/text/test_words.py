from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text import words as module
from veridical.text.words import WordPlaces, lower_words, word_spans, words

#: Written by hand after spaCy's documented rules; ``test_spacy_agrees`` checks them against it.
ENGLISH = [
    ("He can't, won't and didn't go.", "He ca n't , wo n't and did n't go ."),
    ("I'm sure they've said she'll do it; we're fine, he'd go.",
     "I 'm sure they 've said she 'll do it ; we 're fine , he 'd go ."),
    ("Smith's and the Smiths’ dogs’ ball’s", "Smith 's and the Smiths ’ dogs ’ ball ’s"),
    ("It cannot be; gonna try.", "It can not be ; gon na try ."),
    ("Mr. John F. Kennedy Jr. of the U.S. met Dr. Lee at St. Mary's.",
     "Mr. John F. Kennedy Jr. of the U.S. met Dr. Lee at St. Mary 's ."),
    ("A well-known 24-year-old mother-in-law", "A well - known 24 - year - old mother - in - law"),
    ("(1820–1876) was (born 1990).", "( 1820–1876 ) was ( born 1990 ) ."),
    ("from 2004–present—today", "from 2004 – present — today"),
    ("It cost $3.50, £1,000 or 5€ (US$20).", "It cost $ 3.50 , £ 1,000 or 5 € ( US$ 20 ) ."),
    ("10km at 5kg, 20% and 30°C.", "10 km at 5 kg , 20 % and 30 ° C ."),
    ("At 5pm or 11a.m. on 3/4/2020", "At 5 pm or 11 a.m. on 3/4/2020"),
    ('He said: "Stop!" Then... left.', 'He said : " Stop ! " Then ... left .'),
    ("“Quoted,” ‘single’ [brackets] {x} <y>",
     "“ Quoted , ” ‘ single ’ [ brackets ] { x } < y >"),
    ("Visit https://example.com/a.b?c=d or mail a.b@c.org now.",
     "Visit https://example.com/a.b?c=d or mail a.b@c.org now ."),
    ("The NBA. The BBC, B.A. and Ph.D. end.", "The NBA . The BBC , B.A. and Ph.D. end ."),
    ("end.Start of U.K.", "end . Start of U.K."),
    ("rock'n'roll o'clock O'Neil", "rock'n'roll o'clock O'Neil"),
    ("Email:now and/or w/o 2:30", "Email : now and/or w/o 2:30"),
    ("😀👍 ok™", "😀 👍 ok ™"),
    ("Poznań. École-café naïve", "Poznań . École - café naïve"),
]  # fmt: skip
OTHER = [
    ("他来了。她走了！", "他 来 了 。 她 走 了 ！"),
    ("GPT4は良いAIです", "GPT4 は 良 い AI で す"),
    ("カタカナー 한국어 단어.", "カ タ カ ナ ー 한국어 단어 ."),
    ("ไม่มี ที่นี่", "ไ ม่ มี ที่ นี่"),
    ("ຂ້ອຍ ខ្ញុំ မြန်မာ", "ຂ້ ອ ຍ ខ្ ញុំ မြ န် မာ"),
    ("यह एक वाक्य है।", "यह एक वाक्य है ।"),
    ("هل أنت بخير؟ نعم، شكرا.", "هل أنت بخير ؟ نعم ، شكرا ."),
    ("Он сказал: «Да». Привет.", "Он сказал : « Да » . Привет ."),
    ("", ""),
    (" \n\t", ""),
]


@pytest.mark.parametrize(("text", "expected"), ENGLISH + OTHER)
def test_expected_tokens(text, expected):
    assert words(text) == expected.split()


@pytest.mark.spacy
def test_spacy_agrees():
    """Same English tokens as spaCy on the hand-written list: at least 97 % of them."""
    pytest.importorskip("spacy")
    from veridical.errors import UsageError
    from veridical.text.spacy_text import spacy_words

    try:
        spacy_words("")
    except UsageError as e:
        pytest.skip(str(e))
    same = total = 0
    for text, _ in ENGLISH:
        theirs = Counter(spacy_words(text))
        same += (theirs & Counter(words(text))).total()
        total += theirs.total()
    assert same / total >= 0.97, f"{same} of {total}"


@given(st.text() | st.text(alphabet=".,'’\"()-$€0123456789abstnACS中はไม่ \n…:/@", max_size=60))
@settings(max_examples=500, deadline=None)
def test_tokens_join_back_and_spans_slice(text):
    spans = word_spans(text)
    assert [s.text for s in spans] == words(text)
    assert all(text[s.start : s.end] == s.text != "" for s in spans)
    assert "".join(words(text)) == "".join(text.split())
    assert lower_words(text) == [token.lower() for token in words(text)]
    assert all(a.end <= b.start for a, b in pairwise(spans))
    places = WordPlaces(text)
    assert [places[i] for i in range(len(spans))] == [(s.start, s.end) for s in spans]


@pytest.mark.parametrize(
    "text",
    [
        "He can't pay Smith's $5m (1820–76).",
        " a  b\n\nc\t",
        "x\u2028y\x1cz\x85w\u3000v",
        "İstanbul'da ΟΔΟΣ 中文字 e\u0301 👩‍👩‍👧 " + "long" * 200,
        "a b ",
        "",
    ],
)
def test_places_of_single_words_are_those_of_all(text):
    spans = word_spans(text)
    places = WordPlaces(text)
    # in any order: each is found by itself
    found = {i: places[i] for i in reversed(range(len(spans)))}
    assert found == {i: (s.start, s.end) for i, s in enumerate(spans)}


def test_white_space_is_the_same_to_both_ways_of_cutting():
    every = "".join(map(chr, range(0x110000)))
    assert module._PIECE.findall(every) == every.split()


def test_long_pieces_take_linear_time():
    for unit in ("(", ")", ".", "a-", "a.", "a@", "中", "'", "1,", "a.b@", "www."):
        assert "".join(words(unit * 30_000)) == unit * 30_000


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MEMO_SIZE", 3)
    memo = module._Memo(lambda piece: (piece,))
    long = "x" * 1000
    for piece in ("a", "b", "c", long, "d", "d"):
        assert memo[piece] == (piece,)
    assert list(memo) == ["d"]
