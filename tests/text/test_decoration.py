"""Marks of layout are left out of what is judged."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.decoration import undecorated


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("The fee is **45** euros.", "The fee is 45 euros."),
        ("- the *small* `--dry-run` flag", "the small --dry-run flag"),
        ("## Prices", "Prices"),
        ("```python\nx = 2 * 3 * 4\n```", "x = 2 * 3 * 4"),
        ("snake_case_name and __init__ of 2 * 3", "snake_case_name and init of 2 * 3"),
        ("It is ~~free~~ 5 euros.", "It is  5 euros."),
        ("> quoted", "quoted"),
        ("See [the page](https://example.org/a) and [1].", "See the page and [1]."),
        ("f[i](x) and [a](b c)", "f[i](x) and [a](b c)"),
        ("-5 degrees", "-5 degrees"),
        ("no marks", "no marks"),
    ],
)
def test_marks_are_left_out(text: str, wanted: str) -> None:
    assert undecorated(text) == wanted


@pytest.mark.parametrize(
    "piece", ["*", "**", "_", "`", "> ", "- ", "#", "~~", "*a", "```\n", "__a"]
)
def test_time_is_linear(piece: str) -> None:
    assert growth(undecorated, repeated(piece)) < MOST
