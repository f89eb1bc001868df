"""Judges of answerability run by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from veridical.core.protocols import Window
from veridical.core.requests import Packed
from veridical_lab.models import reading
from veridical_lab.models.longformer import RowReader
from veridical_lab.models.requests import Question


class TorchAnswerability(RowReader):
    """Classifier with one logit that estimates if a context answers a question.

    Supports any model that ``AutoModelForSequenceClassification`` can build from safetensors, with
    the input format of MQAG's answerability system (see :mod:`veridical_lab.models.reading`). Of a
    context too long for the model, the window most likely to contain the answer counts. It answers
    :class:`~veridical.core.requests.Question` requests. Thread-safe.
    """

    automatic = "AutoModelForSequenceClassification"
    what = "judge of answerability"
    version = f"answerability/{reading.VERSION}"
    single = "logit"

    def windows(self, requests: Sequence[Question]) -> list[list[Window]]:
        """Build the rows of each question, one for each window of its context.

        Raises:
            ModelError: a question leaves no room for its context.
        """
        with self._lock:
            rows = [self._rows.question(q.context, q.question) for q in requests]
        return [[Window(len(row), row) for row in windows] for windows in rows]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return self._logits([w.content for w in batch])

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return the probability (1,) that the context answers the question."""
        best = max(outputs)
        # the form whose power cannot overflow
        power = float(np.exp(-abs(best)))
        return np.array([1 / (1 + power) if best >= 0 else power / (1 + power)], np.float32)
