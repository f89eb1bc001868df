"""Evidence for the tests of the embedding scorers: hand-made numbers, or the real model."""

from __future__ import annotations

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import BoundScorer
from veridical.core.scores import Score
from veridical.engine.greedy_matching import greedy_match, idf_weights


class FixedEvidence(Evidence):
    """Answers from tables: ``vectors`` by text; ``pairs`` (P, R) by (candidate, reference)."""

    def __init__(self, record: Record, vectors=None, pairs=None) -> None:
        super().__init__(record)
        self.vectors = vectors or {}
        self.pairs = pairs or {}
        self.asked: list[tuple] = []

    async def embed(self, texts):
        self.asked.append(tuple(texts))
        vectors = np.array([self.vectors[t] for t in texts], np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    async def bertscore(self, candidates, references, idf=None):
        self.asked.append((tuple(candidates), tuple(references), idf))
        values = np.array(
            [[self.pairs.get((c, r), (0, 0)) for r in references] for c in candidates]
        )
        values = values.reshape(len(candidates), len(references), 2).astype(float)
        return values[..., 0], values[..., 1]

    async def _score(self, bound: BoundScorer) -> Score:
        raise AssertionError("an embedding scorer asked for another score")


class ModelEvidence(Evidence):
    """The embedded model, one text a batch."""

    def __init__(self, record: Record, encoder) -> None:
        super().__init__(record)
        self.encoder = encoder

    def _encode(self, texts, tokens):
        found = []
        for windows in self.encoder.windows(list(texts)):
            outputs = self.encoder.run(windows, tokens)
            found.append(self.encoder.assemble(windows, outputs, tokens))
        return found

    async def embed(self, texts):
        return np.array([e.vector for e in self._encode(texts, False)])

    async def bertscore(self, candidates, references, idf=None):
        references = self._encode(references, True)
        weights = idf_weights(references) if idf else None
        return greedy_match(self._encode(candidates, True), references, weights)

    async def _score(self, bound: BoundScorer) -> Score:
        raise AssertionError("an embedding scorer asked for another score")
