"""HalluDetect's features of token probabilities (Quevedo et al. 2024)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.core.tokens import TokenProbabilities
from veridical.errors import NotApplicable

#: The four features, by the paper's names.
FEATURES = (
    "mtp",  # Minimum token probability.
    "avgtp",  # Average token probability.
    "mpd",  # Maximum difference between the most likely token and the actual one.
    "mps",  # Minimum spread between the most and the least likely token of the vocabulary.
)


def features(tokens: TokenProbabilities) -> NDArray[np.float64]:
    """Compute the four :data:`FEATURES`, (4,), each in [0, 1].

    Let p be the conditional probabilities of the tokens. Let highest and lowest be those of the
    most and the least likely token of the vocabulary at each position. The features are min p, mean
    p, max (highest - p) and min (highest - lowest). If a source does not return the lowest, it
    counts as 0: of V tokens one has at most probability 1 / V.

    Raises:
        NotApplicable: the source does not return the most likely token at some position.
    """
    p = np.exp(tokens.logprobs)
    top = tokens.top
    if top is None or not np.isfinite(top[:, 0]).all():
        raise NotApplicable("the logprobs lack the likeliest token (top) at some place")
    highest = np.maximum(np.exp(top[:, 0]), p)
    lowest = np.zeros_like(p) if tokens.lowest is None else np.exp(tokens.lowest)
    spread = np.maximum(highest - lowest, 0.0)
    return np.array([p.min(), p.mean(), (highest - p).max(), spread.min()])
