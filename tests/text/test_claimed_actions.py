"""Actions that an answer claims: what the rules find, and what they must leave alone."""

from __future__ import annotations

import pytest
from growing import MOST, growth
from hostile import TEXTS
from hostile_texts import repeated
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.text.actions import KINDS, claimed_actions
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span


def claims(text: str) -> list[tuple[str, str]]:
    """Kind of each action, and the words of the answer that claim it."""
    found = claimed_actions(split_sentences(text))
    return [(a.kind, text[a.start : a.end]) for a in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I created the ticket.", [("create", "I created the ticket")]),
        ("I've just sent the email to Bob.", [("send", "I've just sent the email to Bob")]),
        ("I’ve sent it.", [("send", "I’ve sent it")]),
        ("We have successfully updated it.", [("update", "We have successfully updated it")]),
        ("I've gone ahead and booked a table.", [("book", "I've gone ahead and booked a table")]),
        ("Your flight has been booked.", [("book", "Your flight has been booked")]),
        ("The file was successfully deleted.", [("delete", "The file was successfully deleted")]),
        ("Successfully deleted a.txt.", [("delete", "deleted a.txt")]),
        ("Done: booked the table.", [("book", "booked the table")]),
        (
            "I created the ticket, emailed Ann and then updated the board.",
            [
                ("create", "I created the ticket"),
                ("send", "emailed Ann"),
                ("update", "updated the board"),
            ],
        ),
        (
            "I cancelled order #12 and issued a refund; I ran the tests.",
            [
                ("delete", "I cancelled order #12"),
                ("pay", "issued a refund"),
                ("run", "I ran the tests"),
            ],
        ),
        # announced, denied, asked, conditional, quoted, in code
        ("I will send the email. I'll book it. I can delete it.", []),
        ("I have not sent it. I haven't sent it. I couldn't have sent it.", []),
        ("Have I sent the email? I sent it, didn't I?", []),
        ("If I deleted the file, it would be gone. Once I booked it, pay.", []),
        ('She wrote "I sent the email". `I deleted it`', []),
        # others, history, texts of the answer itself
        ("You created the ticket. Ann sent the email. The law was changed in 1912.", []),
        ("The treaty has been cancelled.", []),
        ("I created a summary of the text. I've added comments to the code.", []),
        ("Ich habe das Ticket erstellt. 我已经发送了邮件。", []),
        ("", []),
    ],
)
def test_what_is_claimed(text: str, found: list[tuple[str, str]]) -> None:
    assert claims(text) == found


def test_what_was_acted_on() -> None:
    text = "I've scheduled the weekly meeting with Ann Lee for 3 pm on Friday."
    (action,) = claimed_actions(split_sentences(text))
    assert action.objects[:4] == ("weekly", "meeting", "ann", "lee")
    assert (action.kind, action.verb, action.sentence) == ("book", "scheduled", 0)


PIECES = [
    "I ",
    "we ",
    "I've ",
    "have ",
    "and ",
    ", ",
    "sent ",
    "booked ",
    "not ",
    "the ",
    "x ",
    "? ",
]
PIECES += [
    "your ",
    "has been ",
    "was ",
    "successfully ",
    "Done: ",
    '"',
    "“",
    "`",
    ". ",
    "email ",
    "é ",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=100))
def test_of_any_text_the_claims_lie_in_their_sentence(text: str) -> None:
    sentences = split_sentences(text)
    for action in claimed_actions(sentences):
        sentence = sentences[action.sentence]
        assert sentence.start <= action.start < action.end <= sentence.end
        assert action.verb in text[action.start : action.end].lower()
        assert KINDS[action.verb] == action.kind


@pytest.mark.parametrize("text", TEXTS)
def test_hostile_texts_are_read(text: str) -> None:
    assert claimed_actions(split_sentences(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        *("I sent ", "and sent ", "your x has been sent ", "I just ", '"', "“", "`", "x’", "a-"),
        *("sent, ", "successfully sent ", "Done: sent ", "I x ", "been ", ". "),
    ],
)
def test_time_is_linear(text: str) -> None:
    def read(long: str) -> None:
        for whole in (f"{long} and sent it", f"I sent{long[1:]} and sent it"):
            claimed_actions([Span(0, len(whole), whole)])

    assert growth(read, repeated(text)) < MOST
