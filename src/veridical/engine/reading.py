"""Language model queue: each (prompt, text) pair is read once and stored."""

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
_FORM = "read-2"  # changed with the format of stored values
_SLACK = 1e-4  # tolerance above 0 for rounding of a log-probability


class _GivenTexts(Requests):
    """Texts as requests to one :class:`LanguageModel`.

    For a :class:`~veridical.core.protocols.PrefixModel`, texts with a common prefix are read in
    sequence.
    """

    def __init__(self, model: LanguageModel) -> None:
        super().__init__(model)
        self._shares = hasattr(model, "shared")
        self._last: Window | None = None  # the last window that the model read

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
        # stored values are float32: use the same numbers with a warm or cold store
        return self.load(self.dump(value))

    def dump(self, value: TokenProbabilities) -> NDArray[np.float32]:
        """Return (n, 5 + 2k): one row per token; NaN columns for unknown values."""
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
    """Return the tokens that a :class:`~veridical.core.protocols.PrefixModel` reads for ``batch``,
    after ``before``."""
    read = 0
    for window in batch:
        read += window.length - (0 if before is None else model.shared(before, window))
        before = window
    return read


class LanguageService(Service):
    """All requests to one language model that reads texts."""

    def __init__(self, model: LanguageModel, idle_signal: IdleSignal, store: Store | None) -> None:
        super().__init__(model, idle_signal, store, requests=_GivenTexts(model))
        self._idle_signal = idle_signal
        self._states: StateQueue | None = None

    async def chat_prompt(self, messages: Sequence[dict[str, Any]]) -> str:
        """Return the literal text that precedes an answer to ``messages``.

        Raises:
            ModelError: the model's template cannot render the messages.
        """
        prompt: str = await asyncio.to_thread(self.backend.chat_prompt, messages)
        return prompt

    async def hidden(
        self, texts: Sequence[tuple[str, ...]], layers: Sequence[int] | None
    ) -> NDArray[np.float32]:
        """Return hidden states of the last token of each text (see :meth:`StateQueue.ask`).

        Raises:
            ModelError: the model has no accessible hidden states, or failed on a text.
        """
        if self._states is None:
            self._states = StateQueue(self.backend, self._idle_signal, self._store, self.work)
        return await self._states.ask(texts, layers)

    def close(self) -> None:
        super().close()
        if self._states is not None:
            self._states.close()


def fault(value: TokenProbabilities) -> str | None:
    """Return the error in a model's answer; None if it is valid."""
    n = len(value)
    columns = (value.starts, value.ends, value.entropy, value.lowest)
    if any(c is not None and c.shape != (n,) for c in columns):
        return "its token probabilities do not have one row per token"
    if value.top is not None and (value.top.ndim != 2 or len(value.top) != n):
        return "its alternatives do not have one row per token"
    if value.top_ids is not None and (value.top is None or value.top_ids.shape != value.top.shape):
        return "its alternatives do not have one id each"
    if not np.isfinite(value.logprobs).all():
        return "it returned a log-probability that is not finite"
    known = [c for c in (value.entropy, value.lowest) if c is not None]
    if not all(np.isfinite(c).all() for c in known):
        return "it returned an entropy or a least log-probability that is not finite"
    if n and value.logprobs.max() > _SLACK:
        return f"it returned {value.logprobs.max():.6g} instead of a log-probability"
    if (np.diff(value.starts) < 0).any() or (np.diff(value.ends) < 0).any():
        return "its tokens are not in order"
    if (value.starts > value.ends).any() or (n and value.starts[0] < 0):
        return "its tokens end before they begin"
    return None
