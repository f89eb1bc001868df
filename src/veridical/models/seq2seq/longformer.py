"""Runs rows through a reader, Longformers without the padding that they do not need."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import max_length, read_json
from veridical.models.seq2seq.common import Built, padded
from veridical.models.seq2seq.reading import Rows


class RowReader:
    """One logit a row of token ids, rows within what one forward may hold.

    A Longformer pads every batch to a multiple of its attention window (512 tokens). Rows so short
    that each token sees every other get a window of twice their length instead, which changes
    nothing but the cost.

    Args:
        choices: whether the model takes (batch, choices, length) arrays: each row is then given
            as a choice of its own, so that rows of many questions share a batch.

    Raises:
        ModelError: the folder has no usable tokenizer, or the model wants token types.
    """

    def __init__(self, made: Built, *, choices: bool) -> None:
        import transformers

        types = made.config.get("type_vocab_size")
        if isinstance(types, int) and types > 1:
            raise ModelError(f"{made.root}: readers with token types are not supported")
        tokenizer = loading.tokenizer_of(made.root, transformers)
        limits = read_json(made.root / "tokenizer_config.json", {})
        self.rows = Rows(tokenizer, max_length({}, made.config, limits))
        self.batch_tokens = loading.BATCH_TOKENS.get(made.device.type, loading.BATCH_TOKENS["cpu"])
        self.lock = threading.Lock()  # one forward at a time; held by whoever uses ``rows`` too
        self._model, self._device, self._choices = made.model, made.device, choices
        pad = made.config.get("pad_token_id")
        self._pad = pad if isinstance(pad, int) else 0
        self._layers = [m for m in made.model.modules() if hasattr(m, "one_sided_attn_window_size")]
        self._own = [2 * layer.one_sided_attn_window_size for layer in self._layers]

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[float]:
        """Logits of ``rows``, in order."""
        with self.lock:
            logits = self._run(rows)
        if not np.isfinite(logits).all():
            raise ModelError("the reader gave a logit that is not a number")
        found: list[float] = logits.tolist()
        return found

    def _run(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        import torch

        ids, mask = padded(rows, self._pad, self._device)
        if self._layers:
            self._use_window(ids.shape[1])
        if self._choices:
            ids, mask = ids[:, None], mask[:, None]
        with torch.inference_mode():
            logits = self._model(input_ids=ids, attention_mask=mask).logits
            table: NDArray[np.float64] = logits.double().cpu().numpy()
        if table.shape != (len(rows), 1):
            raise ModelError(f"the reader gave {table.shape} logits for {len(rows)} rows")
        return table[:, 0]

    def _use_window(self, length: int) -> None:
        """Let a token see ``length`` others to each side where its own window covers that."""
        whole = 2 * length
        windows = [whole if whole <= own else own for own in self._own]
        if len(set(windows)) > 1:  # padding must suit every layer
            windows = self._own
        for layer, window in zip(self._layers, windows, strict=True):
            layer.one_sided_attn_window_size = window // 2
        self._model.config.attention_window = list(windows)
