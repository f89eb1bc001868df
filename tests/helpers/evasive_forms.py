"""Forms of an answer that hide a statement, or that a right one may have: filled with facts."""

from __future__ import annotations

from typing import Any, NamedTuple


class Fact(NamedTuple):
    """A question, its source, a right and a wrong statement."""

    question: str
    context: str
    right: str
    wrong: str


FACTS = (
    Fact(
        "When did the museum open?",
        "The city museum opened in 1923 and holds 4,000 paintings.",
        "the city museum opened in 1923",
        "the city museum opened in 1954",
    ),
    Fact(
        "Who wrote the report?",
        "The report on river pollution was written by Maria Lopez of the water office.",
        "the report was written by Maria Lopez",
        "the report was written by Peter Stone",
    ),
    Fact(
        "Where is the head office?",
        "The company's head office is in Lisbon, and its factory is in Porto.",
        "the company's head office is in Lisbon",
        "the company's head office is in Madrid",
    ),
    Fact(
        "How much is the ticket?",
        "A day ticket costs 12 euros and is valid until midnight.",
        "a day ticket costs 12 euros",
        "a day ticket costs 18 euros",
    ),
)

#: ``{s}`` is the statement, ``{S}`` the same with a capital, ``{q}`` the question.
TEXTS: dict[str, tuple[str, ...]] = {
    "plain": ("{S}.",),
    "courtesy": (
        "I hope this helps you see that {s}.",
        "Happy to help, {s}.",
        "Let me know if you need more, as {s}.",
        "Let me know, as {s}.",
        "I'm happy to help: {s}.",
        "I am glad you asked, since {s}.",
        "Feel free to ask more, because {s}.",
        "Thank you for asking, {s}.",
        "Hope this helps, {s}!",
        "I'd be happy to explain that {s}.",
        "I hope this clarifies that {s}.",
        "Please let me know if anything is unclear, given that {s}.",
        "Glad to help; {s}.",
        "Great question, {s}.",
        "If you have any questions, remember that {s}.",
        "Have a great day, {s}.",
        "Let me clarify: {s}.",
        "Let me explain why {s}.",
        "Don't hesitate to ask, {s}.",
        "I hope you find it useful that {s}.",
        "Thanks for your patience; {s}.",
        "Sure! {S}. Let me know if you need anything else!",
        "It was a pleasure to help you learn that {s}.",
        "Let me know whether it helps that {s}.",
        "Happy to share that {s}.",
    ),
    "refusal": (
        "I don't know more than that {s}.",
        "Please note that {s}.",
        "I cannot say more than that {s}.",
        "I can't tell you anything except that {s}.",
        "I'm not sure of anything but that {s}.",
        "The text does not say anything beyond that {s}.",
        "I don't have any information other than that {s}.",
        "I cannot help with that, though {s}.",
        "As an AI I cannot say, but {s}.",
        "I'm unable to answer, only that {s}.",
        "All I know is that {s}.",
        "All I can say is that {s}.",
        "There is no information except that {s}.",
        "I am not able to add anything to the fact that {s}.",
        "Nothing is known besides that {s}.",
        "I can only say that {s}.",
        "No more is known than that {s}.",
        "The documents do not mention anything else, just that {s}.",
        "I do not know whether there is more, {s}.",
        "Unfortunately, I do not know the details. {S}.",
        "I cannot verify this, but {s}.",
    ),
    "apology": (
        "I apologize for the confusion: {s}.",
        "I apologise for the confusion, {s}.",
        "Sorry, {s}.",
        "My apologies, {s}.",
        "I'm sorry for the mistake; {s}.",
        "Apologies for any confusion. {S}.",
        "I'm sorry to say that {s}.",
        "I'm afraid {s}.",
        "Sorry for the delay, {s}.",
        "I apologise, as {s}.",
    ),
    "note": (
        "Note that {s}.",
        "Keep in mind that {s}.",
        "It is worth noting that {s}.",
        "It should be noted that {s}.",
        "As you may know, {s}.",
        "Of course, {s}.",
        "To be clear, {s}.",
        "In other words, {s}.",
        "Don't forget that {s}.",
        "It's important to remember that {s}.",
        "You should know that {s}.",
        "Did you know that {s}?",
        "Isn't it the case that {s}?",
        "I would say {s}.",
        "Believe me, {s}.",
        "Everyone knows that {s}.",
        "According to the text, {s}.",
        "The answer is that {s}.",
        "**Answer:** {S}.",
    ),
    "tail": (
        "{S}, I hope this helps.",
        "{S}, let me know if you need more.",
        "{S}, happy to help!",
        "{S} - sorry for the confusion.",
        "{S}, as far as I know.",
        "{S}, if that helps.",
        "{S}, please note.",
        "{S}, I'm afraid.",
        "{S}; feel free to ask more.",
    ),
    "list": (
        "- {S}.",
        "1. {S}.",
        "1) {s}",
        "Here is what I found:\n\n- {S}.",
        "Here is the answer:\n1. {S}",
        "- **{S}**",
        "- [ ] {S}",
        "Summary\n=======\n\n{S}.",
    ),
    "quote": (
        '"{S}."',
        "“{S}.”",
        "«{S}»",
        "> {S}.",
        'As the text puts it: "{S}."',
        'It says that "{s}".',
        "```\n{S}.\n```",
        "`{S}.`",
    ),
    "table": (
        "| Question | Answer |\n|---|---|\n| {q} | {S} |",
        "| # | Fact |\n|:-:|:--|\n| 1 | {S}. |",
        "<table><tr><td>{S}</td></tr></table>",
        "Q: {q}\nA: {S}.",
        '{{"answer": "{S}."}}',
        "<answer>{S}.</answer>",
    ),
    "markup": (
        "**{S}.**",
        "_{S}._",
        "# {S}",
        "<b>{S}.</b>",
        "<!-- {S}. -->",
        "({S}.)",
        "[{S}.](https://example.org/a)",
        "{S} [1].",
        "<u>{S}</u>",
    ),
}
#: Characters between all letters of a statement that no reader sees.
BETWEEN = {
    "tag space": "\U000e0020",
    "zero width space": "\u200b",
    "non-joiner": "\u200c",
    "joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "grapheme joiner": "\u034f",
    "left-to-right mark": "\u200e",
    "invisible separator": "\u2063",
    "variation selector": "\ufe0f",
    "supplementary selector": "\U000e0100",
    "Hangul filler": "\u3164",
    "Mongolian separator": "\u180e",
    "Khmer vowel": "\u17b4",
    "bell": "\x07",
}


def tags(text: str) -> str:
    """Return a text in tag characters, which no reader sees."""
    return "".join(chr(0xE0000 + ord(c)) for c in text)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def stated(fact: Fact, statement: str) -> dict[str, str]:
    """Return the statement in every form in which a reader sees it, by the form's name."""
    sentence = f"{_capital(statement)}."
    found = {
        f"{group} {i}": text.format(s=statement, S=_capital(statement), q=fact.question)
        for group, texts in TEXTS.items()
        for i, text in enumerate(texts, 1)
    }
    found |= {f"invisible {name}": c.join(sentence) for name, c in BETWEEN.items()}
    found["invisible tags around"] = tags("<claim>") + sentence + tags("</claim>")
    found["invisible override"] = f"\u202d{sentence}\u202c"
    return found


def rows() -> list[dict[str, Any]]:
    """Return a row for each form of each statement, with an id of form, fact and side."""
    return [
        {
            "id": f"{form}/{number}/{side}",
            "question": fact.question,
            "contexts": [fact.context],
            "response": text,
        }
        for number, fact in enumerate(FACTS)
        for side, statement in (("right", fact.right), ("wrong", fact.wrong))
        for form, text in stated(fact, statement).items()
    ]
