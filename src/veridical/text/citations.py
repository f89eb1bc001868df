"""Citations in a text: numbers, ids, links and quotations.

Examples are ``[3]``, ``[1, 2]``, ``[1-3]`` and ``[handbook.md]``.

Citations identify a source by its position, counted from 1, or its id; by a web address; or by
words in quotation marks. Superscripts, ``(3)`` and "Smith (2020)" are ignored, as they are
ambiguous. Nothing in code (between backticks) is a citation. All patterns take time linear in the
text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

#: "[3]", "【3†source】", "（source 3）"; _targets parses the content of the brackets.
_BRACKETED = re.compile(r"[\[［【]([^\[\]［］【】\n]{1,200})[\]］】]")
_IN_PARENTHESES = re.compile(
    r"[(（](?:see )?((?:source|document|doc|passage|context|reference|ref)s?[ :#.]{0,2}"
    r"\d{1,3}(?:\s?(?:,|;|&|and|-|–|—)\s?\d{1,3}){0,50})[)）]",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,;，；、]|\s(?:and|&)\s")
#: A part: "3", "^3", "source 3", "#3", "3†source"; a longer number is a year or an amount.
_NUMBER = re.compile(
    r"\^?(?:(?:source|document|doc|passage|context|ctx|reference|ref|chunk|article)s?\.?[ :_-]?)?"
    r"#?(\d{1,3})(?:†[^†]*)?",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?:(?:source|document|doc|passage|context|reference|ref)s?[ :])?"
    r"(\d{1,3})\s?(?:-|–|—|‐|‑|to)\s?(\d{1,3})",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"https?://[^\s<>\"`“”»」』】\[\]]{1,2000}", re.IGNORECASE)
_LINK_END = ".,;:!?'’*_"
_QUOTED = re.compile(
    r"“([^“”\n]{1,2000})”|„([^„“”\n]{1,2000})[“”]|«([^«»\n]{1,2000})»|「([^「」\n]{1,2000})」"
    r'|『([^『』\n]{1,2000})』|"([^"\n]{1,2000})"'
)
#: Marks of omitted or inserted words.
_LEFT_OUT = re.compile(r"…|\.\.\.+|\[[^\[\]]{0,200}\]")
_MIN_QUOTED_WORDS = 4  # fewer are a title, a name or scare quotes
_MIN_QUOTED_LETTERS = 10  # in a script without spaces
_EDGE = " \t\r\n.,;:!?。、，！？'’\"*_"
_DIGITS = re.compile(r"\d+")
_HEADING = re.compile(
    r"[#*_\s]{0,10}(?:references?|sources?|citations?|bibliography|works cited|footnotes?|"
    r"quellen|références|fuentes|fonti|参考文献|出典)[*_\s]{0,10}(?:[:：][*_\s]{0,10}|$)",
    re.IGNORECASE,
)


#: Citation marks that are not resolved here: tool marks, footnotes, superscripts
#: after a word, files.
_SUPERSCRIPTS = "[¹²³⁴⁵⁶⁷⁸⁹⁰]"
_MARKS = re.compile(
    r"[\[【][^\[\]【】\n]{0,60}†[^\[\]【】\n]{0,80}[\]】]"
    r"|\[\^[\w-]{1,30}\](?!:)|\[\[?\d{1,3}\]?\]\([^()\s]{1,500}\)"
    r"|(?:(?<=[^\W\d_]{3})|(?<=[.!?,;:)\"”’])|(?<=\w)(?= ))"
    r"[ ]?<sup>\s?\[?[\d,; –-]{1,20}\]?\s?</sup>"
    rf"|(?:(?<=[^\W\d_]{{3}})|(?<=[.!?,;:)\"”’])){_SUPERSCRIPTS}{{1,3}}"
    rf"(?:[,˒ ]{{1,2}}{_SUPERSCRIPTS}{{1,3}}){{0,9}}"
    r"|\[[\w-]{1,60}\.(?:pdf|docx?|txt|md|html?|csv|xlsx?|json|pptx?)"
    r"(?:, ?(?:p|pp|page|pages)\.? ?\d[\d–-]{0,9})?\](?!\()"
    r"|\[(?:(?:source|document|doc|passage|context|ref|reference)s?[ .:#]{0,2})?\d{1,3}, ?"
    r"(?:p|pp|pages?|sec|section|§|lines?)\.? ?\d[\d–-]{0,9}\]",
    re.IGNORECASE,
)
#: Text that requires a word: brackets after it are that word. A single letter is an array.
_TAKES_A_WORD = re.compile(
    r"(?:[=({\[:+*/<>-]|\b(?:is|are|was|were|be|in|of|from|by|to|and|or|see|with|at|than|on|for|as|"
    r"equals?|returns?|lists?|arrays?|vectors?|intervals?|ranges?|index|[a-z]))$",
    re.IGNORECASE,
)
_LONGEST_WORD = 12
#: The space between a marker and a full stop.
_BEFORE_STOP = re.compile(r" ([.,;:!?)\]。、，！？）])")


_LONGEST_ENTRY = 300
_FEW = 2  # words
_FOOTNOTE = re.compile(rf"\s{{0,9}}(?:\[\^[\w-]{{1,30}}\]:?|{_SUPERSCRIPTS}{{1,3}})\s?")
_FILE_NAME = re.compile(
    r"[\w-]{1,60}(?:\.[\w-]{1,30}){0,3}\.(?:pdf|docx?|txt|md|html?|csv|xlsx?|json|pptx?|rst)\b",
    re.IGNORECASE,
)
_ENTRY_EDGES = " \t\r\n-–—*_•·.,;:()[]<>\"'`|#"


class Marker(NamedTuple):
    """A citation by position or id, and its place.

    Attributes:
        numbers: (first, last) of each number or range that is cited; equal for one number.
        names: ids that are cited, and texts of the same form as the ids.
    """

    start: int
    end: int
    numbers: tuple[tuple[int, int], ...]
    names: tuple[str, ...] = ()


class Link(NamedTuple):
    """A web address and its place."""

    start: int
    end: int
    url: str


class Quotation(NamedTuple):
    """Words in quotation marks; the place includes the marks.

    Attributes:
        pieces: the words between marked omissions, in order.
    """

    start: int
    end: int
    pieces: tuple[str, ...]


class Citations(NamedTuple):
    """The citations of a text, each list in text order."""

    markers: tuple[Marker, ...]
    links: tuple[Link, ...]
    quotations: tuple[Quotation, ...]


def find_citations(text: str, ids: Collection[str] = ()) -> Citations:
    """Find the citations of ``text``.

    Args:
        ids: ids of the sources. Bracketed text that is an id, or differs from one only in its
            digits (``[doc-9]`` with ``doc-1`` and ``doc-2``), is a citation.

    >>> found = find_citations("Lead is soft [2]. It is dense [1, 3-4].")
    >>> [marker.numbers for marker in found.markers]
    [((2, 2),), ((1, 1), (3, 4))]
    """
    code = [m.span() for m in _CODE.finditer(text)] if "`" in text else []
    known = frozenset(ids)
    shapes = frozenset(_DIGITS.sub("0", name) for name in known if _DIGITS.search(name)) - {"0"}
    markers = []
    for pattern in (_BRACKETED, _IN_PARENTHESES):
        for m in _outside(pattern, text, code):
            targets = _targets(m[1].strip(), known, shapes)
            if targets is not None:
                markers.append(Marker(m.start(), m.end(), *targets))
    links = find_links(text, code)
    quotations = []
    for m in _outside(_QUOTED, text, code):
        pieces = quoted_pieces(next(group for group in m.groups() if group is not None))
        if pieces:
            quotations.append(Quotation(m.start(), m.end(), pieces))
    return Citations(tuple(sorted(markers)), tuple(links), tuple(quotations))


def find_links(text: str, code: Sequence[tuple[int, int]] = ()) -> list[Link]:
    """Return the web addresses in ``text`` that begin outside the ``code`` spans."""
    return [_link(m) for m in _outside(_LINK, text, code)]


def quoted_pieces(quoted: str) -> tuple[str, ...]:
    """Return the runs of words of a quotation; none if it is too short to look up.

    >>> quoted_pieces("the engine [of the ship] was ... never repaired.")
    ('the engine', 'was', 'never repaired')
    """
    pieces = tuple(p for p in (x.strip(_EDGE) for x in _LEFT_OUT.split(quoted)) if p)
    letters = sum(c.isalnum() for p in pieces for c in p)
    words = sum(len(p.split()) for p in pieces)
    unspaced = words <= 2 and any(c > "\u2e7f" for p in pieces for c in p)
    enough = letters >= _MIN_QUOTED_LETTERS if unspaced else words >= _MIN_QUOTED_WORDS
    return pieces if enough and letters else ()


def heads_a_list(sentence: str) -> bool:
    """Return True if a sentence opens a list of sources ("References:")."""
    return _HEADING.match(sentence) is not None


def text_without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Remove the ``places``, in order, and the spaces they leave from ``text``.

    Without places the text is unchanged.
    """
    if not places:
        return text
    pieces, at = [], 0
    for start, end in places:
        pieces.append(text[at:start])
        at = max(at, end)
    pieces.append(text[at:])
    return _BEFORE_STOP.sub(r"\1", " ".join(" ".join(pieces).split()))


def marker_places(text: str) -> list[tuple[int, int]]:
    """Return the places of numeric citations that the sentence does not need, in order.

    Brackets that are a word of the sentence ("in [3]", "x = [1, 2]", "a[1]") are not included.
    """
    marks = [m.span() for m in _MARKS.finditer(text)]
    if not marks and not any(bracket in text for bracket in "[［【(（"):
        return []
    found: list[tuple[int, int]] = []
    for marker in find_citations(text).markers:
        before = text[: marker.start].rstrip()
        if not before:
            one = len(marker.numbers) == 1
            is_word = not (one and text[marker.end :].lstrip()[:1].isupper())
        else:
            follows = bool(found) and not text[found[-1][1] : marker.start].strip(" ,;")
            is_word = not follows and _TAKES_A_WORD.search(before[-_LONGEST_WORD:]) is not None
        if not is_word:
            found.append((marker.start, marker.end))
    found = _apart([*found, *marks]) if marks else found
    rest = text_without(text, found)
    return found if any(map(str.isalnum, rest)) else []


def _apart(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the places in order; of overlapping ones the first."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


def lists_source(sentence: str) -> bool:
    """Return True if a sentence is a source entry in a list or footnote, or heads such a list.

    >>> lists_source("Source: guide.pdf"), lists_source("[^1]: Clause 4"), lists_source("It is.")
    (True, True, False)
    """
    if len(sentence) > _LONGEST_ENTRY:
        return False
    heading = _HEADING.match(sentence)
    rest = sentence[heading.end() :] if heading else sentence
    return _is_entry(rest, listed=heading is not None)


def is_listed_source(sentence: str) -> bool:
    """Return True if a sentence after the head of a list of sources is an entry of it."""
    return len(sentence) <= _LONGEST_ENTRY and _is_entry(sentence, listed=True)


def _is_entry(text: str, *, listed: bool) -> bool:
    from veridical.text.statements import is_sentence

    footnote = _FOOTNOTE.match(text)
    bare = _LINK.sub("", text[footnote.end() :] if footnote else text)
    bare = _FILE_NAME.sub("", blanked_markers(bare)).strip(_ENTRY_EDGES)
    if listed or footnote is not None:
        named = footnote is not None or len(bare.split()) <= _FEW or any(map(str.isupper, bare))
        return not any(map(str.isalpha, bare)) or (named and not is_sentence(bare))
    marked = len(blanked_markers(text).strip(_ENTRY_EDGES)) < len(text.strip(_ENTRY_EDGES))
    return marked and any(map(str.isalpha, text)) and not any(map(str.isalnum, bare))


def without_markers(text: str) -> str:
    """Remove numeric citations from ``text``, for a model's input.

    >>> without_markers("Lead is soft [2], tin is hard [1, 3].")
    'Lead is soft, tin is hard.'
    """
    return text_without(text, marker_places(text))


def blanked_markers(text: str) -> str:
    """Replace numeric citations by spaces, so that all offsets stay."""
    for start, end in marker_places(text):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _outside(
    pattern: re.Pattern[str], text: str, code: Sequence[tuple[int, int]]
) -> list[re.Match[str]]:
    """Return the matches that begin outside the ``code`` spans."""
    found = []
    place = 0
    for m in pattern.finditer(text):
        while place < len(code) and code[place][1] <= m.start():
            place += 1
        if place == len(code) or m.start() < code[place][0]:
            found.append(m)
    return found


def _targets(
    content: str, ids: frozenset[str], shapes: frozenset[str]
) -> tuple[tuple[tuple[int, int], ...], tuple[str, ...]] | None:
    """Parse the numbers and names cited between brackets; None if it is not a citation."""
    if content in ids:
        return (), (content,)
    numbers: list[tuple[int, int]] = []
    names: list[str] = []
    for part in _SEPARATOR.split(content):
        part = part.strip()
        if part in ids or _DIGITS.sub("0", part) in shapes:
            names.append(part)
        elif m := _NUMBER.fullmatch(part):
            numbers.append((int(m[1]), int(m[1])))
        elif m := _RANGE.fullmatch(part):
            numbers.append((int(m[1]), int(m[2])))
        else:
            return None
    return tuple(numbers), tuple(names)


def _link(match: re.Match[str]) -> Link:
    """Return a web address without the punctuation of the sentence around it."""
    url = match[0]
    surplus = url.count(")") - url.count("(")
    end = len(url)
    while end and (url[end - 1] in _LINK_END or (url[end - 1] == ")" and surplus > 0)):
        surplus -= url[end - 1] == ")"
        end -= 1
    return Link(match.start(), match.start() + end, url[:end])
