"""Word features of a sentence: contextual vectors, form and position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.protocols import TokenVectors
from veridical.text.spans import Span
from veridical.text.words import word_spans

#: Maximum words of a sentence: a longer "sentence" is a table or code, and is not tagged.
LONGEST = 200
#: Words that may stand for a head named before.
PRONOUNS = frozenset({"he", "she", "it", "they", "his", "her", "its", "their", "this", "these"})
_MARKS = (",", ";", ":", "(", ")")
_FAR = (1, 2, 3, 5, 8, 13, 21)  # bins of word distances
_FORMS = 9 + len(_MARKS)
_PLACE = 3
_MEASURES = 20  # measurements of a candidate, without vectors
_BESIDE = 2 * (len(_FAR) + 1) + 1

Words = list[Span]
Range = tuple[int, int]
"""Words from the first to one past the last."""


class Sentence(NamedTuple):
    """A sentence as the tagger reads it.

    Attributes:
        words: words and punctuation marks, with their offsets into the sentence's text.
        vectors: (n, d) vector of each word in context, zero where the encoder has no token.
        forms: (n, k) what each looks like.
    """

    words: Words
    vectors: Floats
    forms: Floats

    def project(self, mean: Floats, axes: Floats) -> Sentence:
        """Project vectors to the (k, d) ``axes``, shifted by ``mean``."""
        return self._replace(vectors=(self.vectors - mean) @ axes.T)


def sentence_of(text: str, tokens: TokenVectors) -> Sentence:
    """Build a sentence from its text and token vectors; a word's vector is the mean of its
    tokens'.
    """
    words = word_spans(text)
    vectors = np.zeros((len(words), tokens.vectors.shape[1]))
    counts = np.zeros(len(words))
    starts = np.array([w.start for w in words])
    for (start, end), vector in zip(tokens.offsets, tokens.vectors, strict=True):
        at = int(np.searchsorted(starts, start, side="right")) - 1
        if at >= 0 and start < words[at].end and end > start:
            vectors[at] += vector
            counts[at] += 1
    vectors /= np.maximum(counts, 1)[:, None]
    return Sentence(words, vectors, np.array([_form(w.text) for w in words]).reshape(-1, _FORMS))


def _form(word: str) -> list[float]:
    low = word.lower()
    lettered = any(map(str.isalnum, word))
    return [
        float(x)
        for x in (
            word[:1].isupper(),
            word.isupper() and len(word) > 1,
            any(map(str.isdigit, word)),
            not lettered,
            low in PRONOUNS,
            low.endswith("ed"),
            low.endswith("ing"),
            low.endswith("ly"),
            len(word) <= 3,
            *(word == mark for mark in _MARKS),
        )
    ]


def candidate_width(vectors: int) -> int:
    """Return the length of :attr:`.Candidate.features` for vectors of that length."""
    return _MEASURES + 3 * vectors


def word_width(vectors: int) -> int:
    """Return the length of the rows of :func:`word_rows` for vectors of that length."""
    return 3 * (vectors + _FORMS) + _PLACE


def word_rows(sentence: Sentence) -> Floats:
    """Build features (n, :func:`word_width`) of each word, its neighbours and its position."""
    n = len(sentence.words)
    own = np.concatenate([sentence.vectors, sentence.forms], axis=1)
    padded = np.concatenate([np.zeros((1, own.shape[1])), own, np.zeros((1, own.shape[1]))])
    at = np.arange(n)
    place = np.stack([at / max(n, 1), np.log1p(at), np.full(n, np.log1p(n))], axis=1)
    return np.concatenate([padded[:-2], own, padded[2:], place], axis=1)


def beside_width(vectors: int) -> int:
    """Return the length of the rows of :func:`beside_rows` for vectors of that length."""
    return word_width(vectors) + 2 * vectors + _BESIDE


def beside_rows(sentence: Sentence, rows: Floats, tail: Range) -> Floats:
    """Build features (n, :func:`beside_width`) of each word relative to a ``tail``.

    A row has the word's own row, the tail's mean vector and their product. It ends with the word's
    distance before or after the tail, or that it is inside.
    """
    n = len(sentence.words)
    at = np.arange(n)
    mean = sentence.vectors[tail[0] : tail[1]].mean(axis=0)
    before, after = tail[0] - at, at - tail[1] + 1
    inside = (before <= 0) & (after <= 0)
    far = np.concatenate([_bins(before), _bins(after), inside[:, None].astype(float)], axis=1)
    means = np.broadcast_to(mean, (n, len(mean)))
    return np.concatenate([rows, means, sentence.vectors * mean, far], axis=1)


def _bins(distance: NDArray[np.int64]) -> Floats:
    """Return a one-hot (n, bins) encoding of each positive distance; zeros for others."""
    bins = np.zeros((len(distance), len(_FAR) + 1))
    positive = distance > 0
    bins[positive, np.searchsorted(_FAR, distance[positive])] = 1.0
    return bins
