"""A language model behind the coalescer: each text is read once after each prompt, and kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LanguageModel, Window
from veridical.core.tokens import GivenText, TokenProbabilities
from veridical.engine.batching import IdleSignal
from veridical.engine.service import Requests, Service
from veridical.engine.states import StateQueue
from veridical.errors import ModelError
from veridical.files.store import Store, content_key

_FIXED = 5  # columns before ``top``: start, end, log-probability, entropy, lowest
_FORM = "read-2"  # changed with the form of what is stored
_SLACK = 1e-4  # above 0 that rounding may lift a log-probability


class _GivenTexts(Requests):
    """Texts to one :class:`LanguageModel` that reads.

    Of a :class:`~veridical.core.protocols.PrefixModel` those that begin alike are read one after
    another.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self._shares = hasattr(model, "shared")
        self._last: Window | None = None  # that the model has read

    def order(self, window: Window) -> Any:
        return self.model.order(window) if self._shares else super().order(window)

    def size(self, batch: Sequence[Window]) -> int:
        if not self._shares:
            return super().size(batch)
        before, self._last = self._last, batch[-1]
        return tokens_read(self.model, batch, before)

    def key(self, request: GivenText) -> bytes:
        return content_key(_FORM, self.model.revision, *request)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> TokenProbabilities:
        value = self.model.assemble(windows, outputs)
        problem = fault(value)
        if problem:
            raise ModelError(f"{self.model.name}: {problem}")
        # what is stored is float32: use the same numbers whether the store is warm or cold
        return self.load(self.dump(value))

    def dump(self, value: TokenProbabilities) -> NDArray[np.float32]:
        """(n, 5 + 2k): a row a token; NaN columns for what the source does not know."""
        n = len(value)
        k = 0 if value.top is None else value.top.shape[1]
        table = np.full((n, _FIXED + 2 * k), np.nan)
        for column, values in enumerate(
            (value.starts, value.ends, value.logprobs, value.entropy, value.lowest)
        ):
            if values is not None:
                table[:, column] = values
        if value.top is not None:
            table[:, _FIXED : _FIXED + k] = value.top
            if value.top_ids is not None:
                table[:, _FIXED + k :] = value.top_ids
        return table.astype(np.float32)

    def load(self, stored: NDArray[np.float32]) -> TokenProbabilities:
        table = stored.astype(np.float64)
        entropy, lowest = (None if np.isnan(table[:, c]).any() else table[:, c] for c in (3, 4))
        top, named = np.split(table[:, _FIXED:], 2, axis=1)
        ids = None if not named.size or np.isnan(named).any() else named.astype(np.int64)
        return TokenProbabilities(
            starts=table[:, 0].astype(np.int64),
            ends=table[:, 1].astype(np.int64),
            logprobs=np.minimum(table[:, 2], 0.0),
            entropy=entropy,
            lowest=lowest,
            top=top if top.shape[1] else None,
            top_ids=ids,
            top_text=None if ids is None else partial(_spelled, self.model.spell, ids),
        )


def _spelled(spell: Callable[[int], str], ids: NDArray[np.int64], place: int) -> list[str]:
    return [spell(token) for token in ids[place].tolist()]


def tokens_read(model: Any, batch: Sequence[Window], before: Window | None = None) -> int:
    """Tokens that a :class:`~veridical.core.protocols.PrefixModel` reads for ``batch``, after
    ``before``."""
    read = 0
    for window in batch:
        read += window.length - (0 if before is None else model.shared(before, window))
        before = window
    return read


class LanguageService(Service):
    """All requests to one language model that reads."""

    def __init__(self, model: LanguageModel, idle_signal: IdleSignal, store: Store | None) -> None:
        super().__init__(model, idle_signal, store, requests=_GivenTexts(model))
        self._idle_signal = idle_signal
        self._states: StateQueue | None = None

    async def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """The literal text that precedes an answer to ``messages``.

        Raises:
            ModelError: the model's template cannot make one.
        """
        prompt: str = await asyncio.to_thread(self.backend.chat_prompt, messages)
        return prompt

    async def hidden(
        self, texts: Sequence[tuple[str, ...]], layers: Sequence[int] | None
    ) -> NDArray[np.float32]:
        """Hidden states of the last token of each text (see :meth:`StateQueue.ask`).

        Raises:
            ModelError: the model tells none, or failed on one of the texts.
        """
        if self._states is None:
            self._states = StateQueue(self.backend, self._idle_signal, self._store, self.work)
        return await self._states.ask(texts, layers)

    def close(self) -> None:
        super().close()
        if self._states is not None:
            self._states.close()


def fault(value: TokenProbabilities) -> str | None:
    """What is wrong with a model's answer, if anything is."""
    n = len(value)
    columns = (value.starts, value.ends, value.entropy, value.lowest)
    if any(c is not None and c.shape != (n,) for c in columns):
        return "its token probabilities are not one row a token"
    if value.top is not None and (value.top.ndim != 2 or len(value.top) != n):
        return "its alternatives are not one row a token"
    if value.top_ids is not None and (value.top is None or value.top_ids.shape != value.top.shape):
        return "its alternatives are not named one by one"
    if not np.isfinite(value.logprobs).all():
        return "it gave a log-probability that is not finite"
    known = [c for c in (value.entropy, value.lowest) if c is not None]
    if not all(np.isfinite(c).all() for c in known):
        return "it gave an entropy or a least log-probability that is not finite"
    if n and value.logprobs.max() > _SLACK:
        return f"it gave {value.logprobs.max():.6g} where a log-probability was expected"
    if (np.diff(value.starts) < 0).any() or (np.diff(value.ends) < 0).any():
        return "its tokens are not in order"
    if (value.starts > value.ends).any() or (n and value.starts[0] < 0):
        return "its tokens end before they begin"
    return None
