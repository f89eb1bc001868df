"""What the evidence layer asks of a model. Back ends implement these; nothing else is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Classes of an NLI model, in the order of every array of probabilities.
LABELS = ("entailment", "neutral", "contradiction")


class Pair(NamedTuple):
    """What an NLI model judges: does ``premise`` entail, or contradict, ``hypothesis``?"""

    premise: str
    hypothesis: str


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A piece of one request that fits the model. ``content`` is what the back end will run on.

    Attributes:
        length: tokens it occupies in a batch, special tokens included.
        content: token ids, or the text itself for a remote model.
        overlap: leading content tokens shared with the window before it (0 in the first).
    """

    length: int
    content: Any
    overlap: int = 0


@dataclass(frozen=True, eq=False)
class Encoded:
    """One text as a model sees it.

    Attributes:
        vector: (d,) float32 sentence embedding, L2-normalised.
        tokens: (t, d_t) float32 contextual token vectors, L2-normalised; None unless asked for.
        token_ids: (t,) the vocabulary ids behind ``tokens``.
        content: (t,) bool, False for special tokens (they may be matched but carry no weight).
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32] | None = None
    token_ids: NDArray[np.int64] | None = None
    content: NDArray[np.bool_] | None = None


class Encoder(Protocol):
    """A sentence embedder that is also a token encoder, when ``has_tokens``.

    Methods are synchronous, thread-safe and called from worker threads. The evidence layer
    dedupes, sorts by length and packs windows of many texts into batches; results must not
    depend on which windows share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, tokenizer, pooling, windowing and precision
    has_tokens: bool
    scripts: frozenset[str] | None  # Unicode scripts it reads, e.g. {"Latin"}; None = any
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """Tokenise; at least one window per text. Long texts give several, never a cut."""
        ...

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        """One forward over ``batch``; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        """Join the outputs of one text's windows."""
        ...


class NliModel(Protocol):
    """A cross-encoder that judges premise and hypothesis.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which
    windows share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, tokenizer, label order, temperature, windowing and precision
    scripts: frozenset[str] | None  # Unicode scripts it reads, e.g. {"Latin"}; None = any
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time
    contradicts: bool  # False: it tells entailment from the rest only, which stands as neutral

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        """Tokenise by the model's own pair encoding; at least one window per pair. A long premise
        or hypothesis gives several, never a cut."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """One forward over ``batch``; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """(3,) probabilities of one pair, as LABELS orders them, from its windows' outputs."""
        ...
