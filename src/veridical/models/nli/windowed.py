"""What the back ends of published checkpoints share: windows, forwards, identity."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models import windows
from veridical.models.folder import add_files
from veridical.models.nli import chunks, pairs
from veridical.models.nli.labels import ENTAILMENT, PLAIN, REST, Order, confirm
from veridical.models.nli.pairs import merge
from veridical.models.nli.tokens import PairWindower
from veridical.models.protocols import Pair, Window

#: Of heads whose class 1 is "supported".
SUPPORTED_LAST = Order((REST, ENTAILMENT))
#: Of heads whose class 0 is.
SUPPORTED_FIRST = Order((ENTAILMENT, REST))


class WindowedNli(ABC):
    """Forwards of windows, one at a time, and the model's identity.

    Subclasses build what :meth:`_forward` needs and then call :meth:`_settle`.

    Attributes:
        contradicts: whether contradiction is a class of its own.
    """

    scripts: frozenset[str] | None = None
    workers = 1

    def __init__(
        self, name_or_path: str, *, device: str | None, threads: int | None, revision: str | None
    ) -> None:
        loading.libraries(name_or_path)
        self._root, self._commit = loading.resolve(name_or_path, revision)
        self._device, self._dtype = loading.place(device, None)
        loading.use_threads(threads, self._device)
        self._lock = threading.Lock()  # one forward at a time: they would only contend
        self.name = name_or_path if self._commit else self._root.resolve().name
        self.batch_tokens = loading.BATCH_TOKENS.get(self._device.type, loading.BATCH_TOKENS["cpu"])

    def _settle(
        self, windower: PairWindower, pad: int, order: Order, files: list[Path], *parts: object
    ) -> None:
        """Hold ``order`` against the model's answers, and give it its revision.

        Args:
            files: that tell this checkpoint from another.
            parts: what else decides what it answers.
        """
        self._windower, self._pad, self._order = windower, pad, order
        self.contradicts = order.contradicts
        plain = [w for ws in windower([pair for pair, _ in PLAIN]) for w in ws]
        if len(plain) != len(PLAIN):
            raise ModelError(f"{self.name}: its windows are too short")
        confirm(order, self._answers(plain), self.name)
        digest = hashlib.blake2b(digest_size=8)
        versions = (windows.VERSION, pairs.VERSION, chunks.VERSION, order.classes, windower.room)
        digest.update(repr((versions, self._commit, self._dtype, parts)).encode())
        add_files(digest, files)
        self.revision = digest.hexdigest()

    def _tokenizer(self, folder: Path) -> Any:
        """The tokenizer of ``folder``, without truncation and padding of its own."""
        found = loading.tokenizer_of(folder, loading.libraries(self.name)[1])
        found.no_truncation()
        found.no_padding()
        return found

    @abstractmethod
    def _forward(self, ids: Any, mask: Any) -> Any:
        """(batch, classes) probabilities, a float32 tensor, of (batch, width) token ids and their
        mask of 1 and 0."""

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        import torch

        rows = self._windower.rows(batch, self._pad)
        with self._lock, torch.inference_mode():
            ids = torch.from_numpy(rows.ids).to(self._device)
            mask = torch.from_numpy(rows.mask.astype(np.int64)).to(self._device)
            answers = self._forward(ids, mask).cpu().numpy()
        found: NDArray[np.float64] = answers.astype(np.float64)
        return found

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        return self._windower(pairs)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return list(self._order(self._answers(batch)))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return merge(windows, outputs)
