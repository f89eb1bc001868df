"""Strict parsing of verdicts in free text; ambiguous replies yield no verdict.

A verdict counts if it opens or ends a reply. It may be alone ("No."), after a label ("Score: 4") or
in a plain sentence ("The answer is correct."). A mention elsewhere, or one that is quoted,
questioned, retracted or attributed to a third party, never counts. If it is a mention of another
verdict, the reply has no verdict.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from veridical.llm import phrases
from veridical.llm.visible import Visible, reasoned, visible
from veridical.prompts import Choices, Numbers, Scale

#: Characters allowed around a verdict: white space, quotes, brackets, Markdown.
OPENING = " \t\r\n\"'“”‘’`*_([{#>"
#: Maximum characters of a judge's reply, reasoning excluded.
_LONGEST = 50_000
_CLOSING = r"[\"'“”‘’`*_)\]}]*"
_ENDED = re.compile(rf"{_CLOSING}\s*(?:$|[\n.,;:!)\]}}|—–?]|-\s|\(|->|=>)")
_EXPLAINED = re.compile(rf"{_CLOSING}\s*(?:because|since|as)\b")
_ATTRIBUTED = re.compile(r"\s+(?:by|according to|based on|given|at all|here)\b")
_ASKED = re.compile(rf"{_CLOSING}\s*[!.]*\?")
_PRONOUN = re.compile(r"\s+(?:it|this|that|they|there|he|she|the)\b")
_LISTED = re.compile(
    r"[\"'“”‘’`*_)\]}\s]*(?:[,/|]|\b(?:and|or|und|oder|ou|et|o|y)\b)[\s\"'“‘`*_(\[]*"
)
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_OF = re.compile(
    r"[*_]*\s*(?:(%|percent\b|per cent\b)|\(?(?:/|out\s+of\b|of\b)\s*([0-9]+(?:\.[0-9]+)?)\)?)"
)
_AFTER_NUMBER = re.compile(
    r"[\"'“”‘’`*_]*\s*(?:$|[\n;!)\]}|(?]|[.,:](?![0-9])|[—–-]\s*[^\W\d_]|"
    r"(?:because|since|as|likely|sure|certain|confident)\b)"
)
_ITEM = re.compile(r"^[ \t>*_-]*([0-9]{1,6})[.)][ \t]+[^\s*_]", re.MULTILINE)
_START = re.compile(r"\A|\n|[.!?;:](?=[\s*_\"'”’)])|[,(](?=\s|\w)|\s[—–-](?=\s)|[|\]>]")
_MARKUP = re.compile(r"(?:[\s*_#•+|\"'“”‘’`(\[{>]|-(?!\.?\d))*")
_REST = re.compile(r"[\s\"'“”‘’»`*_.)\]}!|]*\Z")
_ALONE = re.compile(rf"[*_)\]]*[.!]?\n|{_REST.pattern}")


class VerdictStatement(NamedTuple):
    """Verdict in a text: the answer's name, its value and its offsets."""

    name: str
    value: float
    start: int
    end: int


class StatedVerdict(NamedTuple):
    """Result of parsing a text.

    Attributes:
        statement: its one clear verdict; None if missing.
        why: the reason for no verdict; None if no verdict is mentioned at all.
    """

    statement: VerdictStatement | None
    why: str | None = None


class _Mention(NamedTuple):
    """Mention of a verdict, at ``start`` to ``end`` of a text.

    Attributes:
        name, value: of the verdict; None and 0 if a label has one off the scale.
        begin: start of the statement that contains it.
        kind: of that statement: ``bare``, ``label`` or ``sentence``.
        place: where the statement begins: at a ``line``, a ``sentence``, or a ``clause``.
        sure: it is asserted, not a question, a list, disguised or merely possible.
    """

    name: str | None
    value: float
    start: int
    end: int
    begin: int
    kind: str
    place: str
    sure: bool


def stated(text: str, scale: Scale, key: str) -> StatedVerdict:
    """Parse ``text`` for a verdict; ``key`` is the verdict's label ("Score: 5")."""
    begin = reasoned(text)
    if begin is None:
        return StatedVerdict(None, "its reasoning does not end clearly")
    if len(text) - begin > _LONGEST:
        return StatedVerdict(None, "it is too long")
    grammar = _grammar(scale, key)
    seen = visible(text, begin, grammar.own)
    mentions = grammar.mentions(seen)
    if not mentions:
        return StatedVerdict(None)
    first = [m for m in mentions if m.sure and _opens(m, seen)]
    last = [m for m in mentions if m.sure and _closes(m, seen)]
    counted = [m for m in (*first, *last) if not seen.quotes(m.start, m.end)]
    if not counted:
        return StatedVerdict(None, "it mentions a verdict without giving one")
    verdict = counted[0]
    if any(m.name != verdict.name for m in mentions):
        return StatedVerdict(None, "it has several verdicts")
    why = _doubted(seen, verdict, grammar, opens=verdict in first)
    if why is not None:
        return StatedVerdict(None, why)
    assert verdict.name is not None
    start, end = seen.places[verdict.start], seen.places[verdict.end - 1] + 1
    return StatedVerdict(VerdictStatement(verdict.name, verdict.value, start, end))


def statement_of(text: str, scale: Scale) -> VerdictStatement | None:
    """Return the verdict that is the whole of ``text``, or None."""
    if isinstance(scale, Choices):
        plain = " ".join(text.casefold().split())
        for choice in scale.choices:
            if plain in (" ".join(w.casefold().split()) for w in choice.words):
                return VerdictStatement(choice.name, choice.value, 0, len(text))
        return None
    read = _scaled(text, 0, scale)
    return None if read is None or read.end < len(text) else read


def _opens(mention: _Mention, seen: Visible) -> bool:
    """Return True if the text begins with the mention, ignoring courtesies and headings."""
    if mention.place == "clause":
        return False
    return phrases.only_leads_in(seen.text, mention.begin)


def _closes(mention: _Mention, seen: Visible) -> bool:
    """Return True if the text ends with the mention, as the judge's own statement."""
    text = seen.text
    rest = text[mention.end :]
    ends = _REST.match(rest) is not None
    explained = phrases.EXPLANATION.match(rest[:300]) is not None
    last_line = "\n" not in rest.strip()
    if mention.kind == "bare":
        placed = ends and mention.place != "clause"
    elif mention.kind == "label":
        placed = ends or explained or (mention.place == "line" and last_line)
        if mention.place == "clause":
            placed = ends and text[: mention.begin].rstrip()[-1:] == ","
    else:
        placed = ends or (last_line and phrases.one_sentence(rest))
    if not placed:
        return False
    return not phrases.attributed(text[: mention.begin], mention.place)


def _doubted(seen: Visible, verdict: _Mention, grammar: _Grammar, *, opens: bool) -> str | None:
    """Return a reason to doubt that the single stated verdict is the judge's own, or None."""
    text = seen.text
    if phrases.REFUSAL.search(text):
        return "it refuses"
    if phrases.RETRACTION.search(text, verdict.end) or phrases.DISOWNED.match(text, verdict.end):
        return "it retracts its verdict"
    if isinstance(grammar.scale, Choices) and phrases.QUALIFIED.match(text, verdict.end):
        return "its verdict applies only in part"
    if phrases.MANIPULATION.search(text):
        if verdict.name in grammar.demanded(text):
            return "it reports that this verdict was demanded of it"
        if not opens and grammar.named(text) - {verdict.name}:
            return "it reports that another verdict was demanded of it"
    return None


class _Grammar:
    """Patterns of the statements of a scale's verdicts."""

    def __init__(self, scale: Scale, key: str) -> None:
        self.scale = scale
        labels = phrases.labels(key)
        self._label = phrases.label(labels)
        self._of_numbers = isinstance(scale, Numbers)
        self._sentence = phrases.sentence(self._of_numbers)
        self._anywhere = phrases.label_anywhere(labels)
        #: Quotation marks around a label or its verdict, or a first line that is a verdict.
        self.own = phrases.own_quotes(labels)
        self._lead = phrases.lead(False)
        self._names: dict[str, tuple[str, float]] = {}
        if isinstance(scale, Choices):
            for choice in scale.choices:
                for word in choice.words:
                    plain = " ".join(word.lower().split())
                    self._names[plain] = choice.name, choice.value
            ordered = sorted(self._names, key=len, reverse=True)
            self._lead = phrases.lead("no" in self._names)
            self._letters = all(len(w) == 1 for w in ordered)
            words = "|".join(re.escape(w).replace(r"\ ", r"\s+") for w in ordered)
            self._words = re.compile(rf"(?:{words})(?![_-]*[^\W_])(?!'\w)")

    def mentions(self, seen: Visible) -> list[_Mention]:
        """Return every mention of a verdict, at any place."""
        text = seen.text
        items = {m.start(1) for m in _ITEM.finditer(text)}
        mentions: dict[int, _Mention] = {}
        reached = -1
        for start in _START.finditer(text):
            if start.end() <= reached:
                continue
            place = _place(start[0])
            begin = _MARKUP.match(text, start.end())
            assert begin is not None
            if place != "line" and "\n" in text[start.end() : begin.end()]:
                continue  # the start of the line follows
            reached = begin.end()
            mention = self._at(seen, begin.end(), place, items)
            if mention is not None:
                mentions.setdefault(mention.start, mention)
        for label in self._anywhere.finditer(text):
            mention = self._value(seen, label.end(), label.start(), "label", "clause", items)
            if mention is not None:
                mentions.setdefault(mention.start, mention._replace(sure=False))
        return [mentions[at] for at in sorted(mentions)]

    def _at(self, seen: Visible, begin: int, place: str, items: set[int]) -> _Mention | None:
        text = seen.text
        lead = self._lead.match(text, begin)
        at = begin if lead is None else lead.end()
        for pattern, kind in ((self._label, "label"), (self._sentence, "sentence")):
            prefix = pattern.match(text, at)
            if prefix is not None:
                mention = self._value(seen, prefix.end(), begin, kind, place, items)
                if mention is not None:
                    possible = prefix.groupdict().get("possible")
                    return mention._replace(sure=mention.sure and not possible)
        return self._value(seen, at, begin, "bare", place, items)

    def _value(
        self, seen: Visible, at: int, begin: int, kind: str, place: str, items: set[int]
    ) -> _Mention | None:
        text = seen.text
        while at < len(text) and (text[at] in OPENING or text[at] in "«„「『‹|"):
            at += 1
        if isinstance(self.scale, Numbers):
            return self._number(seen, at, begin, kind, place, items)
        word = self._words.match(text, at)
        if word is None or (place == "clause" and kind == "bare" and self._letters):
            return None
        name, value = self._meaning(word)
        end = word.end()
        comma = _LISTED.match(text, end)
        other = None if comma is None else self._words.match(text, comma.end())
        listed = other is not None and self._meaning(other)[0] != name and _ends(text, other.end())
        ended = (
            listed
            or _ENDED.match(text, end)
            or _EXPLAINED.match(text, end)
            or (kind == "sentence" and _ATTRIBUTED.match(text, end))
            or (word[0] in ("yes", "no") and _PRONOUN.match(text, end))
        )
        if not ended:
            return None
        sure = not listed and not _ASKED.match(text, end) and seen.plain(at, end)
        return _Mention(name, value, at, end, begin, kind, place, sure)

    def _meaning(self, word: re.Match[str]) -> tuple[str, float]:
        return self._names[" ".join(word[0].split())]

    def _number(
        self, seen: Visible, at: int, begin: int, kind: str, place: str, items: set[int]
    ) -> _Mention | None:
        text, scale = seen.text, self.scale
        assert isinstance(scale, Numbers)
        numbered = at in items and not _may_open(text, at, items)
        figure = _NUMBER.match(text, at)
        if figure is None or (kind == "bare" and (place == "clause" or numbered)):
            return None
        verdict = _scaled(text, at, scale)
        if verdict is None or not _AFTER_NUMBER.match(text, verdict.end):
            off = _Mention(None, 0.0, at, figure.end(), begin, kind, place, False)
            return off if kind == "label" else None
        if kind == "bare" and place == "sentence" and not _ALONE.match(text, verdict.end):
            return None
        comma = _LISTED.match(text, verdict.end)
        listed = comma is not None and _NUMBER.match(text, comma.end()) is not None
        sure = not listed and not _ASKED.match(text, verdict.end) and seen.plain(at, figure.end())
        return _Mention(verdict.name, verdict.value, at, figure.end(), begin, kind, place, sure)

    def demanded(self, text: str) -> set[str]:
        """Return the verdicts that a third party demands, according to ``text``."""
        names = set()
        for verb in phrases.DEMANDED.finditer(text):
            markup = _MARKUP.match(text, verb.end())
            at = verb.end() if markup is None else markup.end()
            if isinstance(self.scale, Numbers):
                figure = _NUMBER.match(text, at)
                if figure is not None and len(figure[0]) <= 20:
                    names.add(f"{float(figure[0]):g}")
            elif (word := self._words.match(text, at)) is not None:
                names.add(self._meaning(word)[0])
        return names

    def named(self, text: str) -> set[str]:
        """Return the verdicts whose words occur in ``text``; numbers only where they are
        demanded.
        """
        if isinstance(self.scale, Numbers):
            return self.demanded(text)
        words = re.finditer(rf"(?<![\w-])(?:{self._words.pattern})", text)
        return {self._meaning(word)[0] for word in words}


@lru_cache(maxsize=256)
def _grammar(scale: Scale, key: str) -> _Grammar:
    return _Grammar(scale, key)


def _place(boundary: str) -> str:
    if boundary in ("", "\n"):
        return "line"
    return "sentence" if boundary in (".", "!", "?", ";") else "clause"


def _ends(text: str, at: int) -> bool:
    return bool(_ENDED.match(text, at) or _ASKED.match(text, at))


def _may_open(text: str, at: int, items: set[int]) -> bool:
    """Return True if "4. The answer ..." gives a verdict rather than a list item.

    A list begins with 1 and continues.
    """
    return (
        len(items) == 1
        and not text[:at].strip(OPENING + "*_-")
        and text[at : at + 2] not in ("1.", "1)")
    )


def _scaled(text: str, at: int, scale: Numbers) -> VerdictStatement | None:
    """Return the number at ``at`` with its "%" or "out of 5" as a verdict.

    None if there is no number, it is off the scale, or the scale is not the requested one.
    """
    figure = _NUMBER.match(text, at)
    if figure is None or len(figure[0]) > 20:
        return None
    value, end = float(figure[0]), figure.end()
    of = _OF.match(text, end)
    if of is not None:
        end = of.end()
        if of[1] and scale.high == 1:
            value /= 100
        elif float(of[2] or 100) != scale.high:
            return None
    return number(value, scale, at, end)


def number(value: float, scale: Numbers, start: int = 0, end: int = 0) -> VerdictStatement | None:
    """Return ``value`` as a verdict; None if it is off the scale."""
    if not scale.low <= value <= scale.high or (scale.whole and not value.is_integer()):
        return None
    return VerdictStatement(f"{value:g}", value, start, end)
