"""Courtesies, apologies and hedges around a statement."""

from __future__ import annotations

import pytest

from veridical.text.framing import frame_lead_in, frame_tail

SAID = "the shop is closed on Monday."


@pytest.mark.parametrize(
    "frame",
    [
        "I hope this helps you see that ",
        "Happy to help, ",
        "Let me know, as ",
        "Let me know if you need more, as ",
        "I'm sorry for the delay; ",
        "I’m afraid ",
        "Don't hesitate to ask, ",
        "All I know is that ",
        "Did you know that ",
        "If you have any questions, remember that ",
        "Well, of course, ",
    ],
)
def test_a_frame_ends_where_the_statement_begins(frame: str) -> None:
    text = frame + SAID
    at = 0
    while cut := frame_lead_in(text[at:]):
        at += cut
    assert text[at:] == SAID


@pytest.mark.parametrize(
    "text",
    [
        "I don't think that the shop is closed.",
        "I doubt that the shop is closed.",
        "It is not true that the shop is closed.",
        "I hope that helps.",
        "Let me know if you need more.",
        "Happy hour is from five to six, and the bar is full.",
        "Can you help me see that the shop is closed?",
        "I have the book that the shop is selling.",
        "If the light is red, the shop is closed.",
        "Sorry is the title of the song that she sang.",
        "",
    ],
)
def test_what_states_something_is_no_frame(text: str) -> None:
    assert frame_lead_in(text) == 0


@pytest.mark.parametrize(
    "tail",
    [
        ", I hope this helps.",
        ", let me know if you need more.",
        " - sorry for the confusion.",
        ", as far as I know.",
        "; feel free to ask more, I'm afraid.",
    ],
)
def test_a_courtesy_at_the_end_is_cut(tail: str) -> None:
    text = "The shop is closed on Monday"
    assert text == (text + tail)[: frame_tail(text + tail)]


@pytest.mark.parametrize(
    "text",
    [
        "The shop is closed, and so is the bar.",
        "The shop is closed, which helps.",
        "The bar, I am told, is open.",
        "A pen, happy to help!",
        "The shop is closed, let me know that the bar is open.",
    ],
)
def test_what_states_something_at_the_end_stays(text: str) -> None:
    assert frame_tail(text) == len(text)
