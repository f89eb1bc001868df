"""Actions claimed by an answer, found by rules on English words.

"I created the ticket", "I've sent it and updated the list", "Your flight has been booked",
"Successfully deleted the file". Announced, negated, questioned, conditional, quoted actions and
those in code are not claimed, nor are texts in the answer itself ("I wrote a summary").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from veridical.text.fact_words import AUXILIARIES, FUNCTION_WORDS
from veridical.text.spans import Span

#: Past forms by kind of action. Words that often mean mental work or something
#: else ("checked", "made", "reviewed", "found", "set") are omitted.
_PAST = {
    "create": "created added inserted registered opened",
    "send": "sent emailed e-mailed mailed messaged forwarded notified texted posted published "
    "tweeted submitted replied invited",
    "update": "updated changed modified edited renamed moved rescheduled reassigned assigned "
    "enabled disabled activated deactivated upgraded downgraded renewed merged",
    "delete": "deleted removed erased cancelled canceled unsubscribed archived revoked",
    "book": "booked reserved scheduled ordered purchased bought",
    "pay": "paid issued transferred refunded charged deposited withdrew",
    "save": "saved stored uploaded downloaded exported copied recorded logged",
    "run": "ran executed deployed installed restarted started stopped launched tested",
    "search": "searched queried fetched browsed",
}
#: Words in a tool's name or arguments that show the kind of its action.
_TOOL_WORDS = {
    "create": "create add insert new register make open generate build post put mkdir touch write "
    "setup save schedule append",
    "send": "send email mail message forward reply notify sms text share post publish tweet submit "
    "notification invite comment contact create respond",
    "update": "update change modify edit rename move set adjust replace assign patch put mark "
    "enable disable toggle reschedule upgrade mv write alter merge activate deactivate renew "
    "lock unlock start stop press add remove",
    "delete": "delete remove erase clear cancel unsubscribe drop archive revoke terminate rm "
    "rmdir del destroy purge retweet close",
    "book": "book reserve schedule order purchase buy booking reservation checkout create add "
    "place appointment invoice",
    "pay": "pay transfer refund charge payment deposit withdraw send fund transaction purchase "
    "book",
    "save": "save store upload download export backup copy record log write put create cp add",
    "run": "run execute exec test deploy install start stop restart launch build shell bash "
    "command pytest activate engine",
    "search": "search query lookup find fetch get retrieve browse list read google web grep "
    "select show view check",
}
KINDS = {past: kind for kind, words in _PAST.items() for past in words.split()}
"""The kind of action of each past form."""
TOOL_WORDS = {kind: frozenset(words.split()) for kind, words in _TOOL_WORDS.items()}
"""The words of tools by kind of action."""

_ADVERB_WORDS = """
    just already now also successfully then first finally automatically immediately quickly
    personally gone ahead and since both been
"""
_ADVERBS = frozenset(_ADVERB_WORDS.split())
#: Before "I": no statement that it was done.
_UNREAL_WORDS = """
    if unless until once whether had should would could as than like
"""
_UNREAL = frozenset(_UNREAL_WORDS.split())
_BREAKS = frozenset([".", ";", ":", "!", "?", "—", "–", "(", ")"])
_CLAUSE_WORDS = """
    because since so but which who that when while although if
"""
_CLAUSE = frozenset(_CLAUSE_WORDS.split())
#: Things that an answer may be or contain, and the kinds of action that it then performs itself.
_IN_TEXT = ("create", "update", "delete")
_TEXT_WORDS = """
    summary list table answer response reply poem story essay outline plan explanation example
    examples version draft paragraph sentence section code function script snippet note text
    translation comment comments description title details detail information context emphasis
    steps bullet points list overview breakdown comparison analysis sentence word words line lines
    letter recipe itinerary question questions placeholder placeholders assumption formatting
    structure wording tone sections class method variable loop check test
"""
_TEXTS = frozenset(_TEXT_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:[.'’@_&/+-][^\W_]+)*(?:['’](?=\s|$))?|[.,;:!?()—–]")
_QUOTED = re.compile(r"“[^“”\n]{0,2000}”|\"[^\"\n]{0,2000}\"|`[^`\n]*`|«[^«»\n]{0,2000}»")
_SUBJECTS = frozenset(["i", "we", "i've", "we've", "i’ve", "we’ve"])
_LONGEST_OBJECT = 14  # words
_EMPTY = FUNCTION_WORDS | AUXILIARIES | {"successfully", "new", "please", "following", "below"}


class Action(NamedTuple):
    """A claimed action and the place of its words.

    Attributes:
        verb: the past form, in lower case.
        kind: kind of action, one of :data:`TOOL_WORDS`.
        objects: the words for its object, in lower case, without function words.
        sentence: index of the sentence.
    """

    start: int
    end: int
    verb: str
    kind: str
    objects: tuple[str, ...]
    sentence: int


class _Token(NamedTuple):
    start: int
    end: int
    text: str


def claimed_actions(sentences: Sequence[Span]) -> list[Action]:
    """Return the actions that an answer's ``sentences`` claim, in order.

    >>> [span] = [Span(0, 43, "I've created the ticket and emailed Ann Lee")]
    >>> [(a.verb, a.objects) for a in claimed_actions([span])]
    [('created', ('ticket',)), ('emailed', ('ann', 'lee'))]
    """
    return [a for i, sentence in enumerate(sentences) for a in _of_sentence(i, sentence)]


def _of_sentence(place: int, sentence: Span) -> Iterator[Action]:
    text = sentence.text
    if text.rstrip().endswith(("?", "？")):
        return
    text = _QUOTED.sub(lambda m: " " * len(m[0]), text)
    tokens = [_Token(m.start(), m.end(), m[0].lower()) for m in _WORD.finditer(text)]
    speaking = claiming = False  # the subject is the speaker; a verb has been found already
    subject = 0
    for i, token in enumerate(tokens):
        if token.text in _SUBJECTS:
            speaking = not (i and tokens[i - 1].text in _UNREAL)
            subject, claiming = i, False
        elif token.text in _BREAKS:
            subject, speaking, claiming = i + 1, False, False
        elif token.text in KINDS:
            kind = KINDS[token.text]
            if speaking and _follows_subject(tokens, subject, i, claiming):
                objects = _objects(tokens, i + 1, 1)
                first, last = (i if claiming else subject), objects.last
                claiming = True
            elif _is_done_to(tokens, max(subject, i - _LONGEST_OBJECT), i):
                objects = _objects(tokens, i - 1, -1)
                first, last = objects.last, i
            elif _is_announced(tokens, i):
                objects = _objects(tokens, i + 1, 1)
                first, last = i, objects.last
            else:
                continue
            if not (objects.texts and kind in _IN_TEXT):
                start, end = sentence.start + tokens[first].start, sentence.start + tokens[last].end
                yield Action(start, end, token.text, kind, objects.words, place)


def _follows_subject(tokens: Sequence[_Token], subject: int, verb: int, claiming: bool) -> bool:
    """Return True if the speaker is the verb's subject.

    The verb follows the pronoun with at most adverbs between, or "and" or a comma as the next of
    several verbs.
    """
    at = verb - 1
    while at > subject and tokens[at].text in (_ADVERBS | {"have", "'ve"}):
        at -= 1
    if at == subject:
        return True
    return claiming and (tokens[at].text == "," or tokens[at + 1].text in ("and", "then"))


def _is_done_to(tokens: Sequence[_Token], first: int, verb: int) -> bool:
    """Return True for the passive: "Your flight has been booked", "The mail was successfully
    sent".
    """
    at = verb - 1
    surely = False
    while at > first and tokens[at].text in _ADVERBS - {"been"}:
        surely = surely or tokens[at].text in ("successfully", "now")
        at -= 1
    perfect = at > first and tokens[at].text == "been" and tokens[at - 1].text in ("has", "have")
    if not perfect and not (at > first and tokens[at].text in ("was", "were", "is", "are")):
        return False
    yours = any(t.text == "your" for t in tokens[first:at])
    return (yours and perfect) or surely


def _is_announced(tokens: Sequence[_Token], verb: int) -> bool:
    """Return True for a bare participle: "Successfully deleted the file", "Done: booked the
    table".
    """
    before = [t.text for t in tokens[: min(verb, 3)]]
    return before == ["successfully"] or (before[:1] == ["done"] and before[1:] in ([","], [":"]))


class _Objects(NamedTuple):
    words: tuple[str, ...]
    last: int
    texts: bool


def _objects(tokens: Sequence[_Token], at: int, step: int) -> _Objects:
    """Return the object's words from ``at`` on, and the place of the last.

    The third value is True if the object is a text of the answer itself.
    """
    words: list[str] = []
    last = at - step
    for _ in range(_LONGEST_OBJECT):
        if not 0 <= at < len(tokens):
            break
        text = tokens[at].text
        following = tokens[at + 1].text if at + 1 < len(tokens) else ""
        ends = text in _BREAKS or text == ","
        if step > 0 and text in ("and", "then"):  # another action follows
            ends = following in KINDS or following in _ADVERBS or following in _SUBJECTS
            ends = ends or following.endswith("ed")
        elif step > 0:
            ends = ends or text in _CLAUSE or text in _SUBJECTS
        if ends:
            break
        if text not in _EMPTY:
            words.append(text)
        last = at
        at += step
    if step < 0:
        words.reverse()
    named = words[:2] if step > 0 else words[-2:]
    return _Objects(tuple(words), last, any(w in _TEXTS for w in named))
