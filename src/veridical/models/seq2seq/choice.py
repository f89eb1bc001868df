"""Multiple-choice readers run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models.seq2seq import reading
from veridical.models.seq2seq.common import build
from veridical.models.seq2seq.longformer import RowReader


class TorchMultipleChoice:
    """Any model that ``AutoModelForMultipleChoice`` can build from safetensors and that is fed as
    the answering system of MQAG (see :mod:`veridical.models.seq2seq.reading`).

    Of a context too long for the model, the window counts in which the choice is surest.
    Thread-safe. Arguments and errors as :class:`~veridical.models.seq2seq.generation.TorchSeq2Seq`.
    """

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

    def choose(
        self, questions: Sequence[tuple[str, str, Sequence[str]]]
    ) -> list[NDArray[np.float64]]:
        """Probabilities of the options of each (context, question, options), in order.

        Raises:
            ModelError: a question has no options, or leaves no room for its context.
        """
        with self._reader.lock:
            rows: list[list[int]] = []
            shapes = []  # windows and options of each question
            for context, question, options in questions:
                if not options:
                    raise ModelError("a question without options cannot be answered")
                windows = self._reader.rows.choices(context, question, options)
                shapes.append((len(windows), len(options)))
                rows += [row for window in windows for row in window]
            logits = self._reader(rows)
        chosen, at = [], 0
        for shape in shapes:
            table = logits[at : at + shape[0] * shape[1]].reshape(shape)
            at += table.size
            powers = np.exp(table - table.max(axis=1, keepdims=True))
            shares = powers / powers.sum(axis=1, keepdims=True)
            chosen.append(shares[shares.max(axis=1).argmax()])
        return chosen
