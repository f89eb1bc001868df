"""Foreign text in lines: whole, harmless, and never wider than asked for."""

from __future__ import annotations

import pytest

from veridical.text.wrap import columns, harmless, wrapped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain  text\n\tin lines ", "plain text in lines"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\u202ebc", "a\\u202ebc"),
        ("bell\x07 and back\x08", "bell\\x07 and back\\x08"),
        ("Zürich 東京", "Zürich 東京"),
    ],
)
def test_what_does_not_print_is_escaped(text: str, shown: str) -> None:
    assert harmless(text) == shown


@pytest.mark.parametrize(("text", "n"), [("abc", 3), ("東京", 4), ("e\u0301", 1), ("", 0)])
def test_columns_of_a_terminal(text: str, n: int) -> None:
    assert columns(text) == n


@pytest.mark.parametrize("width", [1, 2, 7, 20])
@pytest.mark.parametrize("text", ["one two three", "word " * 9 + "x" * 50, "東京 " * 8 + "京" * 9])
def test_lines_fit_and_lose_nothing(text: str, width: int) -> None:
    lines = wrapped(harmless(text), max(width, 2))
    assert all(columns(line) <= max(width, 2) for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_lines_break_between_words() -> None:
    assert wrapped("one two three four", 9) == ["one two", "three", "four"]
    assert wrapped("", 9) == [""]
