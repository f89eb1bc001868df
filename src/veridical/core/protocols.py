"""What the evidence layer asks of a model. Back ends implement these; nothing else is assumed."""

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


class TokenVectors(NamedTuple):
    """The tokens of one text, special ones left out.

    Attributes:
        offsets: (t, 2) code-point offsets into the text, ends exclusive.
        vectors: (t, d) float32 contextual vectors, rows of unit length.
    """

    offsets: NDArray[np.int64]
    vectors: NDArray[np.float32]


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
    languages: frozenset[str] | None  # codes of the languages it reads, e.g. {"en"}; None = any
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


class TokenEncoder(Encoder, Protocol):
    """An encoder that ``has_tokens``."""

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """(t, 2) places in each text of its tokens, special ones left out, in the order of
        :attr:`Encoded.tokens`: code points, ends exclusive."""
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
        """One window of length 1 an image, which holds the :class:`Picture` itself: what waits is
        not decoded yet."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """Decode, prepare and embed; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """(d,) vector of one image, of unit length."""
        ...

    def pretend(self, window: Window) -> Any:
        """An output such as :meth:`run` might give, without any work, for a dry run."""
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


class WordModel(NliModel, Protocol):
    """An NLI model that may tell which words of a hypothesis are wrong; others lack
    ``tells_words``. Where that is true, :meth:`assemble` gives (3 + words,): after the
    probabilities the risk in [0, 1] of each word of the hypothesis, in order, as
    :func:`veridical.text.words.lettered_spans` finds them."""

    tells_words: bool


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


class SpellingModel(LanguageModel, Protocol):
    """A language model whose ``top_ids`` can be read as text; others give none."""

    def spell(self, token: int) -> str:
        """What a token adds to a text that it follows."""
        ...


class PrefixModel(LanguageModel, Protocol):
    """A language model that keeps what it has read until it has read the next window, so that
    what both begin with is read once; others lack ``shared``."""

    def order(self, window: Window) -> Any:
        """What windows are to be sorted by: then those that begin alike stand together."""
        ...

    def shared(self, before: Window, window: Window) -> int:
        """Tokens of ``window`` that need no reading after ``before``."""
        ...


class StateModel(LanguageModel, Protocol):
    """A language model whose hidden states can be had; others lack ``state_shape``."""

    state_shape: tuple[int, int]  # layers + 1, width

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        """Tokenise texts given in pieces, template and quoted matter by turns: one window each.
        A text that is too long is an error, never a cut."""
        ...

    def states(self, batch: Sequence[Window]) -> list[NDArray[np.float32]]:
        """(layers + 1, width) hidden states of the last token of each window, by one forward."""
        ...


class Checkpoint(Protocol):
    """A model that a scorer names itself: an encoder-decoder, a reader or a regressor.

    As with :class:`Encoder`: synchronous, thread-safe, and results do not depend on which
    windows share a batch (to 1e-5). What it is asked, and how its answers are packed, is in
    :mod:`veridical.core.requests`.
    """

    name: str
    revision: str  # hash of weights, tokenizer, windowing, precision and how it is fed
    batch_tokens: int  # padded tokens per forward that keep the hardware busy
    workers: int  # threads that may call ``run`` at the same time

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        """Tokenise; at least one window a request. Long ones give several, never a cut."""
        ...

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """One forward over ``batch``; one opaque output per window, in order."""
        ...

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        """(k,) packed answer to one request, from its windows' outputs."""
        ...

    def pretend(self, window: Window) -> Any:
        """An output such as :meth:`run` might give, without any work, for a dry run."""
        ...
