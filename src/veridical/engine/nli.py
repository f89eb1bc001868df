"""NLI request queue: judges each distinct pair once, and stores by premise.

In the store, a pair is an entry under 12 bytes of its premise and 8 of its hypothesis. It is
written as soon as its batch is complete. When a request is complete, the single entries of a
premise become one matrix. A warm run then reads a text's verdicts in one piece.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import LABELS, NliModel, Pair, Window
from veridical.core.verdicts import Verdicts
from veridical.engine.batching import IdleSignal
from veridical.engine.service import Requests, Service
from veridical.errors import ModelError
from veridical.files.store import Store, content_key
from veridical.text.words import lettered_spans

_PREMISE = 12  # bytes of a key
_MATRIX = bytes(8)  # instead of a hypothesis: key of the premise's matrix
_ITSELF = np.array([1, 0, 0], np.float32)
_ROUNDED = 6  # decimals, before any comparison with a threshold
_MOST = 1 + 1e-3  # maximum value accepted as a probability


class _Pairs(Requests):
    """Pairs as requests to one :class:`NliModel`. Answers are (3,) probabilities, followed by the
    risks of the hypothesis's words if the model reports them."""

    def __init__(self, model: NliModel) -> None:
        super().__init__(model)
        self.tells_words = getattr(model, "tells_words", False)

    def premise(self, text: str) -> bytes:
        """Return the common prefix of the keys of all pairs with this premise."""
        return content_key("nli", self.model.revision, text)[:_PREMISE]

    def key(self, request: Pair) -> bytes:
        return self.premise(request.premise) + content_key(request.hypothesis)[: len(_MATRIX)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        value: NDArray[np.float32] = self.model.assemble(windows, outputs)
        row = value[: len(LABELS)]
        fits = value.ndim == 1 and len(row) == len(LABELS)
        fits = fits and (self.tells_words or len(value) == len(row))
        fits = fits and bool(np.isfinite(value).all() and 0 <= value.min() <= value.max() <= _MOST)
        if (
            not fits
            or not np.isfinite(value).all()
            or value.min() < 0
            or value.max() > _MOST
            or abs(float(row.sum()) - 1) > 1e-3
        ):
            raise ModelError(f"{self.model.name} returned {value!r} instead of probabilities")
        return value


class NliService(Service):
    """All requests to one NLI model."""

    def __init__(self, model: NliModel, idle_signal: IdleSignal, store: Store | None) -> None:
        self._pairs = _Pairs(model)
        super().__init__(model, idle_signal, store, requests=self._pairs, lookup=_stored)
        self._joining = threading.Lock()

    @property
    def tells_words(self) -> bool:
        """True if :meth:`words` is available."""
        return self._pairs.tells_words

    async def judge(self, pairs: Sequence[tuple[str, str]], keep: list[Any]) -> Verdicts:
        """Return verdicts on ``pairs``. ``keep`` holds references to shared values.

        Raises:
            ModelError: the model failed on a pair.
        """
        rows = [row[: len(LABELS)] for row in await self._rows(pairs, keep)]
        table = np.array(rows, np.float64).reshape(len(pairs), len(LABELS))
        return Verdicts(table.round(_ROUNDED), self.backend.contradicts)

    async def words(
        self, pairs: Sequence[tuple[str, str]], keep: list[Any]
    ) -> list[NDArray[np.float64]]:
        """Return, for each pair, the risks of the hypothesis's words, from the forward that judges
        it. Raises the errors of :meth:`judge`."""
        rows = await self._rows(pairs, keep)
        return [
            row[len(LABELS) :].astype(np.float64).round(_ROUNDED)
            if p != h
            else np.zeros(len(lettered_spans(h)))
            for (p, h), row in zip(pairs, rows, strict=True)
        ]

    async def _rows(
        self, pairs: Sequence[tuple[str, str]], keep: list[Any]
    ) -> list[NDArray[np.float32]]:
        premises = {p: self._pairs.premise(p) for p in dict.fromkeys(p for p, _ in pairs)}
        suffixes = {h: content_key(h)[: len(_MATRIX)] for h in dict.fromkeys(h for _, h in pairs)}
        keys = [premises[p] + suffixes[h] for p, h in pairs]
        requests = {k: Pair(*p) for k, p in zip(keys, pairs, strict=True)}
        known = {k: _ITSELF for k, p in requests.items() if p.premise == p.hypothesis}
        missing = [k for k in requests if k not in known]
        before = self.work.windows
        values = await self.ask([requests[k] for k in missing], keep)
        known.update(zip(missing, values, strict=True))
        if self._store is not None and self.work.windows > before:  # there may be single entries
            prefixes = dict.fromkeys(k[:_PREMISE] for k in missing)
            await asyncio.to_thread(self._join, self._store, prefixes)
        return [known[k] for k in keys]

    def _join(self, store: Store, prefixes: Iterable[bytes]) -> None:
        """Convert the single entries of each premise to rows of its matrix.

        It is (pairs, 5 or more) float32: the 8 bytes of the hypothesis in the first two columns,
        and NaN after the last word.
        """
        with self._joining:  # two requests may share a premise
            for prefix, entries in store.beginning_with(prefixes).items():
                loose = [k for k in entries if not k.endswith(_MATRIX)]
                if not loose or len(entries) == 1:
                    continue
                rows = dict(_rows(entries))
                names = b"".join(k[_PREMISE:] for k in rows)
                width = max(map(len, rows.values()))
                matrix = np.full((len(rows), 2 + width), np.nan, np.float32)
                matrix[:, :2] = np.frombuffer(names, np.float32).reshape(-1, 2)
                for row, value in zip(matrix, rows.values(), strict=True):
                    row[2 : 2 + len(value)] = value
                store.replace(loose, prefix + _MATRIX, matrix)


def _stored(store: Store, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    """Return the stored values of ``keys``, from single entries or a matrix."""
    distinct = set(keys)
    stored: dict[bytes, NDArray[np.float32]] = {}
    for entries in store.beginning_with(dict.fromkeys(k[:_PREMISE] for k in distinct)).values():
        stored.update((k, v) for k, v in _rows(entries) if k in distinct)
    return stored


def _rows(
    entries: dict[bytes, NDArray[np.float32]],
) -> Iterable[tuple[bytes, NDArray[np.float32]]]:
    """Yield key and answer of every pair in ``entries``, which share a premise."""
    for key, value in entries.items():
        if not key.endswith(_MATRIX):
            yield key, value
        else:
            prefix = key[:_PREMISE]
            names = np.ascontiguousarray(value[:, :2]).tobytes()
            lengths = (~np.isnan(value[:, 2:])).sum(axis=1).tolist()
            for i, (row, length) in enumerate(zip(value[:, 2:], lengths, strict=True)):
                yield prefix + names[8 * i : 8 * i + 8], row[:length]
