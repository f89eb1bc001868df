"""Judges of answerability run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import ModelError
from veridical.models.protocols import Window
from veridical.models.seq2seq import reading
from veridical.models.seq2seq.common import build
from veridical.models.seq2seq.longformer import RowReader
from veridical.models.seq2seq.requests import Packed, Question


class TorchAnswerability:
    """Any model of one logit that ``AutoModelForSequenceClassification`` can build from
    safetensors and that is fed as the answerability system of MQAG (see
    :mod:`veridical.models.seq2seq.reading`).

    Of a context too long for the model, the window counts that is likeliest to hold the answer.
    It answers :class:`~veridical.models.seq2seq.requests.Question` requests. Thread-safe. Arguments
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
            "AutoModelForSequenceClassification",
            "judge of answerability",
            str(name_or_path),
            device=device,
            dtype=dtype,
            revision=revision,
            threads=threads,
            version=f"answerability/{reading.VERSION}",
        )
        if made.model.config.num_labels != 1:
            raise ModelError(
                f"{made.root} has {made.model.config.num_labels} classes; one logit was expected"
            )
        self.name, self.revision = made.name, made.revision
        self._reader = RowReader(made, choices=False)
        self.batch_tokens = self._reader.batch_tokens

    def windows(self, requests: Sequence[Question]) -> list[list[Window]]:
        """Rows of each question, one for each window of its context.

        Raises:
            ModelError: a question leaves no room for its context.
        """
        with self._reader.lock:
            rows = [self._reader.rows.question(q.context, q.question) for q in requests]
        return [[Window(len(row), row) for row in windows] for windows in rows]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return list(self._reader([w.content for w in batch]))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """(1,) probability that the context answers the question."""
        best = max(outputs)
        # of the two forms, the one whose power cannot overflow
        power = float(np.exp(-abs(best)))
        return np.array([1 / (1 + power) if best >= 0 else power / (1 + power)], np.float32)

    def pretend(self, window: Window) -> float:
        """What :meth:`run` might give for ``window``."""
        return 0.0
