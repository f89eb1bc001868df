"""Token probabilities of a given text, from the record or a proxy.

The record has them in ``logprobs`` (from the model that wrote the response). A proxy is any causal
language model that reads the response after the prompt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

#: Lower log-probabilities are raised to this value, the least that float32 can represent. APIs
#: write values such as -9999 for "too small", which would dominate a mean.
FLOOR = math.log(2.0**-149)


class GivenText(NamedTuple):
    """A text whose token probabilities are requested, each given ``prompt`` and the tokens before
    it. ``prompt`` is the literal text that precedes it, with the chat template applied, or
    empty."""

    prompt: str
    text: str


@dataclass(frozen=True, eq=False)
class TokenProbabilities:
    """Tokens of a text, n of them, with the model's probabilities.

    All logarithms are natural. Unknown values are None.

    Attributes:
        starts, ends: (n,) code-point offsets into the text, ends exclusive, non-decreasing. A
            character split over several tokens belongs as a whole to each of them.
        logprobs: (n,) log-probability of each token.
        top: (n, k) log-probabilities of the k likeliest tokens at each position, descending; rows
            with fewer are padded with -inf; None if unknown.
        entropy: (n,) entropy over the whole vocabulary, in nats; None if only ``top`` is known.
        lowest: (n,) least log-probability in the vocabulary at each position; None likewise.
        top_ids: (n, k) vocabulary ids of ``top``; None if unknown.
        top_text: function that returns the texts of the ``top`` tokens at a position, in the same
            order, with leading white space; None if unknown.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    logprobs: NDArray[np.float64]
    top: NDArray[np.float64] | None = None
    entropy: NDArray[np.float64] | None = None
    lowest: NDArray[np.float64] | None = None
    top_ids: NDArray[np.int64] | None = None
    top_text: Callable[[int], list[str]] | None = None

    def __len__(self) -> int:
        return len(self.logprobs)

    def bounded(self) -> TokenProbabilities:
        """Return a copy with all log-probabilities in [:data:`FLOOR`, 0]."""
        import numpy as np

        top = self.top
        if top is not None:
            top = np.where(np.isneginf(top), top, np.clip(top, FLOOR, 0.0))
        return replace(self, logprobs=np.clip(self.logprobs, FLOOR, 0.0), top=top)
