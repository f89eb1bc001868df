"""Token probabilities of a text that is already there, wherever they come from.

They come with the record (``logprobs``: the model that wrote the response), or from a proxy: any
causal language model that reads the response after the prompt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

#: Lower log-probabilities count as this one, the least that float32 can hold. APIs write numbers
#: such as -9999 for "too little to tell", which would drown a mean.
FLOOR = math.log(2.0**-149)


class GivenText(NamedTuple):
    """A text whose tokens' probabilities are asked for, each given ``prompt`` and what precedes
    it. ``prompt`` is the literal text that stands before it, chat template applied, or empty."""

    prompt: str
    text: str


@dataclass(frozen=True, eq=False)
class TokenProbabilities:
    """The tokens of a text, n of them, with what the model made of each.

    Natural logarithms throughout. What a source does not know is None, never a guess.

    Attributes:
        starts, ends: (n,) code-point offsets into the text, ends exclusive, non-decreasing. A
            character split over several tokens belongs whole to each of them.
        logprobs: (n,) log-probability of each token.
        top: (n, k) log-probabilities of the k likeliest tokens at each place, descending; rows
            with fewer are filled with -inf; None where there are none.
        entropy: (n,) entropy over the whole vocabulary, in nats; None where only ``top`` is known.
        lowest: (n,) least log-probability in the vocabulary at each place; None likewise.
        top_ids: (n, k) which tokens of the model's vocabulary ``top`` is of; None where unknown.
        top_text: tells what the tokens of ``top`` at a place spell, in the same order, white space
            before a word included; None where the source does not say.
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
        """The same with all log-probabilities in [:data:`FLOOR`, 0]."""
        import numpy as np

        top = self.top
        if top is not None:
            top = np.where(np.isneginf(top), top, np.clip(top, FLOOR, 0.0))
        return replace(self, logprobs=np.clip(self.logprobs, FLOOR, 0.0), top=top)
