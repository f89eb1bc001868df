"""Extractive question answering by transformers and torch (the ``[torch]`` extra)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.core.requests import Packed
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.checkpoint import TorchCheckpoint
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.tokens import Template
from veridical.models.windows import OVERLAP, Ordinary, spans
from veridical_lab.models.common import padded
from veridical_lab.models.reading import VERSION
from veridical_lab.models.requests import Question, pack_answer


class _Content(NamedTuple):
    """Window: its row, the context's range in it, and the offsets of the context's tokens."""

    ids: list[int]
    types: list[int]
    context: slice
    offsets: list[tuple[int, int]]


class _Span(NamedTuple):
    """The best span of a window, in code points of the context, and the two scores."""

    start: int
    end: int
    score: float
    none: float


class TorchExtractive(TorchCheckpoint):
    """Extractive reader that predicts a span or no answer (SQuAD 2.0).

    Supports any model that ``AutoModelForQuestionAnswering`` can build from safetensors and that
    signals no answer by its first token ([CLS]). A row is the tokenizer's own pair of question and
    context. The answer is the valid span with the greatest sum of start and end logit. There is no
    answer if the two logits of the first token have at least that sum. A context too long for the
    model is read in overlapping windows; the one with the greatest margin counts. It answers
    :class:`~veridical.core.requests.Question` requests. Thread-safe.
    """

    automatic = "AutoModelForQuestionAnswering"
    what = "reader that answers questions by spans"
    version = f"extractive-1/{VERSION}"

    def _open(self) -> None:
        tokenizer = loading.tokenizer_of(self._root, self._transformers)
        self._encode = Ordinary(tokenizer)
        self._template = Template.probe(tokenizer)
        if not self._template.ids[0]:
            raise ModelError(f"{self._root}: no token before the question can represent no answer")
        self._settings = NliSettings.read(self._root)
        self._types = self._settings.types_of(self._model)

    def windows(self, requests: Sequence[Question]) -> list[list[Window]]:
        """Build the rows of each question, one for each window of its context.

        Raises:
            ModelError: a question leaves no room for its context.
        """
        with self._lock:
            return [self._windows(*request) for request in requests]

    def run(self, batch: Sequence[Window]) -> list[Any]:
        import torch

        contents: list[_Content] = [w.content for w in batch]
        ids, mask = padded([c.ids for c in contents], self._settings.pad, self._device)
        inputs = {"input_ids": ids, "attention_mask": mask}
        if self._types:
            inputs["token_type_ids"], _ = padded([c.types for c in contents], 0, self._device)
        with self._lock, torch.inference_mode():
            out = self._model(**inputs)
            starts = out.start_logits.double().cpu().numpy()
            ends = out.end_logits.double().cpu().numpy()
        if not (np.isfinite(starts).all() and np.isfinite(ends).all()):
            raise ModelError(f"{self.name} gave a logit that is not a number")
        return [_best(c, s, e) for c, s, e in zip(contents, starts, ends, strict=True)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return start and end of the answer, and its margin over no answer, (3,)."""
        best = max(outputs, key=lambda span: span.score - span.none)
        return pack_answer(best.start, best.end, best.score - best.none)

    def pretend(self, window: Window) -> Any:
        """Return a placeholder result of :meth:`run` for ``window``: all of the context."""
        offsets = window.content.offsets
        return _Span(0, offsets[-1][1] if offsets else 0, 1.0, 0.0)

    def _windows(self, question: str, context: str) -> list[Window]:
        head, between, tail = self._template.ids
        kinds = self._template.types
        question_ids = self._encode([question])[0].ids
        start = [*head, *question_ids, *between]
        types = [kinds[0]] * len(head) + [kinds[1]] * len(question_ids) + [kinds[2]] * len(between)
        (encoding,) = self._encode([context])
        room = self._settings.max_length - len(start) - len(tail)
        if len(encoding.ids) > room < OVERLAP:
            raise ModelError(f"{self.name}: the question leaves no room for the context")
        windows = []
        for a, b in spans(encoding, room):
            row = [*start, *encoding.ids[a:b], *tail]
            row_types = [*types, *[kinds[3]] * (b - a), *[kinds[4]] * len(tail)]
            place = slice(len(start), len(start) + b - a)
            windows.append(Window(len(row), _Content(row, row_types, place, encoding.offsets[a:b])))
        return windows


def _best(content: _Content, starts: NDArray[np.float64], ends: NDArray[np.float64]) -> _Span:
    none = float(starts[0] + ends[0])
    begin, finish = starts[content.context], ends[content.context]
    if not len(begin):
        return _Span(0, 0, none, none)
    # for each start the greatest end logit from there on, and the first token that has it
    reach = np.maximum.accumulate(finish[::-1])[::-1]
    first = int((begin + reach).argmax())
    last = first + int(finish[first:].argmax())
    score = float(begin[first] + finish[last])
    return _Span(content.offsets[first][0], content.offsets[last][1], score, none)
