"""Windows of whole sentences for models that judge sentences."""

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

    ``text == whole[start:end]``, and likewise for its sentences. Rows of tables and values of JSON
    and similar formats are verbalised with their names instead. The window's text is then its
    sentences, each a paragraph.
    """

    start: int
    end: int
    text: str
    sentences: tuple[Span, ...]


def passages(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Passage]:
    """Split ``text`` into windows that together contain all its sentences, in order.

    Each has as many whole sentences as fit in ``size`` characters, and at least one. The last
    ``overlap`` sentences of a window are repeated in the next one if there is room for a further
    one. White space alone has no window.

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
        # ``first`` has no room for the sentence at ``stop``, so the start always advances
        first = max(first, stop - overlap)
        while first < stop and sentences[stop].end - sentences[first].start > size:
            first += 1
    return cut


def _worded(pieces: Sequence[tuple[Span, bool]], size: int, overlap: int) -> list[Passage]:
    """Build the :func:`passages` of a partly structured text, by the length of its verbalised
    form.
    """
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
        # only sentences of prose are repeated in the next window, not rows
        again = stop - overlap if overlap and not pieces[stop - 1][1] else stop
        fits = sum(len(s.text) + 2 for s in spans[again:stop]) + len(spans[stop].text) <= size
        first = again if again > first and fits else stop
    return cut


def windows(text: str, size: int = SIZE) -> list[Passage]:
    """Return :func:`passages`, or the whole text if it is white space alone."""
    return list(_kept_windows(text, size))


@kept
def _kept_windows(text: str, size: int) -> tuple[Passage, ...]:
    whole = Span(0, len(text), text)
    return tuple(passages(text, size)) or (Passage(*whole, (whole,)),)
