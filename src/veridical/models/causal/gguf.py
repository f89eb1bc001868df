"""Language models in GGUF files, read by ONNX Runtime: no torch, no extra."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats32
from veridical.core.protocols import Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.errors import ModelError
from veridical.models.causal import tokens
from veridical.models.causal.chat import plain_prompt, template_prompt
from veridical.models.causal.int8 import Int8Model
from veridical.models.causal.int8_weights import TurnedWeights
from veridical.models.causal.tokens import ReadWindower, WindowTokens
from veridical.models.folder import digest_of
from veridical.models.gguf import Gguf
from veridical.models.gguf_tokenizer import read_tokenizer, token_id, token_text
from veridical.models.memory import need_memory

#: Likeliest tokens kept at each place.
TOP = 20
#: Tokens of one forward: more leave the processor's caches.
_CHUNK = 256
_VERSION = "gguf-int8-1"  # changed whenever the same file would give other numbers


class GgufLanguageModel:
    """A Llama- or Qwen2-like model, its weights rounded to 8 bits (see :mod:`.int8_weights`).

    A :class:`~veridical.core.protocols.PrefixModel`: windows are read one after another, and what
    one has in common with that before it, at their beginning, is not read again. Entropies and
    least probabilities are over the whole vocabulary. Numbers do not depend on what was read
    before. Thread-safe.

    Args:
        path: the file.
        threads: CPU threads of one forward; default: the free cores.
        name: what to call the model; default: by its file.

    Raises:
        UsageError: it is no GGUF file.
        ModelError: it is of an architecture, a packing or a tokenizer that is not known here, is
            damaged, or does not fit into memory.
    """

    workers = 1
    batch_tokens = 4096

    def __init__(
        self, path: str | Path, *, threads: int | None = None, name: str | None = None
    ) -> None:
        from veridical.llm.free_cores import free_cores
        from veridical.llm.local import check_gguf

        path = Path(path).expanduser()
        check_gguf(path)
        file = Gguf(path)
        self.name = name or path.stem
        self._weights = TurnedWeights(file)
        need_memory(str(path), self._weights.size)
        shape = self._weights.shape
        self._template = file.metadata.get("tokenizer.chat_template")
        self._marks = {f"{t}_token": token_text(file, t) for t in ("bos", "eos")}
        tokenizer = read_tokenizer(file)
        if tokenizer.get_vocab_size() > shape.vocabulary:
            raise ModelError(
                f"{path}: the tokenizer knows {tokenizer.get_vocab_size()} tokens, the model "
                f"{shape.vocabulary}"
            )
        first = token_id(file, "bos")
        first = token_id(file, "eos") if first is None else first
        self._windower = ReadWindower(tokenizer, shape.context, first)
        self._model = Int8Model(self._weights, threads or free_cores(), TOP)
        self.state_shape = (shape.layers + 1, shape.width)
        self._lock = threading.Lock()
        self._read: NDArray[np.int64] = np.zeros(0, np.int64)  # the tokens in the cache
        self._cache = self._model.nothing
        self.revision = digest_of((_VERSION, tokens.VERSION, TOP), [path])

    def windows(self, texts: Sequence[GivenText]) -> list[list[Window]]:
        return self._windower(texts)

    def order(self, window: Window) -> bytes:
        piece: WindowTokens = window.content
        return piece.ids.astype(">u4").tobytes()

    def shared(self, before: Window, window: Window) -> int:
        one: WindowTokens = before.content
        other: WindowTokens = window.content
        return min(_common(one.ids, other.ids), other.first - 1)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        """One (tokens, 3 + 2k) float32 array per window: log-probability, entropy, least
        log-probability, the k greatest, and the ids of these, of each token asked for."""
        with self._lock:
            return [self._measured(window.content) for window in batch]

    def _measured(self, piece: WindowTokens) -> Floats32:
        tables = [np.zeros((0, 3 + 2 * self._model.top), np.float32)]
        if piece.first < len(piece.ids):
            asked = piece.first - 1  # a token is foretold by the one before
            for start, after, _ in self._forward(piece.ids, asked):
                first = max(asked, start)
                followed = piece.ids[first + 1 : start + len(after) + 1]
                some = after[first - start :][: len(followed)]
                tables.append(self._model.measured(some, followed))
        return np.concatenate(tables)

    def _forward(
        self, ids: NDArray[np.int64], asked: int
    ) -> Iterator[tuple[int, Floats32, Floats32]]:
        """Read ``ids``, but for those that the text before began with too, up to ``asked``.

        Yields the place of a chunk's first token, and what the model makes of the chunk. None is
        of one token alone, for which the libraries sum in another order.
        """
        keep = max(min(_common(self._read, ids), asked), 0)
        past = [values[:, :, :keep] for values in self._cache]
        self._read, self._cache = ids[:0], self._model.nothing  # should this break off
        start = keep
        while start < len(ids):
            stop = start + _CHUNK if start + _CHUNK + 1 < len(ids) else len(ids)
            after, states, past = self._model.read(self._weights.vectors(ids[start:stop]), past)
            yield start, after, states
            start = stop
        self._read, self._cache = ids, past

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        return tokens.assembled(windows, outputs)

    def spell(self, token: int) -> str:
        return self._windower.spell(token)

    def state_windows(self, texts: Sequence[tuple[str, ...]]) -> list[list[Window]]:
        return self._windower.whole(texts)

    def states(self, batch: Sequence[Window]) -> list[Floats32]:
        """(layers + 1, width) hidden states of the last token of each window, as transformers
        numbers them: 0 is what enters the first layer, the last is after the final norm."""
        outputs = []
        with self._lock:
            for window in batch:
                *_, (_, _, states) = self._forward(window.content, len(window.content) - 2)
                outputs.append(self._weights.turned_back(states))
        return outputs

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """
        Raises:
            ModelError: a message holds an image, or the template refuses the messages.
        """
        if not isinstance(self._template, str):
            return plain_prompt(messages)
        try:
            return template_prompt(self._template, messages, self._marks)
        except ModelError as e:
            raise ModelError(f"{self.name}: {e}") from e


def _common(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """How many ids two texts have in common at their beginning."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if len(differ) else length
