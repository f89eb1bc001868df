"""Chunking of documents as in published fact checkers.

Chunks are whole sentences, split by :mod:`veridical.text.sentences`, where the published code uses
NLTK.
"""

from __future__ import annotations

from collections.abc import Callable

from veridical.text.sentences import split_sentences

#: Change it whenever a document would be chunked differently; part of a model's revision.
VERSION = "chunks-1"
_LINE = "\n"


def sentences_of(text: str) -> list[str]:
    """Return the sentences of ``text``, at least one; white space alone is one sentence."""
    return [s.text for s in split_sentences(text)] or [text]


def even_chunks(text: str, words: int = 350) -> list[str]:
    """Split a text into chunks with equal numbers of sentences and about ``words`` words.

    n sentences with m words give chunks of ``max(n // (m // words + 1), 1)`` sentences, with a
    space between sentences. Source: AlignScore (Zha et al. 2023, section 3.3, and its code).
    """
    sentences = sentences_of(text)
    size = max(len(sentences) // (len(text.split()) // words + 1), 1)
    return [" ".join(sentences[i : i + size]) for i in range(0, len(sentences), size)]


def filled_chunks(text: str, most: int, length: Callable[[str], int]) -> list[str]:
    """Split a text into chunks filled with sentences up to ``most`` (MiniCheck).

    Lines are split, and line ends between sentences are kept, as in the published code of Tang et
    al. 2024. A sentence longer than ``most`` is a separate chunk. Blank chunks are dropped, unless
    there is no other.

    Args:
        length: returns the length of a sentence, or of a line end, in the unit of ``most``.
    """
    pieces: list[str] = []
    for line in text.split(_LINE):
        pieces += [s.text for s in split_sentences(line)]
        pieces.append(_LINE)
    chunks: list[list[str]] = [[]]
    used = 0
    for piece in pieces[:-1]:
        size = length(piece)
        if used + size > most:
            chunks.append([])
            used = 0
        chunks[-1].append(piece)
        used += size
    joined = [" ".join(chunk).replace(f" {_LINE} ", _LINE).strip() for chunk in chunks]
    return [chunk for chunk in joined if chunk] or [text]
