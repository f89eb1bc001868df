"""Sentences with exact code-point offsets.

Boundaries come from ``sentencex`` (Wikimedia, MIT): abbreviations, initials, decimals, quotes and
the full stops of many scripts. This module adds blank lines with white space, Unicode line
separators, headings, introducing lines, list markers and bracketed sentences. It also adds the full
stops of Khmer, Tibetan, Balinese and Tai Tham.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from veridical.text.memo import kept
from veridical.text.spans import Span

#: Newlines that end a sentence: a blank line, the line before an item, an introducing line.
_LINE_END = re.compile(
    r"\n(?:(?:[^\S\n]*\n)+"
    r"|(?=[^\S\n]*(?:[-*+•‣▪◦●–—]|\(?(?:\d{1,3}|[A-Za-z])[.)]|\#{1,6}|[>|])[^\S\n])"
    r"|(?<=[:：]\n))"
)
#: Line and paragraph separators, and full stops unknown to the library.
_STOP = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\u2028\u2029]|[។៕༎།᭟᪨᪩]+")
#: A separate sentence in brackets, after which the library does not split.
_BRACKETED = re.compile(
    r"(?:\((?=[^\W\d_a-z])[^()\n]{4,400}\w[.!?]\)|\[(?=[^\W\d_a-z])[^\[\]\n]{4,400}\w[.!?]\])"
    r"\s+(?=[^\W\d_a-z])"
)
#: A single list marker belongs to the sentence after it.
_MARKER = re.compile(r"\s*\(?(?:\d{1,3}|[A-Za-z])[.)][^\S\n]*")
_HEADING = re.compile(r"^[^\S\n]*\#{1,6}[^\S\n][^\n]*\n", re.MULTILINE)
#: Ends of a text at which the library splits although no sentence ends. It does so before small
#: letters and digits, and after a determiner also before capitals.
_ABBREVIATED = re.compile(
    r"(?:(?<=\W)|^)(?:approx|appr|max|min|avg|temp|incl|excl|vol|vols|eqs?|secs?|figs?|tabs?|chs?|"
    r"nos?|nrs?|ext|tel|est|ed|eds|pp?|cf|resp|wt|ht|qty|ref|refs|mon|tues?|wed|thurs?|thu|fri|sat|"
    r"sun|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|ave|blvd|rd|apt|lbs?|oz|hrs?|mins?|yrs?|"
    r"mio|mrd|str|inkl|exkl|zzgl|bzw|ca|ggf|evtl|abs|art|abb|bd|hl|geb|gest|vgl|sog|usw|mind|max|"
    r"bspw|etc|al|av|env|núm|pág|sr|sra|env)\.$",
    re.IGNORECASE,
)
_DETERMINED = re.compile(
    r"\b(?:the|a|an|its|this|of|der|die|das|den|dem|eine?) (?:approx|max|min|avg|temp)\.$"
    r"|\d (?:mio|mrd)\.$",
    re.IGNORECASE,
)
#: "am 3." before "Mai": a number with a stop is an ordinal in many languages.
_ORDINAL = re.compile(
    r"\b(?:am|im|der|des|dem|den|die|das|vom|zum|zur|bis|seit|ab|beim|jeden|und|dne|den|od|do|dnia)"
    r" \d{1,2}\.$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\b\d{1,2}\.$")
_ROMAN = re.compile(r"\b[A-Z]\w{1,20} [IVX]{1,5}\.$")
_MONTH = re.compile(
    r"(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|"
    r"Dezember|Jan|Feb|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)\b"
)
_BEFORE_CUT, _AFTER_CUT = 40, 16
#: A pictogram in place of a full stop.
_PICTURE = re.compile(
    "(?<=\\w[ ])[\u2600-\u2763\u2765-\u27bf\U0001f300-\U0001f492\U0001f4a0-\U0001faff]"
    "[\ufe0f\u200d\U0001f3fb-\U0001f3ff]*[^\\S\\n]+(?=[^\\W\\d_a-z])"
)
#: Same-length replacements of unsupported characters: the library panics on white space of several
#: bytes after an initial, and lone surrogates are not UTF-8.
_SPACE = re.compile(r"[^\S\n\r\t ]")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: The library's time is quadratic in a long paragraph with many quotes, brackets and lines, or
#: without spaces. Such paragraphs, and very long ones, are passed to it in pieces. A piece ends
#: with a sentence if possible, this far at least from the piece's end and outside of quotes and
#: brackets. Pieces are longer than ordinary paragraphs, as matching of quotes depends on all of
#: them in a paragraph.
_PIECE = 10_000
_MAX_PARAGRAPH_CHARACTERS = 32_000  # passed whole, if it is easy
_MAX_HARD_CHARACTERS = 1_000  # quotes, brackets and lines in it, or a run without a space
_STRAINING = re.compile("[\n'\"`´‘’‚‛“”„‟«»‹›《》「」(){}<>（）\\[\\]]")
_MARGIN = 1_000
_MAX_TRIED_SENTENCES = 32  # as the end of a piece
_PARAGRAPH_END = re.compile(r"\n\r*\n")
_PAIRS = (*("()", "[]", "{}", "<>", "“”", "‘’", "«»", "‹›", "《》", "「」", "（）"), '""', "``")
#: Maximum unclosed opening quotes: from each one the library reads to the end of the text.
_UNCLOSED = 256
_QUOTES = (("“", "”"), ("‘", "’"), ("«", "»"))


def split_sentences(text: str) -> list[Span]:
    """Split ``text`` into sentences: non-empty, stripped, in order.

    Together they contain every character that is not white space, and ``text[start:end]`` is each
    one's text. A blank line always ends a sentence; a single newline does so only at the end of a
    list item, heading or introduction. Never raises.

    >>> [s.text for s in split_sentences("Dr. Wu paid $3.50. He left.")]
    ['Dr. Wu paid $3.50.', 'He left.']
    """
    return list(_kept_sentences(text))


@kept
def _kept_sentences(text: str) -> tuple[Span, ...]:
    return tuple(split_anew(text))


def split_anew(text: str) -> list[Span]:
    """Run :func:`split_sentences` without the cache, for texts used once."""
    cuts = _library_cuts(text if text.isascii() else _SPACE.sub(" ", text))
    cuts = {cut for cut in cuts if not _is_within(text, cut)}
    if not text.isascii():
        cuts.update(m.end() for m in _PICTURE.finditer(text))
    cuts.update(m.end() for m in _STOP.finditer(text))
    if "\n" in text:
        cuts.update(m.end() for m in _LINE_END.finditer(text))
    if "(" in text or "[" in text:
        cuts.update(m.end() for m in _BRACKETED.finditer(text))
    if "#" in text:
        cuts.update(m.end() for m in _HEADING.finditer(text))
    cuts.add(len(text))

    spans = []
    at = 0
    for cut in sorted(cuts):
        piece = text[at:cut]
        trimmed = piece.strip()
        marker = len(trimmed) < 6 and len(piece) <= _MARGIN and cut < len(text)
        if marker and _MARKER.fullmatch(piece):
            continue
        if trimmed:
            start = at + piece.index(trimmed)
            spans.append(Span(start, start + len(trimmed), trimmed))
        at = cut
    return spans


def _is_within(text: str, cut: int) -> bool:
    """Return True if the library splits after an abbreviation or an ordinal, within a sentence."""
    before = text[max(0, cut - _BEFORE_CUT) : cut].rstrip()
    if not before.endswith("."):
        return False
    following = text[cut : cut + _AFTER_CUT]
    if "\n" in text[cut - 1 : cut + 1]:
        return False
    after = following.lstrip()
    if not after:
        return False
    if after[0].islower() or after[0].isdigit():
        if _ABBREVIATED.search(before):
            return True
        ordinal = _ROMAN.search(before) or _ORDINAL.search(before)
        return after[0].islower() and ordinal is not None
    if _DETERMINED.search(before):
        return True
    if _ORDINAL.search(before):
        return after[0].isupper()
    return _COUNTED.search(before) is not None and _MONTH.match(after) is not None


def _library_cuts(text: str) -> set[int]:
    for opening, closing in _QUOTES:
        rest = text.rfind(closing) + 1
        if text.count(opening, rest) > _UNCLOSED:
            text = text[:rest] + text[rest:].replace(opening, "*")
    if len(text) <= _PIECE:
        return _boundaries(text)
    cuts: set[int] = set()
    start = 0
    for start, last in _runs_of_paragraphs(text):
        while last - start > _PIECE and not _is_easy(text[start:last]):
            stop, opened = _opening(text[start : start + _PIECE])
            cuts.update(start + cut for cut in opened)
            start += stop
        cuts.update(start + cut for cut in _boundaries(text[start:last]))
    return cuts


def _runs_of_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of paragraphs grouped into pieces, or of one that is longer."""
    start = end = 0
    for place in (*(m.end() for m in _PARAGRAPH_END.finditer(text)), len(text)):
        if place - start > _PIECE and end > start:
            yield start, end
            start = end
        end = place
    yield start, end


def _is_easy(paragraph: str) -> bool:
    """Return True if the library splits a paragraph in about linear time."""
    if len(paragraph) > _MAX_PARAGRAPH_CHARACTERS:
        return False
    straining = sum(1 for _ in islice(_STRAINING.finditer(paragraph), _MAX_HARD_CHARACTERS + 1))
    return (
        straining <= _MAX_HARD_CHARACTERS
        and max(map(len, paragraph.split()), default=0) <= _MAX_HARD_CHARACTERS
    )


def _opening(piece: str) -> tuple[int, list[int]]:
    """Return the definitive length of a piece within a paragraph, and the boundaries in it."""
    cuts = sorted(_boundaries(piece))
    latest = len(piece) - _MARGIN
    ends = [cut for cut in cuts if len(piece) // 2 <= cut <= latest]
    closed = (cut for cut in ends[: -_MAX_TRIED_SENTENCES - 1 : -1] if _is_closed(piece[:cut]))
    stop = next(closed, ends[-1] if ends else None)
    if stop is None:  # within a sentence, which is not split there
        space = max(piece.rfind(" ", 0, latest), piece.rfind("\n", 0, latest)) + 1
        stop = space if space > len(piece) // 2 else latest
    return stop, [cut for cut in cuts if cut <= stop]


def _is_closed(text: str) -> bool:
    """Return True if no quote or bracket is open at the end."""
    return all(
        text.count(pair[0]) == text.count(pair[1])
        if pair[0] != pair[1]
        else text.count(pair[0]) % 2 == 0
        for pair in _PAIRS
    )


def _boundaries(text: str) -> set[int]:
    """Return the sentence boundaries found by the library."""
    from sentencex import get_sentence_boundaries

    try:
        return {b["end_index"] for b in get_sentence_boundaries("en", text)}
    except UnicodeEncodeError:
        return _boundaries(_SURROGATE.sub("\ufffd", text))
    except BaseException as e:
        # A Rust panic is not an Exception and would end the run for one odd text.
        if type(e).__name__ != "PanicException":
            raise
        return set()
