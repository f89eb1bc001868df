"""Windows of whole sentences, for models that judge a sentence by a long text."""

from __future__ import annotations

from typing import NamedTuple

from veridical.text.memo import kept
from veridical.text.sentences import split_sentences
from veridical.text.spans import Span

SIZE = 1200  # characters: about 300 tokens, which leaves room for a hypothesis in 512
OVERLAP = 1  # sentences


class Passage(NamedTuple):
    """A window of a text, ``text == whole[start:end]``; offsets of its sentences are the text's."""

    start: int
    end: int
    text: str
    sentences: tuple[Span, ...]


def passages(text: str, size: int = SIZE, overlap: int = OVERLAP) -> list[Passage]:
    """Windows of ``text`` that together hold all its sentences, in order.

    Each takes as many sentences as fit in ``size`` characters, and at least one: a sentence is
    never cut. The last ``overlap`` sentences of a window begin the next one too, as far as they
    leave room for one more. White space alone has no window.
    """
    sentences = split_sentences(text)
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


def windows(text: str, size: int = SIZE) -> list[Passage]:
    """:func:`passages`, at least one: of white space alone, the whole."""
    return list(_kept_windows(text, size))


@kept
def _kept_windows(text: str, size: int) -> tuple[Passage, ...]:
    whole = Span(0, len(text), text)
    return tuple(passages(text, size)) or (Passage(*whole, (whole,)),)
