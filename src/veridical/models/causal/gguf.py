"""Language models in GGUF files, run by ONNX Runtime without torch."""

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

#: Likeliest tokens kept per position.
TOP = 20
#: Tokens per forward: more exceed the processor's caches.
_CHUNK = 256
_VERSION = "gguf-int8-1"  # change it whenever the same file would give other numbers


class GgufLanguageModel:
    """A Llama- or Qwen2-like model with weights in 8 bits (see :mod:`.int8_weights`).

    It is a :class:`~veridical.core.protocols.PrefixModel`: windows are processed in order, and a
    prefix shared with the previous window is reused. Entropies and minimum probabilities are over
    the whole vocabulary. Results do not depend on earlier windows. Thread-safe.

    Args:
        path: path of the file.
        threads: CPU threads per forward; default: the free cores.
        name: name of the model; default: that of its file.

    Raises:
        UsageError: it is not a GGUF file.
        ModelError: its architecture, quantisation or tokenizer is not supported, or it is damaged,
            or does not fit into memory.
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
                f"{path}: the tokenizer has {tokenizer.get_vocab_size()} tokens, the model "
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
        """Return a (tokens, 3 + 2k) float32 array per window, one row per scored token.

        A row has the log-probability, entropy, minimum log-probability, the k largest
        log-probabilities, and their ids.
        """
        with self._lock:
            return [self._measured(window.content) for window in batch]

    def _measured(self, piece: WindowTokens) -> Floats32:
        tables = [np.zeros((0, 3 + 2 * self._model.top), np.float32)]
        if piece.first < len(piece.ids):
            asked = piece.first - 1  # a token is predicted by the previous one
            for start, after, _ in self._forward(piece.ids, asked):
                first = max(asked, start)
                followed = piece.ids[first + 1 : start + len(after) + 1]
                some = after[first - start :][: len(followed)]
                tables.append(self._model.measured(some, followed))
        return np.concatenate(tables)

    def _forward(
        self, ids: NDArray[np.int64], asked: int
    ) -> Iterator[tuple[int, Floats32, Floats32]]:
        """Process ``ids`` up to ``asked``, reusing the prefix shared with the previous text.

        Yields the index of a chunk's first token, and the chunk's outputs. No chunk has a single
        token, for which the libraries sum in another order.
        """
        keep = max(min(_common(self._read, ids), asked), 0)
        past = [values[:, :, :keep] for values in self._cache]
        self._read, self._cache = ids[:0], self._model.nothing  # valid if this is interrupted
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
        """Return the (layers + 1, width) hidden states of each window's last token.

        Layers are numbered as in transformers: 0 is the input of the first layer, and the last
        follows the final norm.
        """
        outputs = []
        with self._lock:
            for window in batch:
                *_, (_, _, states) = self._forward(window.content, len(window.content) - 2)
                outputs.append(self._weights.turned_back(states))
        return outputs

    def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """Render the messages by the model's chat template.

        Raises:
            ModelError: a message has an image, or the template rejects the messages.
        """
        if not isinstance(self._template, str):
            return plain_prompt(messages)
        try:
            return template_prompt(self._template, messages, self._marks)
        except ModelError as e:
            raise ModelError(f"{self.name}: {e}") from e


def _common(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    """Return the length of the common prefix of two texts' ids."""
    length = min(len(one), len(other))
    differ = np.flatnonzero(one[:length] != other[:length])
    return int(differ[0]) if len(differ) else length
