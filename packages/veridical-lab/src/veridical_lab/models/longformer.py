"""Batch runner for readers, without unnecessary padding of Longformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.checkpoint import TorchCheckpoint
from veridical.models.folder import max_length, read_json
from veridical_lab.models.common import padded
from veridical_lab.models.reading import Rows


class RowReader(TorchCheckpoint):
    """Checkpoint with one logit per row of token ids.

    A Longformer pads every batch to a multiple of its attention window (512 tokens). Rows so short
    that each token sees every other get a window of twice their length instead, which changes only
    the cost.

    Attributes:
        choices: whether the model takes (batch, choices, length) arrays. Each row is then given as
            a choice of its own, so that rows of many questions share a batch.

    Raises:
        ModelError: the folder has no usable tokenizer, or the model requires token types.
    """

    choices: ClassVar[bool] = False

    def _open(self) -> None:
        types = self._config.get("type_vocab_size")
        if isinstance(types, int) and types > 1:
            raise ModelError(f"{self._root}: readers with token types are not supported")
        tokenizer = loading.tokenizer_of(self._root, self._transformers)
        limits = read_json(self._root / "tokenizer_config.json", {})
        self._rows = Rows(tokenizer, max_length({}, self._config, limits))
        pad = self._config.get("pad_token_id")
        self._pad = pad if isinstance(pad, int) else 0
        modules = self._model.modules()
        self._layers = [m for m in modules if hasattr(m, "one_sided_attn_window_size")]
        self._own = [2 * layer.one_sided_attn_window_size for layer in self._layers]

    def _logits(self, rows: Sequence[Sequence[int]]) -> list[Any]:
        """Return the logits of ``rows``, in order."""
        with self._lock:
            logits = self._forward(rows)
        if not np.isfinite(logits).all():
            raise ModelError("the reader gave a logit that is not a number")
        return list(logits.tolist())

    def _forward(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        import torch

        ids, mask = padded(rows, self._pad, self._device)
        if self._layers:
            self._use_window(ids.shape[1])
        if self.choices:
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
        windows = [whole if whole <= size else size for size in self._own]
        if len(set(windows)) > 1:  # padding must suit every layer
            windows = self._own
        for layer, window in zip(self._layers, windows, strict=True):
            layer.one_sided_attn_window_size = window // 2
        self._model.config.attention_window = list(windows)
