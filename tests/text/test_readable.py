"""Texts as a model should read them."""

import pytest
from growing import MOST, growth
from hostile_texts import repeated

from veridical.text.readable import readable


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("The libra-\nry is quiet.", "The library is quiet."),
        ("The libra-\n   ry is quiet.", "The library is quiet."),
        ("a long-\nterm plan", "a long-term plan"),
        ("a semi-arid land, a semi-\narid land", "a semi-arid land, a semi-arid land"),
        ("a li\u00adbra\u00adry", "a library"),
        ("a li\u00ad\nbrary", "a library"),
        ("the e\ufb03cient \ufb01re", "the efficient fire"),
        ("Room\u00a0５, ９\u202fam", "Room 5, 9 am"),
        ("٣ days, ३ days", "3 days, 3 days"),
        ("R&amp;D costs &pound;5&nbsp;m", "R&D costs £5 m"),
        ("N O T I C E to all", "NOTICE to all"),
        ("T h e  l i d  i s  o n", "The lid is on"),
        ("The lid\nis on.\nIt is hot.", "The lid is on.\nIt is hot."),
        ("lid ........ on", "lid: on"),
        ("at 1O am, at 2O0", "at 10 am, at 2O0"),
        ("the 0pen door", "the open door"),
        ("from 9 a m to 5 p m", "from 9 am to 5 pm"),
        ("One.\fTwo", "One.\nTwo"),
        ("THE LID IS HOT TODAY", "The lid is hot today"),
        ('It is \\"hot\\".', 'It is "hot".'),
        ("<p>The <b>lid</b> is hot.</p>", " The lid is hot. "),
    ],
)
def test_what_pages_and_scans_leave_is_gone(text, read):
    assert readable(text) == read


@pytest.mark.parametrize(
    "text",
    [
        "pre- and post-war",
        "- one\n- two",
        "Options A B C D",
        "I a b",
        "10 m², 5 km³, ½ l, H₂O",
        "a < b and c > d",
        "AT&T; x && y",
        "0x1f 0.5 H2O 2l",
        "NASA, ESA and the UN",
        "Monday: 9\nTuesday: 10",
        "Name:\nAnn",
        "1. Wash\n2. Dry",
        "第1章　はじめに".replace("　", " "),
    ],
)
def test_other_texts_stay(text):
    assert readable(text) == text


@pytest.mark.parametrize(
    "piece",
    ["a ", "a  ", "a-\n", "&amp;", "&", "<p ", "....", ". ", "\u00ad\n", "0O", " 0aaaaaa", "１",
     "p m 1 ", "AB ", "ABC, ", "<b>", "\\\"", "a\n"],
)  # fmt: skip
def test_time_grows_with_length_alone(piece):
    assert growth(readable, repeated(piece)) < MOST
