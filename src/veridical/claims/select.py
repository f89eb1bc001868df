"""Selection of the passages that a claim is checked by.

A checker judges every passage it gets, and there may be a thousand. Selection keeps the few
relevant ones; its recall is the share of supporting passages kept. :func:`screen` does the same for
sentences of an answer, limited by the amount of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from veridical.claims.bm25 import Bm25, terms
from veridical.text.memo import kept
from veridical.text.passages import SIZE, Passage, windows
from veridical.text.relevance import candidates
from veridical.text.words import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.evidence import Evidence
    from veridical.core.registry import Cost

    Ids = NDArray[np.int64]

Selection = Literal["all", "bm25", "embedding", "cross_encoder"]
#: Passages from BM25 to the cross-encoder, per passage kept.
SHORTLIST = 4
#: Minimum BM25 score, relative to the best passage's. If one passage has the rare words of a claim,
#: those that share only common words have another topic.
NEAR = 0.6
_TEXTS_PER_BLOCK = 512  # with scores in memory at once


def costs_of(how: Selection) -> set[Cost]:
    """Return the costs of a selection."""
    costs: dict[Selection, set[Cost]] = {"embedding": {"embed"}, "cross_encoder": {"nli"}}
    return costs.get(how, set())


async def select(
    claims: Sequence[str],
    passages: Sequence[str],
    evidence: Evidence,
    *,
    how: Selection = "bm25",
    top: int = 8,
    ranker: str | None = None,
) -> list[Ids]:
    """Choose the passages for each claim, as indices in rising order.

    At most ``top`` are chosen unless ``how`` is ``all``. Of equally good passages the earlier are
    kept. Errors of the models are passed on.

    Args:
        how: ``bm25`` ranks by shared words (:class:`~veridical.claims.bm25.Bm25`) and drops
            passages under 0.6 of the best score. ``embedding`` ranks by the cosine of sentence
            embeddings. ``cross_encoder`` takes BM25's best ``4 top`` and ranks them by an NLI
            model, with 1 - P(neutral), or P(entailment) if the model has no contradiction class.
        ranker: that NLI model; the run's default if None.
    """
    if how == "all" or len(passages) <= top or not claims:
        return [np.arange(len(passages))] * len(claims)
    if how == "embedding":
        vectors = await evidence.embed([*claims, *passages])
        cosines = vectors[: len(claims)] @ vectors[len(claims) :].T
        # differences from batching must not decide
        return [_best(row, top) for row in np.round(cosines.astype(np.float64), 6)]
    rows = _bm25(claims, passages, evidence)
    if how == "bm25":
        best = ((row, _best(row, top)) for row in rows)
        return [ids[row[ids] >= NEAR * row.max()] for row, ids in best]
    short = [_best(row, SHORTLIST * top) for row in rows]
    pairs = [(passages[i], c) for c, ids in zip(claims, short, strict=True) for i in ids]
    verdicts = await evidence.nli(pairs, ranker)
    about = verdicts.entailment
    if verdicts.contradicts:
        about = about + verdicts.contradiction
    chosen, at = [], 0
    for ids in short:
        chosen.append(np.sort(ids[_best(about[at : at + len(ids)], top)]))
        at += len(ids)
    return chosen


class SourceWindow(NamedTuple):
    """A window of a source, with the index of the source."""

    source: int
    passage: Passage


def source_windows(texts: Sequence[str], size: int = SIZE) -> list[SourceWindow]:
    """Return the windows of each source in order, as :func:`~veridical.text.passages.windows`."""
    return [SourceWindow(n, p) for n, text in enumerate(texts) for p in windows(text, size)]


class Screened(NamedTuple):
    """Indices of the passages relevant to a text.

    Attributes:
        read: passages to judge it by, in rising order.
        about: the closest one (:class:`~veridical.text.relevance.MostAbout`), always among them.
    """

    read: Ids
    about: int


def screen(
    texts: Sequence[str],
    passages: Sequence[str],
    evidence: Evidence,
    *,
    top: int = 8,
    size: int = SIZE,
) -> list[Screened]:
    """Select, for each text, the relevant passages, without a model.

    A text keeps its best passages by BM25 (:class:`~veridical.claims.bm25.Bm25`; ties in order) up
    to ``top * size`` characters, at least one, and its closest one. It keeps all if they fit, if
    ``top`` is 0, or if it shares no word with any of them.

    Args:
        passages: at least one. Passages with equal text are kept or dropped together, and count
            once.
        top: maximum number of passages of full size.
        size: characters of a full passage.
    """
    key = tuple(passages)  # the record refers to it and may return after others
    about = evidence.once((candidates, key), lambda: candidates(key))
    nearest = [about.place(evidence.words(text)) for text in texts]
    every = np.arange(len(passages))
    distinct = list(dict.fromkeys(passages))
    lengths = np.array([len(p) for p in distinct])
    if not top or lengths.sum() <= top * size:
        return [Screened(every, place) for place in nearest]
    columns = {passage: i for i, passage in enumerate(distinct)}
    column = np.array([columns[p] for p in passages])
    screened = []
    for place, scores in zip(nearest, _bm25(texts, distinct, evidence), strict=True):
        if not scores.any():
            screened.append(Screened(every, place))
            continue
        order = np.argsort(-scores, kind="stable")
        count = max(1, int((lengths[order].cumsum() <= top * size).sum()))
        kept = np.isin(column, [*order[:count], column[place]])
        screened.append(Screened(np.flatnonzero(kept), place))
    return screened


def _bm25(
    texts: Sequence[str], passages: Sequence[str], evidence: Evidence
) -> Iterator[NDArray[np.float64]]:
    """Yield the passages' scores for each text."""
    key = tuple(passages)
    index = evidence.once((_index, key), lambda: _index(key))
    # in blocks, as all texts by all passages may exceed the memory
    for i in range(0, len(texts), _TEXTS_PER_BLOCK):
        yield from index.scores([terms(evidence.words(t)) for t in texts[i : i + _TEXTS_PER_BLOCK]])


@kept
def _index(passages: tuple[str, ...]) -> Bm25:
    return Bm25([terms(words_of(p)) for p in passages])


def _best(scores: NDArray[np.float64], top: int) -> Ids:
    """Return the indices of the ``top`` highest, in rising order."""
    order: Ids = np.sort(np.argsort(-scores, kind="stable")[:top])
    return order
