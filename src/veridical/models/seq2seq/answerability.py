"""Judges of answerability run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from veridical.errors import ModelError
from veridical.models.seq2seq import reading
from veridical.models.seq2seq.common import build
from veridical.models.seq2seq.longformer import RowReader


class TorchAnswerability:
    """Any model of one logit that ``AutoModelForSequenceClassification`` can build from
    safetensors and that is fed as the answerability system of MQAG (see
    :mod:`veridical.models.seq2seq.reading`).

    Of a context too long for the model, the window counts that is likeliest to hold the answer.
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

    def answerable(self, questions: Sequence[tuple[str, str]]) -> list[float]:
        """Probability that the context of each (context, question) answers the question.

        Raises:
            ModelError: a question leaves no room for its context.
        """
        with self._reader.lock:
            windows = [self._reader.rows.question(c, q) for c, q in questions]
            logits = self._reader([row for rows in windows for row in rows])
        found, at = [], 0
        for rows in windows:
            best = float(logits[at : at + len(rows)].max())
            at += len(rows)
            # of the two forms, the one whose power cannot overflow
            power = float(np.exp(-abs(best)))
            found.append(1 / (1 + power) if best >= 0 else power / (1 + power))
        return found
