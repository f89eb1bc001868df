"""Encoder queues: sentence vectors, token matrices and BERTScore tables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Encoded, Encoder, TokenVectors, Window
from veridical.engine.batching import IdleSignal, get_many
from veridical.engine.service import Requests, Service
from veridical.errors import ModelError
from veridical.files.store import Store, content_key


class _Texts(Requests):
    """Texts as requests to one :class:`Encoder`. ``tokens`` keeps the token matrices."""

    def __init__(self, encoder: Encoder, tokens: bool) -> None:
        super().__init__(encoder)
        self.tokens = tokens

    def key(self, request: str) -> bytes:
        return content_key("embed", self.model.revision, request)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        outputs: list[Any] = self.model.run(batch, self.tokens)
        return outputs

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Encoded:
        value: Encoded = self.model.assemble(windows, outputs, self.tokens)
        if not np.isfinite(value.vector).all():
            raise ModelError(f"{self.model.name} returned a vector that is not finite")
        return value

    def load(self, stored: NDArray[np.float32]) -> Encoded:
        return Encoded(vector=stored)

    def dump(self, value: Encoded) -> NDArray[np.float32]:
        return value.vector


class EncoderService(Service):
    """All requests to one encoder.

    If a run needs any token matrices, both outputs are requested for every text, so that no text
    passes through the model twice. Sentence vectors are still looked up in the store first.
    """

    def __init__(
        self, encoder: Encoder, idle_signal: IdleSignal, store: Store | None, tokens: bool = False
    ) -> None:
        if tokens and not encoder.has_tokens:
            raise ModelError(
                f"{encoder.name} has no token vectors; name a local model for the BERTScore "
                "family with --token-encoder, or leave those scorers out"
            )
        self._tokens = tokens
        self._model = _Texts(encoder, tokens)
        lookup = None if tokens else get_many
        super().__init__(encoder, idle_signal, store, requests=self._model, lookup=lookup)

    async def embed(self, texts: Sequence[str], keep: list[Any]) -> NDArray[np.float32]:
        """Return (n, d) sentence vectors. ``keep`` holds references to shared values."""
        vectors: dict[str, NDArray[np.float32]] = {}
        distinct = list(dict.fromkeys(texts))
        if self._tokens and self._store is not None:
            keys = {self._model.key(t): t for t in distinct}
            stored = await asyncio.to_thread(self._store.get_many, list(keys))
            vectors = {keys[k]: v for k, v in stored.items()}
            self.work.stored += len(vectors)
        missing = [t for t in distinct if t not in vectors]
        encoded = await self.ask(missing, keep)
        vectors.update(zip(missing, (e.vector for e in encoded), strict=True))
        return np.stack([vectors[t] for t in texts]) if texts else np.zeros((0, 0), np.float32)

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None,
        keep: list[Any],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return precision and recall of every pair. Store the table, but not the token
        matrices."""
        weights = "" if not idf else "idf" if idf is True else repr(sorted(idf.items()))
        key = content_key(
            *("bertscore", self.backend.revision, weights, str(len(candidates))),
            *candidates,
            *references,
        )
        if self._store is not None:
            stored = await asyncio.to_thread(self._store.get_many, [key])
            if key in stored:
                table = stored[key].astype(np.float64)
                self.work.stored += 1
                return table[0], table[1]
        from veridical.engine.greedy_matching import greedy_match, idf_weights

        distinct = list(dict.fromkeys([*candidates, *references]))
        encoded = dict(zip(distinct, await self.ask(distinct, keep), strict=True))
        refs = [encoded[t] for t in references]
        if idf is True:
            idf = idf_weights(refs)
        precision, recall = await asyncio.to_thread(
            greedy_match, [encoded[t] for t in candidates], refs, idf or None
        )
        # stored values are float32: use the same numbers with a warm or cold store
        table32 = np.stack([precision, recall]).astype(np.float32)
        if not np.isfinite(table32).all():
            raise ModelError(f"{self.backend.name} returned token vectors that are not finite")
        if self._store is not None and self.backend.revision:
            await asyncio.to_thread(self._store.put_many, [(key, table32)])
        return table32[0].astype(np.float64), table32[1].astype(np.float64)

    async def token_vectors(self, texts: Sequence[str], keep: list[Any]) -> list[TokenVectors]:
        """Return the tokens of each text with their offsets, without special tokens. Never
        stored."""
        distinct = list(dict.fromkeys(texts))
        encoded, offsets = await asyncio.gather(
            self.ask(distinct, keep), asyncio.to_thread(self.backend.offsets, distinct)
        )
        found = {}
        for text, one, places in zip(distinct, encoded, offsets, strict=True):
            vectors = one.tokens[one.content]
            if len(vectors) != len(places):
                raise ModelError(
                    f"{self.backend.name} gave {len(vectors)} vectors for {len(places)} tokens"
                )
            if not np.isfinite(vectors).all():
                raise ModelError(f"{self.backend.name} returned token vectors that are not finite")
            found[text] = TokenVectors(places, vectors)
        return [found[text] for text in texts]


def token_service(encoder: Encoder, idle_signal: IdleSignal, store: Store | None) -> EncoderService:
    """Make the queue of an encoder that also returns token matrices."""
    return EncoderService(encoder, idle_signal, store, tokens=True)
