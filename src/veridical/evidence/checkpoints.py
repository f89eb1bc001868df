"""Checkpoints that scorers name, behind the coalescer: what is asked of them, and their queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import ModelError, UsageError
from veridical.evidence.batching import Coalescer, Gate, Work, get_many
from veridical.evidence.store import content_key
from veridical.models.protocols import Pair
from veridical.models.seq2seq.requests import (
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

    from veridical.evidence.store import Store
    from veridical.models.protocols import Checkpoint, Window


class CheckpointEvidence:
    """What a scorer asks of models that it names by its own parameters.

    Such a scorer has the cost ``seq2seq`` and says in its ``checkpoints`` which parameter names
    which kind of model. Ask for all of a round in one call. Requests that occur twice, here or in
    another scorer's, are computed once.
    """

    async def _ask(self, kind: str, model: str, requests: Sequence[Any]) -> list[NDArray[Any]]:
        """Packed answers to ``requests``, in order, by the model of a ``kind``."""
        raise UsageError("a scorer asked for a checkpoint, which its declared cost does not cover")

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
        asked = [Reading(as_source(s), tuple(t), longest, language) for s, t in requests]
        return [unpack_likelihood(a) for a in await self._ask("seq2seq", model, asked)]

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
        asked = []
        for source in map(as_source, sources):
            draw = None if seed is None else (seed, turns[source])
            turns[source] += 1
            asked.append(Writing(source, max_tokens, beams, returned, no_repeat, draw))
        return [unpack_texts(a) for a in await self._ask("seq2seq", model, asked)]

    async def answer(self, questions: Sequence[tuple[str, str]], model: str) -> list[Answer | None]:
        """The span of the context that answers each (question, context), by the extractive reader
        ``model``; None where it finds no answer.

        Raises:
            ModelError: a question leaves no room for its context, or the model failed on one.
        """
        asked = [Question(*q) for q in questions]
        found = await self._ask("reader", model, asked)
        return [unpack_answer(a, q.context) for a, q in zip(found, asked, strict=True)]

    async def choose(
        self, questions: Sequence[tuple[str, str, Sequence[str]]], model: str
    ) -> list[NDArray[np.float64]]:
        """Probabilities of the options of each (question, context, options), by the
        multiple-choice reader ``model``. Raises as :meth:`answer` does."""
        asked = [Choice(q, c, tuple(options)) for q, c, options in questions]
        return [a.astype(np.float64) for a in await self._ask("choice", model, asked)]

    async def answerable(
        self, questions: Sequence[tuple[str, str]], model: str
    ) -> NDArray[np.float64]:
        """(n,) probability that the context of each (question, context) answers the question, by
        ``model``. Raises as :meth:`answer` does."""
        found = await self._ask("answerability", model, [Question(*q) for q in questions])
        return np.array([a[0] for a in found], np.float64)

    async def rate(self, pairs: Sequence[tuple[str, str]], model: str) -> NDArray[np.float64]:
        """(n,) number that the regressor ``model`` gives each pair of texts, unbounded.

        Raises:
            ModelError: the model failed on one of them.
        """
        found = await self._ask("regressor", model, [Pair(*p) for p in pairs])
        return np.array([a[0] for a in found], np.float64)


class _Packed:
    """A :class:`Checkpoint` as the coalescer wants it."""

    def __init__(self, model: Checkpoint) -> None:
        self.model = model
        self.budget = model.batch_tokens
        self.workers = model.workers

    def key(self, request: Any) -> bytes:
        return content_key("checkpoint", self.model.revision, repr(request))

    def windows(self, requests: Sequence[Any]) -> list[list[Window]]:
        return self.model.windows(requests)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return self.model.run(batch)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        value = self.model.assemble(windows, outputs)
        if not np.isfinite(value).all():
            raise ModelError(f"{self.model.name} gave a number that is not finite")
        return value

    def load(self, stored: NDArray[np.float32]) -> NDArray[np.float32]:
        return stored

    def dump(self, value: NDArray[np.float32]) -> NDArray[np.float32]:
        return value


class CheckpointService:
    """All requests to one checkpoint."""

    def __init__(self, model: Checkpoint, gate: Gate, store: Store | None) -> None:
        self.backend = model
        self._queue: Coalescer[Any, NDArray[np.float32]] = Coalescer(
            _Packed(model), gate, store, lookup=get_many
        )

    @property
    def work(self) -> Work:
        return self._queue.work

    async def ask(self, requests: Sequence[Any], keep: list[Any]) -> list[NDArray[np.float32]]:
        """Packed answers, in order. ``keep`` holds on to what others may ask for again.

        Raises:
            ModelError: the model failed on one of them.
        """
        values = await self._queue.ask(requests)
        keep.extend(values)
        return values

    def close(self) -> None:
        self._queue.close()
