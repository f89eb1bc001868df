from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.scripts import reads, script_shares

#: Unicode's Scripts.txt says so.
LETTERS = {
    "Latin": "aZéßøŁǅẞﬁＡªºK𝐀𝔸",
    "Greek": "αΩἀ",
    "Cyrillic": "яЖӘ",
    "Han": "中㐀𠀀々豈",
    "Hiragana": "あん",
    "Katakana": "アンｱ",
    "Hangul": "한ᄀㄱ",
    "Arabic": "نعﻻ",
    "Hebrew": "אש",
    "Devanagari": "कअ",
    "Bengali": "ক",
    "Tamil": "த",
    "Thai": "กไ",
    "Lao": "ກ",
    "Khmer": "ក",
    "Myanmar": "က",
    "Ethiopic": "ሀ",
    "Armenian": "ա",
    "Georgian": "აႠ",
    "Tibetan": "ཀ",
    "Cherokee": "Ꭰ",
    "Mongolian": "ᠠ",
    "Bopomofo": "ㄅ",
}


@pytest.mark.parametrize(
    ("letter", "script"), [(c, script) for script, letters in LETTERS.items() for c in letters]
)
def test_script_of_a_letter(letter, script):
    assert script_shares(letter) == {script: 1.0}


def test_shares():
    assert script_shares("abc я 1!") == {"Latin": 0.75, "Cyrillic": 0.25}
    assert script_shares("plain ascii") == {"Latin": 1.0}
    assert script_shares("123 ...") == script_shares("") == script_shares("١٢ 。") == {}


def test_reads_by_half():
    latin = frozenset({"Latin"})
    assert reads("3.14 !", latin) and reads("١٢٣", latin) and reads("", latin)
    assert reads("ab яж", latin) and not reads("a яж", latin)
    assert reads("中文 abc", frozenset({"Han", "Latin"})) and not reads("中文", latin)


@given(st.text())
def test_never_raises_and_sums_to_one(text):
    shares = script_shares(text)
    assert not shares or sum(shares.values()) == pytest.approx(1)
    assert bool(shares) == any(c.isalpha() for c in text)
