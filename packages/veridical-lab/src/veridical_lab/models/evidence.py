"""Evidence from named checkpoints: likelihoods, texts, answers, ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.protocols import Pair
from veridical_lab.models.requests import (
    Answer,
    Choice,
    Likelihood,
    Question,
    Reading,
    Source,
    Writing,
    as_source,
    unpack_answer,
    unpack_likelihood,
    unpack_texts,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CheckpointEvidence(Evidence):
    """Evidence from models that a scorer names by its own parameters.

    ``evidence`` has these methods wherever this package is installed. Such a scorer has the cost of
    those kinds of models, and its ``checkpoints`` map parameters to kinds. Request all items of a
    round in one call. Duplicate requests, here or of other scorers, are computed once.
    """

    async def likelihood(
        self,
        requests: Sequence[tuple[Source, Sequence[str]]],
        model: str,
        *,
        longest: int | None = None,
        language: str | None = None,
    ) -> list[Likelihood]:
        """Return log-probabilities of the tokens of the targets of each (source, targets).

        The source is encoded once for all its targets. If it is longer than the model's limit, or
        than ``longest`` tokens, its last text is read in overlapping windows. All windows are
        returned; the scorer chooses among them. A target too long for the model is read in
        consecutive pieces.

        Args:
            model: an encoder-decoder: hub id or folder.
            language: of source and target, as a multilingual model's tokenizer names it.

        Raises:
            ModelError: the model failed on a request, leaves no room for its last text, or does not
                support the language.
        """
        readings = [Reading(as_source(s), tuple(t), longest, language) for s, t in requests]
        return [unpack_likelihood(a) for a in await self.ask("seq2seq", readings, model)]

    async def write(
        self,
        sources: Sequence[Source],
        model: str,
        *,
        max_tokens: int,
        beams: int = 1,
        returned: int = 1,
        no_repeat: int = 0,
        seed: int | None = None,
    ) -> list[list[str]]:
        """Generate texts with the encoder-decoder ``model`` from each source, the most likely
        first.

        Special tokens other than padding, start and end are kept as text. Equal sources are
        computed once; with a ``seed``, each occurrence in this call is a separate sample.

        Args:
            max_tokens: of each text, the end token included.
            beams: width of the beam search; 1 is greedy.
            returned: texts per source, at most the number of beams.
            no_repeat: length of n-grams that may not repeat in a text; 0: no limit.
            seed: of random sampling at temperature 1 instead of a search.

        Raises:
            ModelError: a source is longer than the model's limit, or the model failed on one.
        """
        turns: Counter[tuple[str, ...]] = Counter()
        writings = []
        for source in map(as_source, sources):
            draw = None if seed is None else (seed, turns[source])
            turns[source] += 1
            writings.append(Writing(source, max_tokens, beams, returned, no_repeat, draw))
        return [unpack_texts(a) for a in await self.ask("seq2seq", writings, model)]

    async def answer(self, questions: Sequence[tuple[str, str]], model: str) -> list[Answer | None]:
        """Return the span of the context that answers each (question, context), or None.

        Uses the extractive reader ``model``.

        Raises:
            ModelError: a question leaves no room for its context, or the model failed on one.
        """
        packed = await self.ask("reader", [Question(*q) for q in questions], model)
        return [unpack_answer(p, c) for p, (_, c) in zip(packed, questions, strict=True)]

    async def choose(
        self, questions: Sequence[tuple[str, str, Sequence[str]]], model: str
    ) -> list[NDArray[np.float64]]:
        """Return probabilities of the options of each (question, context, options).

        Uses the multiple-choice reader ``model``. Raises as :meth:`answer` does.
        """
        choices = [Choice(q, c, tuple(options)) for q, c, options in questions]
        return [a.astype(np.float64) for a in await self.ask("choice", choices, model)]

    async def answerable(
        self, questions: Sequence[tuple[str, str]], model: str
    ) -> NDArray[np.float64]:
        """Return the probability (n,) that each context answers its question, by ``model``.

        Raises as :meth:`answer` does.
        """
        packed = await self.ask("answerability", [Question(*q) for q in questions], model)
        return np.array([p[0] for p in packed], np.float64)

    async def rate(self, pairs: Sequence[tuple[str, str]], model: str) -> NDArray[np.float64]:
        """Return the unbounded score (n,) of each pair of texts by the regressor ``model``.

        Raises:
            ModelError: the model failed on a pair.
        """
        packed = await self.ask("regressor", [Pair(*p) for p in pairs], model)
        return np.array([p[0] for p in packed], np.float64)
