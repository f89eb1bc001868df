"""What a scorer asks of checkpoints that it names: likelihoods, texts, answers, ratings."""

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
    """What a scorer asks of models that it names by its own parameters.

    ``evidence`` has these methods wherever this package is installed. Such a scorer has the cost of
    those kinds of models and says in its ``checkpoints`` which parameter names which kind. Ask for
    all of a round in one call. Requests that occur twice, here or in another scorer's, are computed
    once.
    """

    async def likelihood(
        self,
        requests: Sequence[tuple[Source, Sequence[str]]],
        model: str,
        *,
        longest: int | None = None,
        language: str | None = None,
    ) -> list[Likelihood]:
        """Log-probabilities of the tokens of the targets of each (source, targets).

        The source is encoded once for all its targets. If it is longer than the model takes, or
        than ``longest`` tokens, its last text is read in overlapping windows, and the answer has
        them all: which counts is the scorer's to say. A target too long for the model is read in
        consecutive pieces.

        Args:
            model: an encoder-decoder: hub id or folder.
            language: of source and target, as a multilingual model's tokenizer names it.

        Raises:
            ModelError: the model failed on one of them, leaves no room for its last text, or does
                not know the language.
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
        """Texts that the encoder-decoder ``model`` writes from each source, the likeliest first.

        Special tokens other than padding, start and end are kept as text. Equal sources are
        written from once; with a ``seed``, each occurrence in this call is a draw of its own.

        Args:
            max_tokens: of each text, the end token included.
            beams: width of the beam search; 1 is greedy.
            returned: texts a source, at most as many as beams.
            no_repeat: no run of so many tokens occurs twice in a text; 0: any may.
            seed: of random draws at temperature 1 in place of a search.

        Raises:
            ModelError: a source is longer than the model takes, or the model failed on one.
        """
        turns: Counter[tuple[str, ...]] = Counter()
        writings = []
        for source in map(as_source, sources):
            draw = None if seed is None else (seed, turns[source])
            turns[source] += 1
            writings.append(Writing(source, max_tokens, beams, returned, no_repeat, draw))
        return [unpack_texts(a) for a in await self.ask("seq2seq", writings, model)]

    async def answer(self, questions: Sequence[tuple[str, str]], model: str) -> list[Answer | None]:
        """The span of the context that answers each (question, context), by the extractive reader
        ``model``; None where it finds no answer.

        Raises:
            ModelError: a question leaves no room for its context, or the model failed on one.
        """
        packed = await self.ask("reader", [Question(*q) for q in questions], model)
        return [unpack_answer(p, c) for p, (_, c) in zip(packed, questions, strict=True)]

    async def choose(
        self, questions: Sequence[tuple[str, str, Sequence[str]]], model: str
    ) -> list[NDArray[np.float64]]:
        """Probabilities of the options of each (question, context, options), by the
        multiple-choice reader ``model``. Raises as :meth:`answer` does."""
        choices = [Choice(q, c, tuple(options)) for q, c, options in questions]
        return [a.astype(np.float64) for a in await self.ask("choice", choices, model)]

    async def answerable(
        self, questions: Sequence[tuple[str, str]], model: str
    ) -> NDArray[np.float64]:
        """(n,) probability that the context of each (question, context) answers the question, by
        ``model``. Raises as :meth:`answer` does."""
        packed = await self.ask("answerability", [Question(*q) for q in questions], model)
        return np.array([p[0] for p in packed], np.float64)

    async def rate(self, pairs: Sequence[tuple[str, str]], model: str) -> NDArray[np.float64]:
        """(n,) number that the regressor ``model`` gives each pair of texts, unbounded.

        Raises:
            ModelError: the model failed on one of them.
        """
        packed = await self.ask("regressor", [Pair(*p) for p in pairs], model)
        return np.array([p[0] for p in packed], np.float64)
