"""Characters that no reader sees, and the places of what is left."""

from __future__ import annotations

import random
import unicodedata

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.invisible import visible

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    "text",
    [
        "It is open.\r\n\tYes\f",
        "❤️ and ✔️ 1️⃣",
        "👩‍🚀 and 👩🏽‍💻",
        f"{FLAG} won",
        "می‌خواهم",  # Persian, with a non-joiner
        "क्‍ष",  # Devanagari, with a joiner
        "mu\u00ad\nseum",  # a word that a line cuts
        "café, naïve, Ελλάδα, 東京",
    ],
)
def test_what_is_seen_is_kept(text: str) -> None:
    assert visible(text) == (text, 0, (), (), ())


def test_every_ignorable_and_control_character_goes() -> None:
    for code in [*range(1, 0x3000), *range(0xFE00, 0x10000), *range(0xE0000, 0xE0200)]:
        c = chr(code)
        kind = unicodedata.category(c)
        written = c in "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"
        # marks of Arabic and Syriac numbers and names are format characters that are drawn
        drawn = 0x600 <= code <= 0x605 or code in (0x6DD, 0x70F, 0x8E2, 0x890, 0x891)
        if kind in ("Cf", "Cc") and not written and not drawn:
            assert visible(f"a{c}b").text == "ab", hex(code)


def test_places_are_those_of_the_whole_text() -> None:
    draw = random.Random(7)
    for _ in range(300):
        whole = "".join(
            draw.choice("ab\u200b\u2060\U000e0041 ") for _ in range(draw.randint(1, 30))
        )
        found = visible(whole)
        kept = [i for i, c in enumerate(whole) if c in "ab "]
        assert found.text == "".join(whole[i] for i in kept)
        assert found.removed == len(whole) - len(kept)
        for start in range(len(kept)):
            for end in range(start + 1, len(kept) + 1):
                assert found.outer_slice(start, end) == (kept[start], kept[end - 1] + 1)
        for place in range(len(whole) + 1):
            assert found.inner_place(place) == sum(i < place for i in kept)


def test_time_is_linear_in_the_text() -> None:
    assert growth(visible, repeated("a\u200b")) < MOST
