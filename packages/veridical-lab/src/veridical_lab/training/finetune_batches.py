"""Batches of pairs for the fine-tuning of an encoder."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.core.protocols import Pair, Window
    from veridical.models.nli.folder import NliSettings
    from veridical.models.nli.tokens import PairWindower

_BATCH_TOKENS = 2048  # padded


class Batches:
    """Pairs as ``model`` takes them on ``device``, by the back end's own tokenisation."""

    def __init__(
        self, torch: Any, settings: NliSettings, windower: PairWindower, model: Any, device: Any
    ) -> None:
        self.torch = torch
        self._settings = settings
        self._windower = windower
        self.model = model
        self.device = device
        known = inspect.signature(model.forward).parameters
        self._types = settings.takes_types and "token_type_ids" in known

    def windows(self, pairs: Sequence[Pair]) -> tuple[list[Window | None], dict[str, int]]:
        """Return the window of each pair; None, and counted, if it needs several."""
        windows = [ws[0] if len(ws) == 1 else None for ws in self._windower(pairs)]
        long = sum(w is None for w in windows)
        why = f"longer than {self._settings.max_length} tokens, left out of training"
        return windows, {why: long} if long else {}

    def logits(self, batch: Sequence[Window | None]) -> Any:
        """Compute logits (n, classes), on the device."""
        rows = self._settings.rows(self._windower, [w for w in batch if w is not None])
        inputs = {"input_ids": rows.ids, "attention_mask": rows.mask.astype(np.int64)}
        if self._types:
            inputs["token_type_ids"] = rows.types
        tensors = {k: self.torch.from_numpy(v).to(self.device) for k, v in inputs.items()}
        return self.model(**tensors).logits

    def all_logits(self, windows: Sequence[Window | None]) -> NDArray[np.float64]:
        """Compute logits (n, classes) without training, in order."""
        self.model.eval()
        logits = np.empty((len(windows), self.model.config.num_labels))
        with self.torch.inference_mode():
            for batch in _packed(np.arange(len(windows)), windows):
                logits[batch] = self.logits([windows[i] for i in batch]).float().cpu().numpy()
        return logits


def schedule(
    train: NDArray[np.intp], windows: Sequence[Window | None], epochs: int, seed: int
) -> list[list[NDArray[np.intp]]]:
    """Draw the batches of each epoch, in random order."""
    plan = []
    for epoch in range(epochs):
        chance = random.Random(f"{seed}/{epoch}")
        batches = _packed(train, windows, chance)
        chance.shuffle(batches)
        plan.append(batches)
    return plan


def _packed(
    places: NDArray[np.intp], windows: Sequence[Window | None], chance: random.Random | None = None
) -> list[NDArray[np.intp]]:
    """Pack ``places`` into batches of similar length, of a bounded number of padded tokens."""
    lengths = {int(i): w.length for i in places if (w := windows[i]) is not None}
    ordered = sorted(lengths, key=lambda i: lengths[i] + (chance.uniform(-3, 3) if chance else 0))
    batches: list[list[int]] = []
    longest = 0
    for i in ordered:
        longest = max(longest, lengths[i])
        if not batches or longest * (len(batches[-1]) + 1) > _BATCH_TOKENS:
            batches.append([])
            longest = lengths[i]
        batches[-1].append(i)
    return [np.array(b, np.intp) for b in batches]
