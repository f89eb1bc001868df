"""MQAG by the published checkpoints: two T5 that write, two Longformers that read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from veridical.models.seq2seq import (
    load_answerability,
    load_multiple_choice,
    load_seq2seq,
    shared,
)
from veridical.scorers.judges.mqag import Question

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.llm.messages import LlmError

M = TypeVar("M", bound="_Named")
T = TypeVar("T")
R = TypeVar("R")

_TOKENS = 128  # of a question with its answer, and of the distractors
_SEPARATOR = "<sep>"
_SENTINEL = re.compile(r"<extra_id_[0-9]+>")
_MARK = re.compile(r"<(?=/?\w+>)")  # opens what a tokenizer could take for a special token
_PIECE = 64  # requests between two moments at which a cancelled run can stop
#: These models would only contend for the machine, so one thread runs them all.
_THREAD = ThreadPoolExecutor(1, thread_name_prefix="veridical-mqag")


class _Named(Protocol):
    name: str
    revision: str


class Checkpoints:
    """A :class:`~veridical.scorers.judges.mqag.QuestionSystem` of four models, each loaded when
    it is first needed and shared by the whole process.

    Args:
        writer: sentence -> ``question <sep> answer`` (G1).
        distractor: ``question <sep> answer <sep> passage`` -> the other options (G2).
        reader: chooses among the options (A).
        judge: tells whether a passage answers a question (U).
        seed: of the draws of G1 and G2.
    """

    def __init__(self, writer: str, distractor: str, reader: str, judge: str, seed: int) -> None:
        self._writer = writer
        self._distractor = distractor
        self._reader = reader
        self._judge = judge
        self._seed = seed
        self.parts: list[str] = []
        self.troubles: list[LlmError] = []

    async def questions(
        self, passage: str, sentences: Sequence[str], count: int
    ) -> list[list[Question]]:
        """One draw of G1 and then of G2 a question; draws that are not a question with its answer
        are left out, as the published code does."""
        drawn = [_plain(s) for s in sentences for _ in range(count)]
        written = await self._write(self._writer, drawn)
        found: list[list[Question]] = [[] for _ in sentences]
        begun: list[tuple[int, str, str]] = []  # of which sentence, question, answer
        for i, text in enumerate(written):
            parts = [part.strip() for part in text.split(_SEPARATOR)]
            if len(parts) == 2 and all(parts):
                begun.append((i // count, parts[0], parts[1]))
        context = _plain(passage)
        sources = [f"{q} {_SEPARATOR} {a} {_SEPARATOR} {context}" for _, q, a in begun]
        others = await self._write(self._distractor, sources)
        for (i, question, answer), text in zip(begun, others, strict=True):
            wrong = _SENTINEL.sub(_SEPARATOR, text).split(_SEPARATOR)
            made = Question.of(question, [answer, *wrong])
            if made is not None:
                found[i].append(made)
        return found

    async def choose(self, asked: Sequence[tuple[str, Question]]) -> list[NDArray[np.float64]]:
        """See :meth:`QuestionSystem.choose`."""
        rows = [(passage, q.text, q.options) for passage, q in asked]
        model = await self._model(load_multiple_choice, self._reader)
        return await _distinct(rows, model.choose)

    async def answerable(self, asked: Sequence[tuple[str, Question]]) -> list[float]:
        """See :meth:`QuestionSystem.answerable`."""
        rows = [(passage, q.text) for passage, q in asked]
        model = await self._model(load_answerability, self._judge)
        return await _distinct(rows, model.answerable)

    async def _write(self, name: str, sources: Sequence[str]) -> list[str]:
        model = await self._model(load_seq2seq, name)
        # All at once: which draw of a source this is shows from the others beside it.
        return await _work(
            partial(model.generate, sources, max_tokens=_TOKENS, sample=True, seed=self._seed)
        )

    async def _model(self, load: Callable[[str], M], name: str) -> M:
        model = await _work(lambda: shared(load, name))
        part = f"{model.name}@{model.revision}"
        if part not in self.parts:
            self.parts.append(part)
        return model


def _plain(text: str) -> str:
    """``text`` without what would be read as a special token."""
    return _MARK.sub("< ", text)


async def _work(call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(_THREAD, call)


async def _distinct(rows: Sequence[T], call: Callable[[list[T]], list[R]]) -> list[R]:
    """``call`` on the distinct rows, piece by piece; the results in the order of ``rows``."""
    distinct = list(dict.fromkeys(rows))
    found: dict[T, R] = {}
    for start in range(0, len(distinct), _PIECE):
        piece = distinct[start : start + _PIECE]
        found.update(zip(piece, await _work(partial(call, piece)), strict=True))
    return [found[row] for row in rows]
