"""What the likeliest tokens at each place say of the model's doubt."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from veridical.core.tokens import TokenProbabilities
from veridical.errors import NotApplicable

#: How many of the likeliest tokens count.
TopK = Annotated[int, Field(ge=2, le=1_000_000)]
#: The entropy H in nats, or the perplexity e^H = 2^(H in bits), the number of equally likely
#: tokens that would be as much in doubt.
Form = Literal["entropy", "perplexity"]


def likeliest(tokens: TokenProbabilities, k: int | None) -> NDArray[np.float64]:
    """(n, k) log-probabilities of the k likeliest tokens at each place (all known ones if None),
    descending; unknown ones are -inf.

    Raises:
        NotApplicable: no place has two.
    """
    top = tokens.top
    if top is None:
        raise NotApplicable("the logprobs have no alternatives (top)")
    if k is not None:
        top = top[:, :k]
    if not (np.isfinite(top).sum(axis=1) > 1).any():
        raise NotApplicable("the logprobs have no two alternatives (top) at any place")
    return top


def top_entropy(top: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Entropy in nats of each row's probabilities, made to sum to 1, and how many there are.

    NaN where there are fewer than two.
    """
    known = np.isfinite(top)
    count = known.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.exp(np.where(known, top - top.max(axis=1, keepdims=True), -np.inf))
        p /= p.sum(axis=1, keepdims=True)
        terms = np.where(p > 0, p * np.log(p), 0.0)
    return np.where(count > 1, np.maximum(-terms.sum(axis=1), 0.0), np.nan), count


def entropies(tokens: TokenProbabilities, k: int | None, form: Form) -> NDArray[np.float64]:
    """(n,) doubt at each place; NaN where unknown.

    Args:
        k: of the k likeliest tokens alone; None takes the whole vocabulary where the source knows
            its entropy, else all the alternatives it gives.

    Raises:
        NotApplicable: nothing is known at any place.
    """
    if k is None and tokens.entropy is not None:
        entropy = np.maximum(tokens.entropy, 0.0)
    else:
        entropy, _ = top_entropy(likeliest(tokens, k))
    return entropy if form == "entropy" else np.exp(entropy)


def risk_of(form: Form) -> Callable[[float], float]:
    """The increasing map to risk: 1 - 1/n for n equally likely tokens, in either form."""
    return (lambda raw: -math.expm1(-raw)) if form == "entropy" else (lambda raw: 1 - 1 / raw)
