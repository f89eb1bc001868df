"""Regressors over pairs of texts, run by transformers and torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.protocols import Pair, Window
from veridical.core.requests import Packed
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.checkpoint import TorchCheckpoint
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.pairs import VERSION
from veridical.models.nli.tokens import PairWindower


class TorchRegressor(TorchCheckpoint):
    """Regressor with one output, such as BLEURT.

    Supports any model that ``AutoModelForSequenceClassification`` can build from safetensors. The
    number is the raw output. A pair too long for the model is windowed as in
    :mod:`veridical.models.nli.pairs`, with its first text as the premise. The maximum over windows
    of the first text counts, and the mean over pieces of the second, weighted by tokens. It answers
    :class:`~veridical.core.protocols.Pair` requests. Thread-safe.
    """

    automatic = "AutoModelForSequenceClassification"
    what = "regressor"
    version = f"regression-1/{VERSION}"
    single = "output"

    def _open(self) -> None:
        self._settings = NliSettings.read(self._root)
        tokenizer = loading.tokenizer_of(self._root, self._transformers)
        self._windower = PairWindower(tokenizer, self._settings.max_length)
        self._types = self._settings.types_of(self._model)

    def windows(self, requests: Sequence[Pair]) -> list[list[Window]]:
        with self._lock:
            return self._windower(requests)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        import torch

        rows = self._windower.rows(batch, self._settings.pad)
        with self._lock, torch.inference_mode():
            out = self._model(**self._tensors(rows, self._types))
            logits = out.logits.double().cpu().numpy()
        if logits.shape != (len(batch), 1) or not np.isfinite(logits).all():
            raise ModelError(f"{self.name} gave {logits.shape} numbers for {len(batch)} pairs")
        return list(logits[:, 0].tolist())

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return the score (1,) of the pair."""
        best: dict[int, float] = {}
        weight: dict[int, int] = {}
        for window, value in zip(windows, outputs, strict=True):
            part = window.content.part
            best[part] = max(best.get(part, -np.inf), value)
            weight[part] = max(len(window.content.hypothesis), 1)
        mean = sum(best[p] * weight[p] for p in best) / sum(weight.values())
        return np.array([mean], np.float32)
