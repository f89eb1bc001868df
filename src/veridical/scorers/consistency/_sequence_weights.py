"""Weights of answers: equal, or by sequence probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veridical.core.records import Record, TokenLogprob
from veridical.errors import NotApplicable

#: ``auto`` uses probabilities if every answer has log-probabilities.
Weights = Literal["auto", "discrete", "probability"]


def log_weights(
    record: Record, weights: Weights, length_normalize: bool, *, response: bool
) -> NDArray[np.float64]:
    """Return the natural logarithms of the answers' weights, scaled so that the largest is 0.

    They stay logarithms because the probability of a long text is too small for a float.

    Args:
        weights: ``discrete`` weighs all answers equally.
        length_normalize: take the geometric mean of the tokens' probabilities, ``exp(mean
            log p)``, rather than their product, ``exp(sum log p)``.
        response: put the response before the samples that have a text.

    Raises:
        NotApplicable: log-probabilities are required and missing, or every answer has probability
            0.
    """
    samples = [record.samples[s.index].logprobs for s in record.against("samples")]
    answers = [record.logprobs, *samples] if response else samples
    if weights == "discrete" or (weights == "auto" and not all(answers)):
        return np.zeros(len(answers))
    logs = np.array([_log_probability(tokens, length_normalize) for tokens in answers])
    if np.isneginf(logs.max()):
        raise NotApplicable("every answer has sequence probability 0")
    shifted: NDArray[np.float64] = logs - logs.max()
    return shifted


def _log_probability(tokens: Sequence[TokenLogprob] | None, length_normalize: bool) -> float:
    known = [t.logprob for t in tokens or () if t.logprob is not None]
    if not known:
        raise NotApplicable("an answer has no log-probabilities")
    total = sum(known)
    return total / len(known) if length_normalize else total
