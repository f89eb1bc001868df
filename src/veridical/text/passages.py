"""Windows of whole sentences, for models that judge a sentence by a long text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.spans import Span
from veridical.text.structure import source_pieces

SIZE = 1200  # characters: about 300 tokens, which leaves room for a hypothesis in 512
OVERLAP = 1  # sentences


class Passage(NamedTuple):
    """A window of a text; offsets of its sentences are the text's.

    ``text == whole[start:end]``, and so for its sentences; but rows of tables and values of JSON
    and the like are in words, with the names they have there, and the window's text is its
    sentences, each a paragraph.
    """

    start: int
    end: int
    text: str
    sentences: tuple[Span, ...]


def passages(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Passage]:
    """Windows of ``text`` that together hold all its sentences, in order.

    Each takes as many sentences as fit in ``size`` characters, and at least one: a sentence is
    never cut. The last ``overlap`` sentences of a window begin the next one too, as far as they
    leave room for one more. White space alone has no window.

    >>> [s.text for s in passages("Plan,Price,Seats\\nPro,$45,5\\nTeam,$90,20")[0].sentences]
    ['The table has 2 rows: Pro, Team.', 'Pro: price $45; seats 5.', 'Team: price $90; seats 20.']
    """
    pieces = source_pieces(text)
    if any(rendered for _, rendered in pieces):
        return _worded(pieces, size, overlap)
    sentences = [span for span, _ in pieces]
    cut = []
    first = 0
    while first < len(sentences):
        start = sentences[first].start
        stop = first + 1
        while stop < len(sentences) and sentences[stop].end - start <= size:
            stop += 1
        end = sentences[stop - 1].end
        cut.append(Passage(start, end, text[start:end], tuple(sentences[first:stop])))
        if stop == len(sentences):
            break
        # ``first`` itself has no room for the sentence at ``stop``: the start always moves on
        first = max(first, stop - overlap)
        while first < stop and sentences[stop].end - sentences[first].start > size:
            first += 1
    return cut


def _worded(pieces: Sequence[tuple[Span, bool]], size: int, overlap: int) -> list[Passage]:
    """:func:`passages` of a text that is structured in part, by the sizes of what is in words."""
    spans = [span for span, _ in pieces]
    cut = []
    first = 0
    while first < len(spans):
        length = len(spans[first].text)
        stop = first + 1
        while stop < len(spans) and length + 2 + len(spans[stop].text) <= size:
            length += 2 + len(spans[stop].text)
            stop += 1
        inside = tuple(spans[first:stop])
        whole = "\n\n".join(s.text for s in inside)
        end = max(s.end for s in inside)
        cut.append(Passage(inside[0].start, end, whole, inside))
        if stop == len(spans):
            break
        # a row stands for itself; a sentence of prose begins the next window too
        again = stop - overlap if overlap and not pieces[stop - 1][1] else stop
        fits = sum(len(s.text) + 2 for s in spans[again:stop]) + len(spans[stop].text) <= size
        first = again if again > first and fits else stop
    return cut


def windows(text: str, size: int = SIZE) -> list[Passage]:
    """:func:`passages`, at least one: of white space alone, the whole."""
    return list(_kept_windows(text, size))


@kept
def _kept_windows(text: str, size: int) -> tuple[Passage, ...]:
    whole = Span(0, len(text), text)
    return tuple(passages(text, size)) or (Passage(*whole, (whole,)),)
