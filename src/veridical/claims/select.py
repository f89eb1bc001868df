"""Which passages of a long reference a claim is checked by.

A checker reads every passage it is given, and there may be a thousand of them. Pre-selection keeps
the few that may speak to a claim; how many supporting ones it loses is its recall.
:func:`screen` does the same for sentences of an answer, by the amount of text that is read.
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
#: Passages that BM25 hands a cross-encoder, for each one that is kept.
SHORTLIST = 4
#: Share of the best passage's BM25 score that another must have to be read: where one passage has
#: the rare words of a claim, those that share its common ones are about something else.
NEAR = 0.6
_BLOCK = 512  # texts whose scores are in memory at once


def costs_of(how: Selection) -> set[Cost]:
    """What a selection asks of the evidence layer."""
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
    """Choose for each claim the passages to check it by, at most ``top`` of them unless ``how`` is
    ``all``, as indices in rising order. All of them where there are no more than ``top``.

    Args:
        how: ``bm25`` goes by shared words (:class:`~veridical.claims.bm25.Bm25`) and leaves out
            what scores under 0.6 of the best; ``embedding`` goes by the cosine of
            sentence embeddings; ``cross_encoder`` takes BM25's best ``4 top`` and keeps those
            that an NLI model is surest to be about the claim: by 1 - P(neutral), or P(entailment)
            of a model that knows no contradiction.
        ranker: that NLI model; the run's own if None.

    Of equally good passages the earlier are kept. Raises as the models do.
    """
    if how == "all" or len(passages) <= top or not claims:
        return [np.arange(len(passages))] * len(claims)
    if how == "embedding":
        vectors = await evidence.embed([*claims, *passages])
        cosines = vectors[: len(claims)] @ vectors[len(claims) :].T
        # what batching leaves uncertain must not decide
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
    """A window of a source, by the source's place among the sources."""

    source: int
    passage: Passage


def source_windows(texts: Sequence[str], size: int = SIZE) -> list[SourceWindow]:
    """Return the windows of each source in turn, as :func:`~veridical.text.passages.windows`."""
    return [SourceWindow(n, p) for n, text in enumerate(texts) for p in windows(text, size)]


class Screened(NamedTuple):
    """Passages that can matter to a text, by place.

    Attributes:
        read: those to judge it by, in rising order.
        about: the one most about it (:class:`~veridical.text.relevance.MostAbout`), which is
            always among them.
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
    """Leave out, for each text, the passages that cannot matter to it. No model is asked.

    A text keeps its best passages by BM25 (:class:`~veridical.claims.bm25.Bm25`; of equals the
    earlier) as long as they hold at most ``top * size`` characters together, one at least, and
    the one most about it. It keeps all where all hold no more than that, where ``top`` is 0, and
    where it shares no word with any of them, so that nothing tells them apart.

    Args:
        passages: at least one. Of those with the same text all are kept or none, and they count
            once.
        top: how many passages of full size may be kept.
        size: characters of a passage of full size.
    """
    key = tuple(passages)  # held by the record too, which comes back when others have been read
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
    """Scores of the passages for each text in turn."""
    key = tuple(passages)
    index = evidence.once((_index, key), lambda: _index(key))
    # some at a time: all texts by all passages may be more than the memory
    for i in range(0, len(texts), _BLOCK):
        yield from index.scores([terms(evidence.words(t)) for t in texts[i : i + _BLOCK]])


@kept
def _index(passages: tuple[str, ...]) -> Bm25:
    return Bm25([terms(words_of(p)) for p in passages])


def _best(scores: NDArray[np.float64], top: int) -> Ids:
    """The ``top`` highest, in rising order of place."""
    order: Ids = np.sort(np.argsort(-scores, kind="stable")[:top])
    return order
