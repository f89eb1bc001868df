"""What HalluDetect looks at in a text's token probabilities (Quevedo et al. 2024)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veridical.core.tokens import TokenProbabilities
from veridical.errors import NotApplicable

#: The four features, by the paper's names (besides: what they are).
FEATURES = (
    "mtp",  # minimum token probability
    "avgtp",  # average token probability
    "mpd",  # maximum deviation: of the likeliest token from the one that stands there
    "mps",  # minimum spread: of the likeliest token in the vocabulary from the least likely
)


def features(tokens: TokenProbabilities) -> NDArray[np.float64]:
    """The four of :data:`FEATURES`, (4,), each in [0, 1].

    With p the probabilities of the tokens, and highest and lowest those of the likeliest and the
    least likely token of the vocabulary at each place: min p, mean p, max (highest - p) and min
    (highest - lowest). Every probability is of a token given the ones before it. Where a source
    does not know the lowest, it counts as 0: of V tokens one has at most probability 1 / V.

    Raises:
        NotApplicable: the source does not know the likeliest token at some place.
    """
    p = np.exp(tokens.logprobs)
    top = tokens.top
    if top is None or not np.isfinite(top[:, 0]).all():
        raise NotApplicable("the logprobs lack the likeliest token (top) at some place")
    highest = np.maximum(np.exp(top[:, 0]), p)
    lowest = np.zeros_like(p) if tokens.lowest is None else np.exp(tokens.lowest)
    spread = np.maximum(highest - lowest, 0.0)
    return np.array([p.min(), p.mean(), (highest - p).max(), spread.min()])
