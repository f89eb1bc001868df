"""What the evidence layer asks of a model. Back ends implement these; nothing else is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.llm.tokens import GivenText, TokenProbabilities

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


class LanguageModel(Protocol):
    """A causal language model that reads texts: the probability of each of their tokens.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which
    windows share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, tokenizer, windowing, precision and how many ``top`` are kept
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        """Tokenise prompt and text; at least one window a text. A long one gives several, each
        with as much of what precedes it as fits, never a cut."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """One forward over ``batch``; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        """The text's tokens (not the prompt's) from its windows' outputs."""
        ...

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """The literal text that precedes an answer to ``messages``, by the model's own chat
        template; messages' texts joined by blank lines where it has none."""
        ...


class Seq2Seq(Protocol):
    """An encoder-decoder that writes texts and reads them."""

    name: str
    revision: str

    def generate(
        self, sources: Sequence[str], *, max_tokens: int, sample: bool = False, seed: int = 0
    ) -> list[str]:
        """One output a source, special tokens kept as text, greedy unless ``sample``."""
        ...

    def loglikelihood(
        self, pairs: Sequence[tuple[str, str]]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Token ids and log-probabilities of each (source, target) pair's target tokens."""
        ...


class MultipleChoice(Protocol):
    """A reader that chooses among answers to a question about a context."""

    name: str
    revision: str

    def choose(
        self, questions: Sequence[tuple[str, str, Sequence[str]]]
    ) -> list[NDArray[np.float64]]:
        """Probabilities of the options of each (context, question, options)."""
        ...


class Answerability(Protocol):
    """A reader that tells whether a context answers a question."""

    name: str
    revision: str

    def answerable(self, questions: Sequence[tuple[str, str]]) -> list[float]:
        """Probability, in [0, 1], that the context of each (context, question) answers it."""
        ...
