"""Tests of lines that deny their name."""

from __future__ import annotations

import pytest

from veridical.text.passages import passages
from veridical.text.structure.wording import denial


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Data loss: none.", "There is no data loss."),
        ("- **Side effects:** None known", "There are no known side effects."),
        ("Access: nil", "There is no access."),
        ("Data loss: none of the backups failed.", None),
        ("Data loss: nonetheless small", None),
        ("Data loss: 3 rows", None),
        ("We asked, and he said: none.", None),
        ("none", None),
        ("", None),
    ],
)
def test_a_line_that_denies_its_name_is_a_sentence(text: str, said: str | None) -> None:
    assert denial(text) == said


def test_a_denial_keeps_its_place_among_other_sentences() -> None:
    text = "The power failed at two. Data loss: none.\nIt came back at three."
    (window,) = passages(text)
    assert [s.text for s in window.sentences] == [
        "The power failed at two.",
        "There is no data loss.",
        "It came back at three.",
    ]
    assert [text[s.start : s.end] for s in window.sentences][1] == "Data loss: none."


def test_a_denial_among_lines_of_names_and_values() -> None:
    (window,) = passages("Deposit: none\nPrice: €45\nSeats: 5")
    assert window.sentences[0].text == "There is no deposit."
