"""Which passages of a long reference a claim is checked by.

A checker reads every passage it is given, and there may be a thousand of them. Pre-selection keeps
the few that may speak to a claim; how many supporting ones it loses is its recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.claims.bm25 import Bm25, terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.evidence import Evidence
    from veridical.registry import Cost

    Ids = NDArray[np.int64]

Selection = Literal["all", "bm25", "embedding", "cross_encoder"]
#: Passages that BM25 hands a cross-encoder, for each one that is kept.
SHORTLIST = 4
#: Share of the best passage's BM25 score that another must have to be read: where one passage has
#: the rare words of a claim, those that share its common ones are about something else.
NEAR = 0.6


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
    """For each claim the passages to check it by, at most ``top`` of them unless ``how`` is
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
    index = evidence.once(
        (Bm25, tuple(passages)), lambda: Bm25([terms(evidence.words(p)) for p in passages])
    )
    scores = index.scores([terms(evidence.words(c)) for c in claims])
    if how == "bm25":
        best = [_best(row, top) for row in scores]
        return [ids[row[ids] >= NEAR * row.max()] for ids, row in zip(best, scores, strict=True)]
    short = [_best(row, SHORTLIST * top) for row in scores]
    pairs = [(passages[i], c) for c, ids in zip(claims, short, strict=True) for i in ids]
    verdicts = await evidence.nli(pairs, ranker)
    about = verdicts.entailment
    if verdicts.contradicts:
        about = about + verdicts.contradiction
    kept, at = [], 0
    for ids in short:
        kept.append(np.sort(ids[_best(about[at : at + len(ids)], top)]))
        at += len(ids)
    return kept


def _best(scores: NDArray[np.float64], top: int) -> Ids:
    """The ``top`` highest, in rising order of place."""
    order: Ids = np.sort(np.argsort(-scores, kind="stable")[:top])
    return order
