"""What people and models say around an answer, and what they say in it."""

from __future__ import annotations

import pytest

from veridical.text.small_talk import lead_in, small_talk

REPLIES = """
Yes.
True.
yeah
No, it is not.
Yes, that's right.
Oh wow, that is awesome !
Yes, sure.
It really is .
I believe it was.
I didn't.
They did n't.
I agree with you.
That’s interesting to know.
I love it too.
Probably not.
""".strip().splitlines()

COURTESIES = """
Sure!
**Sure!**
👋 Thanks for reaching out!
Safe travels, and don't hesitate to ask if you need more!
Good question — I had a look at the timetable.
I checked the leaflet.
Oh, hello there!
That's a great question!
Happy to help!
I'd be happy to help you plan your trip.
Hope this clarifies how it works.
Let me know if you'd like more details on the return policy.
Please let me know if there is anything else I can do for you.
Yes, I'd be happy to help!
I hope this helps!
I hope this helps, and feel free to ask.
I hope this helps and have a nice day!
Hope that answers your question.
Let me know if you have any further questions.
Sure, I'd be happy to help you with that!
If you have any more questions, feel free to ask.
You're welcome!
Thank you for your question.
I apologize for the confusion.
Have a great day!
Here's a summary of the article:
Based on the provided passages, here's a brief answer to the question:
Key points:
In summary:
Is there anything else I can help you with?
Have you been there?
Could you please provide more context?
What about you?
""".strip().splitlines()

STATEMENTS = """
I checked the brakes and they work.
I looked at the report, which is wrong.
Safe travels are never certain.
Sure, it is in Paris.
Yes, it's a city.
No rings were found.
I agree that the tower is in Rome.
That is wrong.
He is a rookie.
I love the Eiffel Tower!
Did you know that the tower was finished in Paris?
Have you visited the Louvre?
Here is the tower that Ann Lee built in Rome:
The tower is:
I hope this helps the people of Rome, who elected Ann Lee; she won.
If you have a fever, take two tablets.
Let me know if the 1889 tower is open.
Great Expectations was written by Dickens.
Thank you, Next is an album by Ariana Grande.
It was Leeds.
Good luck charms are sold there.
Das ist gut.
I'm happy to share that dogs are allowed on board.
I'd be happy to tell you that entry is free.
I'm pleased to provide ten free rides.
I hope this helps you see that entry is free.
Feel free to bring your dog, entry is free.
If you need to know, dogs are free, let me know.
Thank you for asking about dogs, which are allowed.
I'm sorry to hear that the pool is closed.
I'm glad you asked because entry is free.
Let me know that dogs are allowed.
I hope this helps, and dogs travel free.
I hope this helps and dogs travel free.
Let me know if you need more, but dogs travel free.
Thank you for asking, and dogs travel free.
""".strip().splitlines()


@pytest.mark.parametrize("text", REPLIES)
def test_replies(text: str) -> None:
    assert small_talk(text) == "reply"


@pytest.mark.parametrize("text", COURTESIES)
def test_courtesies(text: str) -> None:
    assert small_talk(text) == "courtesy"


@pytest.mark.parametrize("text", [*STATEMENTS, "", "...", "?!", "1. "])
def test_statements_are_none(text: str) -> None:
    assert small_talk(text) is None


@pytest.mark.parametrize(
    "text, rest",
    [
        ("Yes, the tower is in Paris.", "the tower is in Paris."),
        ("Sure! The tower is in Paris.", "The tower is in Paris."),
        ("oh yes , it is in paris", "it is in paris"),
        ("That's right, the tower is tall.", "the tower is tall."),
        ("No rings were found.", "No rings were found."),
        ("Well-known towers are tall.", "Well-known towers are tall."),
        ("Yes.", "Yes."),
        ("Sure, Paris", "Sure, Paris"),
        ("Good, cheap towers are rare.", "Good, cheap towers are rare."),
    ],
)
def test_lead_in(text: str, rest: str) -> None:
    assert text[lead_in(text) :] == rest


@pytest.mark.parametrize(
    "text",
    ["yes, " * 20_000, "i see " * 40 + ":", "very " * 38 + "?", "so true " * 24, "a " * 10**5],
)
def test_long_and_repeated_words_are_read(text: str) -> None:
    small_talk(text)  # by a pattern that tries every division of the words, it would not end
    assert 0 <= lead_in(text) <= len(text)
