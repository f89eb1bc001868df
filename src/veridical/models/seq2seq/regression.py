"""Regressors over pairs of texts, run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.pairs import VERSION
from veridical.models.nli.tokens import PairWindower
from veridical.models.protocols import Pair, Window
from veridical.models.seq2seq.common import build
from veridical.models.seq2seq.requests import Packed


class TorchRegressor:
    """Any model of one output that ``AutoModelForSequenceClassification`` can build from
    safetensors: BLEURT's kind. The number is the output itself, without any function over it.

    A pair too long for the model is windowed as :mod:`veridical.models.nli.pairs` has it, its
    first text as the premise. Of the windows of the first text the greatest number counts, and
    the mean over the pieces of the second, each weighted by its tokens. It answers
    :class:`~veridical.models.protocols.Pair` requests. Thread-safe. Arguments and errors as
    :class:`~veridical.models.seq2seq.generation.TorchSeq2Seq`.
    """

    workers = 1

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        threads: int | None = None,
    ) -> None:
        made = build(
            "AutoModelForSequenceClassification",
            "regressor",
            str(name_or_path),
            device=device,
            dtype=dtype,
            revision=revision,
            threads=threads,
            version=f"regression-1/{VERSION}",
        )
        if made.model.config.num_labels != 1:
            raise ModelError(
                f"{made.root} has {made.model.config.num_labels} classes; one output was expected"
            )
        import transformers

        self.name, self.revision = made.name, made.revision
        self._model, self._device = made.model, made.device
        self.batch_tokens = loading.BATCH_TOKENS.get(made.device.type, loading.BATCH_TOKENS["cpu"])
        self._settings = NliSettings.read(made.root)
        tokenizer = loading.tokenizer_of(made.root, transformers)
        self._windower = PairWindower(tokenizer, self._settings.max_length)
        known = inspect.signature(made.model.forward).parameters
        self._types = self._settings.takes_types and "token_type_ids" in known
        self._lock = threading.Lock()  # one forward at a time: they would only contend

    def windows(self, requests: Sequence[Pair]) -> list[list[Window]]:
        with self._lock:
            return self._windower(requests)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        import torch

        rows = self._windower.rows(batch, self._settings.pad)
        given = {"input_ids": rows.ids, "attention_mask": rows.mask.astype(np.int64)}
        if self._types:
            given["token_type_ids"] = rows.types
        with self._lock, torch.inference_mode():
            tensors = {k: torch.from_numpy(v).to(self._device) for k, v in given.items()}
            logits = self._model(**tensors).logits.double().cpu().numpy()
        if logits.shape != (len(batch), 1) or not np.isfinite(logits).all():
            raise ModelError(f"{self.name} gave {logits.shape} numbers for {len(batch)} pairs")
        found: list[Any] = logits[:, 0].tolist()
        return found

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """(1,) number of the pair."""
        best: dict[int, float] = {}
        weight: dict[int, int] = {}
        for window, value in zip(windows, outputs, strict=True):
            part = window.content.part
            best[part] = max(best.get(part, -np.inf), value)
            weight[part] = max(len(window.content.hypothesis), 1)
        mean = sum(best[p] * weight[p] for p in best) / sum(weight.values())
        return np.array([mean], np.float32)

    def pretend(self, window: Window) -> float:
        """What :meth:`run` might give for ``window``."""
        return 0.0
