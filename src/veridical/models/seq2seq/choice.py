"""Multiple-choice readers run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veridical.errors import ModelError
from veridical.models.protocols import Window
from veridical.models.seq2seq import reading
from veridical.models.seq2seq.common import build
from veridical.models.seq2seq.longformer import RowReader
from veridical.models.seq2seq.requests import Choice, Packed


class TorchMultipleChoice:
    """Any model that ``AutoModelForMultipleChoice`` can build from safetensors and that is fed as
    the answering system of MQAG (see :mod:`veridical.models.seq2seq.reading`).

    Of a context too long for the model, the window counts in which the choice is surest.
    It answers :class:`~veridical.models.seq2seq.requests.Choice` requests. Thread-safe. Arguments
    and errors as :class:`~veridical.models.seq2seq.generation.TorchSeq2Seq`.
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
            "AutoModelForMultipleChoice",
            "multiple-choice reader",
            str(name_or_path),
            device=device,
            dtype=dtype,
            revision=revision,
            threads=threads,
            version=f"choice/{reading.VERSION}",
        )
        self.name, self.revision = made.name, made.revision
        self._reader = RowReader(made, choices=True)
        self.batch_tokens = self._reader.batch_tokens

    def windows(self, requests: Sequence[Choice]) -> list[list[Window]]:
        """For each question and each window of its context, a row an option.

        Raises:
            ModelError: a question has no options, or leaves no room for its context.
        """
        found = []
        with self._reader.lock:
            for question, context, options in requests:
                if not options:
                    raise ModelError("a question without options cannot be answered")
                windows = self._reader.rows.choices(context, question, options)
                rows = [_Row(row, len(options)) for window in windows for row in window]
                found.append([Window(len(row.ids), row) for row in rows])
        return found

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return list(self._reader([w.content.ids for w in batch]))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """(options,) probabilities of the options."""
        table = np.array(outputs, np.float64).reshape(-1, windows[0].content.options)
        powers = np.exp(table - table.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        chosen: Packed = shares[shares.max(axis=1).argmax()].astype(np.float32)
        return chosen

    def pretend(self, window: Window) -> float:
        """What :meth:`run` might give for ``window``."""
        return 0.0


class _Row(NamedTuple):
    """Token ids of one window with one option, and how many options there are."""

    ids: list[int]
    options: int
