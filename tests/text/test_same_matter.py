from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.text.same_matter import same_matter

FOUNDED = "Lumo was founded in Leeds."


@pytest.mark.parametrize(
    "statement, passage, same",
    [
        (FOUNDED, "Lumo has its head office in Berlin.", False),
        (FOUNDED, "Lumo's head office is in Berlin. It employs 300 people.", False),
        (FOUNDED, "Ann Lee founded Lumo in Berlin.", True),
        (FOUNDED, "Lumo was established in Berlin.", True),
        ("Ann Lee died in 1912.", "Ann Lee married in 1902.", False),
        ("Ann Lee died in 1912.", "Her death came in 1910.", True),
        ("Ann Lee died in 1912.", "Ann Lee (3 May 1860 - 7 June 1910) was a poet.", True),
        ("Ann Lee was born in Leeds.", "Ann Lee (born 1860 in York) wrote hymns.", True),
        ("The glacier advanced.", "The glacier lost 310 metres.", True),
        ("Prices rose in May.", "In May, Orrin saw costs fall.", True),
        ("Ann Lee is a painter.", "Ann Lee was an English poet.", True),
        ("Ann Lee is in Leeds.", "Ann Lee wrote hymns.", True),  # no word but names: nothing tells
        (FOUNDED, "", True),
        ("莉莉在里兹出生。", "莉莉在柏林工作。", True),
    ],
)
def test_a_passage_is_about_what_a_statement_says_or_not(statement, passage, same):
    assert same_matter(statement, passage) is same


@given(st.text(max_size=80))
def test_every_text_is_about_what_it_says_itself(text):
    assert same_matter(text, text)
