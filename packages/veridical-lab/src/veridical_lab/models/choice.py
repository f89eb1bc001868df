"""Multiple-choice readers run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from veridical.core.protocols import Window
from veridical.core.requests import Packed
from veridical.errors import ModelError
from veridical_lab.models import reading
from veridical_lab.models.longformer import RowReader
from veridical_lab.models.requests import Choice


class TorchMultipleChoice(RowReader):
    """Any model that ``AutoModelForMultipleChoice`` can build from safetensors and that is fed as
    the answering system of MQAG (see :mod:`veridical_lab.models.reading`).

    Of a context too long for the model, the window counts in which the choice is surest.
    It answers :class:`~veridical.core.requests.Choice` requests. Thread-safe.
    """

    automatic = "AutoModelForMultipleChoice"
    what = "multiple-choice reader"
    version = f"choice/{reading.VERSION}"
    choices = True

    def windows(self, requests: Sequence[Choice]) -> list[list[Window]]:
        """Build a row per option for each question and each window of its context.

        Raises:
            ModelError: a question has no options, or leaves no room for its context.
        """
        split = []
        with self._lock:
            for question, context, options in requests:
                if not options:
                    raise ModelError("a question without options cannot be answered")
                windows = self._rows.choices(context, question, options)
                rows = [_Row(row, len(options)) for window in windows for row in window]
                split.append([Window(len(row.ids), row) for row in rows])
        return split

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return self._logits([w.content.ids for w in batch])

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return the probabilities (options,) of the options."""
        table = np.array(outputs, np.float64).reshape(-1, windows[0].content.options)
        powers = np.exp(table - table.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        chosen: Packed = shares[shares.max(axis=1).argmax()].astype(np.float32)
        return chosen


class _Row(NamedTuple):
    """Token ids of one window with one option, and how many options there are."""

    ids: list[int]
    options: int
