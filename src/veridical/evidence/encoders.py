"""Encoders behind the coalescer: sentence vectors, token matrices, and BERTScore tables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.errors import ModelError
from veridical.evidence.batching import Coalescer, Gate, Work, get_many
from veridical.evidence.greedy_matching import greedy_match, idf_weights
from veridical.evidence.store import content_key
from veridical.models.protocols import Encoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from veridical.evidence.store import Store
    from veridical.models.protocols import Encoder, Window


class EncoderModel:
    """An :class:`Encoder` as the coalescer wants it. ``tokens`` keeps the token matrices."""

    def __init__(self, encoder: Encoder, tokens: bool) -> None:
        self.encoder = encoder
        self.tokens = tokens
        self.budget = encoder.batch_tokens
        self.workers = encoder.workers

    def key(self, request: str) -> bytes:
        return content_key("embed", self.encoder.revision, request)

    def windows(self, requests: Sequence[str]) -> list[list[Window]]:
        return self.encoder.windows(requests)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return self.encoder.run(batch, self.tokens)

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Encoded:
        value = self.encoder.assemble(windows, outputs, self.tokens)
        if not np.isfinite(value.vector).all():
            raise ModelError(f"{self.encoder.name} gave a vector that is not finite")
        return value

    def load(self, stored: NDArray[np.float32]) -> Encoded:
        return Encoded(vector=stored)

    def dump(self, value: Encoded) -> NDArray[np.float32]:
        return value.vector


class EncoderService:
    """All requests to one encoder.

    A run that needs token matrices anywhere asks every text for both, so that no text is sent
    through the model twice; its sentence vectors are still looked up in the store first.
    """

    def __init__(self, encoder: Encoder, gate: Gate, store: Store | None, tokens: bool) -> None:
        if tokens and not encoder.has_tokens:
            raise ModelError(
                f"{encoder.name} gives no token vectors; name a local model for the BERTScore "
                "family with --token-encoder, or leave those scorers out"
            )
        self.backend = encoder
        self._tokens = tokens
        self._store = store
        self._model = EncoderModel(encoder, tokens)
        self._queue: Coalescer[str, Encoded] = Coalescer(
            self._model, gate, store, lookup=None if tokens else get_many
        )

    @property
    def work(self) -> Work:
        return self._queue.work

    async def embed(self, texts: Sequence[str], keep: list[Any]) -> NDArray[np.float32]:
        """(n, d) sentence vectors. ``keep`` holds on to what others may ask for again."""
        found: dict[str, NDArray[np.float32]] = {}
        distinct = list(dict.fromkeys(texts))
        if self._tokens and self._store is not None:
            keys = {self._model.key(t): t for t in distinct}
            stored = await asyncio.to_thread(self._store.get_many, list(keys))
            found = {keys[k]: v for k, v in stored.items()}
            self.work.stored += len(found)
        missing = [t for t in distinct if t not in found]
        encoded = await self._queue.ask(missing)
        keep.extend(encoded)
        found.update(zip(missing, (e.vector for e in encoded), strict=True))
        return np.stack([found[t] for t in texts]) if texts else np.zeros((0, 0), np.float32)

    async def bertscore(
        self,
        candidates: Sequence[str],
        references: Sequence[str],
        idf: Mapping[int, float] | bool | None,
        keep: list[Any],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Precision and recall of every pair. The table is stored, the token matrices never."""
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
        distinct = list(dict.fromkeys([*candidates, *references]))
        encoded = dict(zip(distinct, await self._queue.ask(distinct), strict=True))
        keep.extend(encoded.values())
        refs = [encoded[t] for t in references]
        if idf is True:
            idf = idf_weights(refs)
        precision, recall = await asyncio.to_thread(
            greedy_match, [encoded[t] for t in candidates], refs, idf or None
        )
        # what is stored is float32: use the same numbers whether the store is warm or cold
        table32 = np.stack([precision, recall]).astype(np.float32)
        if not np.isfinite(table32).all():
            raise ModelError(f"{self.backend.name} gave token vectors that are not finite")
        if self._store is not None and self.backend.revision:
            await asyncio.to_thread(self._store.put_many, [(key, table32)])
        return table32[0].astype(np.float64), table32[1].astype(np.float64)

    def close(self) -> None:
        self._queue.close()
