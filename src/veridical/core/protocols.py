"""Protocols of models, implemented by back ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from veridical.core.images import Picture
    from veridical.core.tokens import GivenText, TokenProbabilities

#: Classes of an NLI model, in the order of every array of probabilities.
LABELS = ("entailment", "neutral", "contradiction")


class Pair(NamedTuple):
    """Input of an NLI model: does ``premise`` entail or contradict ``hypothesis``?"""

    premise: str
    hypothesis: str


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A piece of one request that fits the model. ``content`` is the input of the back end.

    Attributes:
        length: tokens that it occupies in a batch, special tokens included.
        content: token ids, or the text itself for a remote model.
        overlap: leading content tokens shared with the previous window (0 in the first).
    """

    length: int
    content: Any
    overlap: int = 0


@dataclass(frozen=True, eq=False)
class Encoded:
    """An encoded text.

    Attributes:
        vector: (d,) float32 sentence embedding, L2-normalised.
        tokens: (t, d_t) float32 contextual token vectors, L2-normalised; None unless requested.
        token_ids: (t,) the vocabulary ids behind ``tokens``.
        content: (t,) bool, False for special tokens (they may be matched but carry no weight).
    """

    vector: NDArray[np.float32]
    tokens: NDArray[np.float32] | None = None
    token_ids: NDArray[np.int64] | None = None
    content: NDArray[np.bool_] | None = None


class TokenVectors(NamedTuple):
    """Tokens of one text, without special tokens.

    Attributes:
        offsets: (t, 2) code-point offsets into the text, ends exclusive.
        vectors: (t, d) float32 contextual vectors, rows of unit length.
    """

    offsets: NDArray[np.int64]
    vectors: NDArray[np.float32]


class Encoder(Protocol):
    """A sentence embedder, and also a token encoder if ``has_tokens``.

    Methods are synchronous, thread-safe and called from worker threads. The evidence layer
    dedupes, sorts by length and packs windows of many texts into batches. Results must not
    depend on which windows share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, tokenizer, pooling, windowing and precision
    has_tokens: bool
    scripts: frozenset[str] | None  # Unicode scripts it reads, e.g. {"Latin"}; None = any
    languages: frozenset[str] | None  # codes of the languages it reads, e.g. {"en"}; None = any
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        """Tokenise ``texts`` into at least one window each; long texts give several, uncut."""
        ...

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        """Run one forward pass on ``batch``; return one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        """Join the outputs of one text's windows."""
        ...


class TokenEncoder(Encoder, Protocol):
    """A token encoder: an encoder with ``has_tokens``."""

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """Return the (t, 2) offsets of the tokens of each text, without special tokens, in the
        order of :attr:`Encoded.tokens`: code points, ends exclusive."""
        ...


class ImageEmbedder(Protocol):
    """An embedder of images.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which
    images share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, preparation of images and precision
    batch_tokens: int  # images per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, pictures: Sequence[Picture]) -> list[list[Window]]:
        """Return one window of length 1 per image, which holds the :class:`Picture` itself: waiting
        images are not decoded."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Decode, prepare and embed; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the (d,) vector of one image, of unit length."""
        ...

    def pretend(self, window: Window) -> Any:
        """Return a plausible output of :meth:`run` without any work, for a dry run."""
        ...


class NliModel(Protocol):
    """A cross-encoder that judges premise and hypothesis.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which
    windows share a batch (to 1e-5).
    """

    name: str
    revision: str  # hash of weights, tokenizer, label order, temperature, windowing and precision
    languages: frozenset[str] | None  # codes of the languages it reads, e.g. {"en"}; None = any
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time
    contradicts: bool  # False: it distinguishes entailment from the rest only, reported as neutral

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        """Tokenise by the model's own pair encoding; at least one window per pair. A long premise
        or hypothesis gives several, never a cut."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Run one forward pass on ``batch``; return one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the (3,) probabilities of one pair, in the order of LABELS, from its windows'
        outputs."""
        ...


class WordModel(NliModel, Protocol):
    """An NLI model that can report wrong words of a hypothesis; others lack ``tells_words``.

    If it is true, :meth:`assemble` returns (3 + words,). After the probabilities it has the risk of
    each word of the hypothesis, in [0, 1]. Words are in the order of
    :func:`veridical.text.words.lettered_spans`.
    """

    tells_words: bool


class LanguageModel(Protocol):
    """A causal language model that reads texts: the probability of each token.

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
        """Run one forward pass on ``batch``; return one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        """Return the text's tokens (not the prompt's) from its windows' outputs."""
        ...

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """Return the literal text that precedes an answer to ``messages``.

        It follows the model's own chat template; without one, it has the messages' texts joined by
        blank lines.
        """
        ...


class SpellingModel(LanguageModel, Protocol):
    """A language model whose ``top_ids`` can be read as text; others return none."""

    def spell(self, token: int) -> str:
        """Return the text that a token adds to the text before it."""
        ...


class PrefixModel(LanguageModel, Protocol):
    """A language model that caches the last window, so that a shared prefix is read once; others
    lack ``shared``."""

    def order(self, window: Window) -> Any:
        """Return the sort key of a window, which places windows with a common prefix together."""
        ...

    def shared(self, before: Window, window: Window) -> int:
        """Return the number of tokens of ``window`` that need no reading after ``before``."""
        ...


class StateModel(LanguageModel, Protocol):
    """A language model with accessible hidden states; others lack ``state_shape``."""

    state_shape: tuple[int, int]  # layers + 1, width

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        """Tokenise texts given in pieces, template and quoted matter in turn: one window each. A
        text that is too long is an error, never a cut."""
        ...

    def states(self, batch: Sequence[Window]) -> list[NDArray[np.float32]]:
        """Return (layers + 1, width) hidden states of the last token of each window, by one
        forward."""
        ...


class Checkpoint(Protocol):
    """A model that a scorer names itself: an encoder-decoder, a reader or a regressor.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which windows
    share a batch (to 1e-5). :mod:`veridical.core.requests` defines its requests and packed answers.
    """

    name: str
    revision: str  # hash of weights, tokenizer, windowing, precision and how it is fed
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        """Tokenise ``requests`` into at least one window each; long ones give several, uncut."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Run one forward pass on ``batch``; return one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """Return the (k,) packed answer to one request, from its windows' outputs."""
        ...

    def pretend(self, window: Window) -> Any:
        """Return a plausible output of :meth:`run` without any work, for a dry run."""
        ...
