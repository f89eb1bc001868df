"""Copy rate of claims (Hu et al. 2024, appendix A.4, figure 14).

The share of a claim's words that its context has in the same order, and its relation to entailment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from pydantic import BaseModel

from veridical.core.protocols import LABELS
from veridical.stats.metrics.ranking import auroc
from veridical.stats.resampling import Resampler, interval
from veridical.stats.tables import STORED_MODEL
from veridical.text.words import lower_words
from veridical_lab.studies.refchecker.judged import (
    REPLICATES,
    JudgedClaim,
    JudgedClaims,
    Triplet,
    by_part,
    responses_of,
)

LONGEST = 4  # n-grams
BINS = 5  # bins of equal width


class Bin(BaseModel):
    """Claims whose copy rate is from ``low`` to ``high``: how many, and the share of each label."""

    model_config = STORED_MODEL
    low: float
    high: float
    n: int
    entailment: float | None
    neutral: float | None
    contradiction: float | None


class PartCopying(BaseModel):
    """Copy rate of a part's claims.

    ``mean`` copy rate; ``auroc``, the probability that an entailed claim copies more than another
    (0.5: no relation), with its 95 % interval over responses.
    """

    model_config = STORED_MODEL
    part: str
    n: int
    responses: int
    mean: float
    auroc: float | None
    ci_low: float | None
    ci_high: float | None
    bins: list[Bin]


class Copying(BaseModel):
    """Figure 14. ``by``: who labelled the claims; ``left_out``: what has no figure, and how
    often."""

    model_config = STORED_MODEL
    by: str
    left_out: dict[str, int]
    parts: list[PartCopying]


def copy_rate(triplet: Triplet, contexts: Iterable[str]) -> float:
    """Return the mean share of the claim's word n-grams in a context, over n of 1 to 4.

    The words are those of head, relation and tail in a row, without case and punctuation. An n
    above their number does not count. A claim without a word has a rate of 0.

    >>> copy_rate(("Ada", "was born in", "London"), ["Ada was born in 1815 in London."])
    0.7916666666666666
    """
    claim = lower_words(" ".join(triplet))
    texts = [lower_words(text) for text in contexts]
    shares = []
    for n in range(1, min(LONGEST, len(claim)) + 1):
        held = {gram for text in texts for gram in _grams(text, n)}
        own = _grams(claim, n)
        shares.append(sum(gram in held for gram in own) / len(own))
    return sum(shares) / len(shares) if shares else 0.0


def _grams(words: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def copying(judged: JudgedClaims) -> Copying:
    """Compute the copy rate of each setting."""
    parts = [_part(name, claims) for name, claims in by_part(judged.claims).items()]
    return Copying(by=judged.by, left_out=judged.left_out, parts=parts)


def _part(name: str, claims: Sequence[JudgedClaim]) -> PartCopying:
    rates = np.array([copy_rate(c.triplet, c.contexts) for c in claims])
    entailed = np.array([float(c.label == LABELS[0]) for c in claims])
    groups = responses_of(claims)
    drawn = [
        auroc(entailed, rates, weights) for weights in Resampler(groups, REPLICATES, 0).chunks()
    ]
    low, high = interval(np.concatenate(drawn)) if drawn else (None, None)
    value = float(auroc(entailed, rates, np.ones((1, len(rates))))[0])
    return PartCopying(
        part=name,
        n=len(claims),
        responses=len(np.unique(groups)),
        mean=float(rates.mean()),
        auroc=None if np.isnan(value) else value,
        ci_low=low,
        ci_high=high,
        bins=[_bin(i, rates, claims) for i in range(BINS)],
    )


def _bin(i: int, rates: np.ndarray, claims: Sequence[JudgedClaim]) -> Bin:
    places = np.flatnonzero(np.minimum((rates * BINS).astype(int), BINS - 1) == i).tolist()
    labels = [claims[k].label for k in places]
    shares = {name: labels.count(name) / len(labels) if labels else None for name in LABELS}
    return Bin(low=i / BINS, high=(i + 1) / BINS, n=len(labels), **shares)
