"""Normalised text of a reply, in which verdicts are searched.

Reasoning is cut off, look-alike characters are replaced, and text between quotation marks is marked
as quoted.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Letters of other scripts that look like Latin ones, with those.
_ALIKE = dict(
    zip(
        "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u043a\u043c\u043d\u0442\u0432"
        ""
        ""
        "\u0501\u0261\u04cf\u03bf\u03b1\u03bd\u03c1\u03c4\u03b9\u03ba\u03c5\u03c7\u03f2\u0578\u057d",
        "aeopcyxijskmhtb" + "dgloavptikuxcnu",
        strict=True,
    )
)
_REASONING = re.compile(r"\s*<(think|thinking|thought|reasoning|reflection|scratchpad)>", re.I)
_ENDED = re.compile(r"\n[ \t]*</think>[ \t]*(?:\n|\Z)", re.I)
_MARKS = '"“”„‟«»‹›「」『』《》〈〉`❝❞〝〞〟'
_SINGLE = "'‘’‚‛"
_OPENERS = "“„‟«‹「『《〈❝〝‘‚‛"
_PAIRS = ('""', "“”", "„“", "„”", "””", "«»", "»«", "‹›", "「」", "『』", "《》", "''", "‘’", "``")
_FENCE = re.compile(r"(?:```|~~~)[ \t]*[a-z]*[ \t]*\n(.*?)\n?[ \t]*(?:```|~~~)", re.DOTALL)
_TAG = re.compile(r"</?([a-z][a-z0-9_:-]{0,30})(?:\s[^<>]{0,200})?/?>|<!--|-->|~~")
#: Tags that only format a text, or name a verdict; text in any other tag is quoted.
_SHAPES = frozenset(
    {"b", "i", "u", "em", "strong", "span", "font", "center", "table", "tbody"}
    | {"answer", "verdict", "score", "result", "rating", "output", "final"}
)
_BLOCKS = frozenset(["br", "p", "div", "li", "ul", "ol", "tr", "td", "th", "h1", "h2", "h3", "h4"])
_BLOCKQUOTE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)


@dataclass(frozen=True)
class Visible:
    """Searchable form of a reply.

    Attributes:
        text: in lower case, without invisible characters.
        places: the offset in the reply of each character.
        quoted: from the first quotation mark to the last, empty without marks. A quotation may
            contain marks of its own, so nothing in between is surely the judge's word.
        reply: the original.
    """

    text: str
    places: list[int]
    quoted: tuple[int, int]
    reply: str

    def plain(self, start: int, end: int) -> bool:
        """Return True if the reply has these characters themselves, not look-alikes."""
        first, last = self.places[start], self.places[end - 1] + 1
        drawn_over = unicodedata.category(self.reply[last : last + 1] or "\n")[0] == "M"
        shown = self.reply[first:last].lower().replace("\u2019", "'")
        return shown == self.text[start:end] and not drawn_over

    def quotes(self, start: int, end: int) -> bool:
        """Return True if a part of ``text`` is within quotation marks."""
        return start < self.quoted[1] and end > self.quoted[0]


def reasoned(reply: str) -> int | None:
    """Return the offset at which the reply's reasoning ends; None if its end is unclear."""
    opened = _REASONING.match(reply)
    if opened is None:
        ends = list(_ENDED.finditer(reply))
        return ends[0].end() if len(ends) == 1 and reply.lower().count("</think>") == 1 else 0
    end = f"</{opened[1].lower()}>"
    lower = reply.lower()
    if len(lower) != len(reply) or lower.count(end) != 1:
        return None
    return lower.index(end) + len(end)


def visible(reply: str, begin: int, own_quotes: re.Pattern[str]) -> Visible:
    """Normalise ``reply`` from ``begin`` on, where its reasoning ends.

    Args:
        own_quotes: pattern of marks around own words: around a label and its verdict.
    """
    folded, places = _folded(reply, begin)
    text = "".join(folded)
    start, end = _unwrapped(text)
    chars, places = list(text[start:end]), places[start:end]
    text = text[start:end]
    marks = []
    for tag in _TAG.finditer(text):
        name = tag[1] or ""
        if name not in _SHAPES and name not in _BLOCKS:
            marks += [tag.start(), tag.end() - 1]
        blank = "\n" if name in _BLOCKS else " "
        chars[tag.start() : tag.end()] = blank * (tag.end() - tag.start())
    for line in _BLOCKQUOTE.finditer(text):
        marks += [line.start(), max(line.start(), line.end() - 1)]
    text = "".join(chars)
    unmarked = {i for m in own_quotes.finditer(text) for i in range(m.start(), m.end())}
    marks += [i for i in _marks(text) if i not in unmarked]
    for i in unmarked:
        if chars[i] in _MARKS or (chars[i] in _SINGLE and not _in_word(text, i)):
            chars[i] = " "
    return Visible("".join(chars), places, _span(text, marks), reply)


def _folded(reply: str, begin: int) -> tuple[list[str], list[int]]:
    shown: list[str] = []
    places: list[int] = []
    for i in range(begin, len(reply)):
        c = reply[i]
        if c < "\x80":
            plain = c.lower() if c >= " " or c in "\n\t" else " "
        else:
            kind = unicodedata.category(c)
            if kind[0] == "M" or kind == "Cf":
                continue
            if kind in ("So", "Sk", "Zs", "Zl", "Zp", "Cc"):
                plain = "\n" if kind in ("Zl", "Zp") else " "
            elif c == "\u2019" and _in_word(reply, i):
                plain = "'"
            else:
                alike = kind[0] in "LN" or "\uff00" < c < "\uff5f"
                plain = unicodedata.normalize("NFKC", c).lower() if alike else c
                plain = "".join(_ALIKE.get(m, m) for m in plain)
        shown += plain
        places += [i] * len(plain)
    return shown, places


def _unwrapped(text: str) -> tuple[int, int]:
    """Return the part of ``text`` within the one code fence or pair of marks around all of it."""
    start, end = _stripped(text, 0, len(text))
    fenced = _FENCE.fullmatch(text, start, end)
    if fenced is not None and "```" not in fenced[1] and "~~~" not in fenced[1]:
        return _stripped(text, fenced.start(1), fenced.end(1))
    for _ in range(4):
        inner = text[start + 1 : end - 1]
        pair = text[start:end][:1] + text[start:end][-1:]
        if end - start < 3 or pair not in _PAIRS or any(c in _MARKS for c in inner):
            break
        start, end = _stripped(text, start + 1, end - 1)
    return start, end


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())


def _in_word(text: str, i: int) -> bool:
    return text[i - 1 : i].isalnum() and text[i + 1 : i + 2].isalnum()


def _marks(text: str) -> list[int]:
    """Return the offsets of quotation marks; apostrophes are excluded."""
    places, single = [], False
    for i, c in enumerate(text):
        if c in _MARKS:
            places.append(i)
        elif c in _SINGLE and not _in_word(text, i):
            if _opens(text, i) and not text[i + 1 : i + 2].isdigit():
                single = True
                places.append(i)
            elif single:
                places.append(i)
    return places


def _opens(text: str, i: int) -> bool:
    before, after = text[i - 1 : i] if i else "", text[i + 1 : i + 2]
    starts = not before or before.isspace() or before in "([{:=-—–"
    return starts and (text[i] in _OPENERS or (after.isalnum() or after in _MARKS + "([*_"))


def _span(text: str, marks: list[int]) -> tuple[int, int]:
    """Return the range from the first of ``marks`` to the last.

    It extends to the end if the last one opens a quotation, or a code fence is not closed.
    """
    if not marks:
        return 0, 0
    last = max(marks)
    unclosed = (text[last] in _MARKS + _SINGLE and _opens(text, last)) or len(marks) == 1
    return min(marks), len(text) if unclosed or text.count("```") % 2 else last + 1
