"""MQAG by the published checkpoints: two T5 writers, two Longformer readers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical.core.messages import LlmError
from veridical.scorers.judges._mqag import Question
from veridical_lab.models.evidence import CheckpointEvidence as Evidence

_TOKENS = 128  # maximum tokens of a question with its answer, and of the distractors
_SEPARATOR = "<sep>"
_SENTINEL = re.compile(r"<extra_id_[0-9]+>")


class Checkpoints:
    """:class:`~veridical.scorers.judges._mqag.QuestionSystem` of four models.

    Args:
        evidence: calls them.
        writer: sentence -> ``question <sep> answer`` (G1).
        distractor: ``question <sep> answer <sep> passage`` -> the other options (G2).
        reader: chooses among the options (A).
        judge: estimates if a passage answers a question (U).
        seed: of the samples of G1 and G2.
    """

    def __init__(
        self,
        evidence: Evidence,
        writer: str,
        distractor: str,
        reader: str,
        judge: str,
        seed: int,
    ) -> None:
        self._evidence = evidence
        self._writer = writer
        self._distractor = distractor
        self._reader = reader
        self._judge = judge
        self._seed = seed
        self.parts = [writer, distractor, reader, judge]
        self.troubles: list[LlmError] = []

    async def questions(
        self, passage: str, sentences: Sequence[str], count: int
    ) -> list[list[Question]]:
        """Draw one sample of G1 and then of G2 per question.

        Samples that are not a question with its answer are left out, as in the published code.
        """
        sources = [("", s) for s in sentences for _ in range(count)]
        written = await self._write(self._writer, sources)
        by_sentence: list[list[Question]] = [[] for _ in sentences]
        begun: list[tuple[int, str, str]] = []  # sentence, question, answer
        for i, text in enumerate(written):
            parts = [part.strip() for part in text.split(_SEPARATOR)]
            if len(parts) == 2 and all(parts):
                begun.append((i // count, parts[0], parts[1]))
        mark = f" {_SEPARATOR} "
        others = await self._write(
            self._distractor, [("", q, mark, a, mark, passage) for _, q, a in begun]
        )
        for (i, question, answer), text in zip(begun, others, strict=True):
            wrong = _SENTINEL.sub(_SEPARATOR, text).split(_SEPARATOR)
            valid = Question.of(question, [answer, *wrong])
            if valid is not None:
                by_sentence[i].append(valid)
        return by_sentence

    async def choose(self, questions: Sequence[tuple[str, Question]]) -> list[NDArray[np.float64]]:
        """See :meth:`QuestionSystem.choose`."""
        rows = [(q.text, passage, q.options) for passage, q in questions]
        return await self._evidence.choose(rows, self._reader)

    async def answerable(self, questions: Sequence[tuple[str, Question]]) -> list[float]:
        """See :meth:`QuestionSystem.answerable`."""
        rows = [(q.text, passage) for passage, q in questions]
        probabilities: list[float] = (await self._evidence.answerable(rows, self._judge)).tolist()
        return probabilities

    async def _write(self, model: str, sources: Sequence[tuple[str, ...]]) -> list[str]:
        # In one call: the position among equal sources determines the sample.
        texts = await self._evidence.write(sources, model, max_tokens=_TOKENS, seed=self._seed)
        return [text for (text,) in texts]
