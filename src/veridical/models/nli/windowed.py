"""Base of published checkpoints: windows, forwards and identity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models import windows
from veridical.models.folder import digest_of
from veridical.models.nli import chunks, pairs
from veridical.models.nli.folder import PairJudge
from veridical.models.nli.labels import ENTAILMENT, PLAIN, REST, Order, confirm
from veridical.models.nli.tokens import PairWindower

#: Order of heads whose class 1 is "supported".
SUPPORTED_LAST = Order((REST, ENTAILMENT))
#: Order of heads whose class 0 is "supported".
SUPPORTED_FIRST = Order((ENTAILMENT, REST))


class WindowedNli(PairJudge, loading.TorchBackEnd):
    """Forwards of windows, one at a time, and the model's identity.

    Subclasses load the model for :meth:`_forward` and then call :meth:`_settle`.
    """

    def _settle(
        self, windower: PairWindower, pad: int, order: Order, files: list[Path], *parts: object
    ) -> None:
        """Test ``order`` against the model's answers, and set its revision.

        Args:
            files: files that identify this checkpoint.
            parts: other values that its answers depend on.
        """
        self._windower, self._pad, self._order = windower, pad, order
        self.contradicts = order.contradicts
        plain = [w for ws in windower([pair for pair, _ in PLAIN]) for w in ws]
        if len(plain) != len(PLAIN):
            raise ModelError(f"{self.name}: its windows are too short")
        confirm(order, self._answers(plain), self.name)
        versions = (windows.VERSION, pairs.VERSION, chunks.VERSION, order.classes, windower.room)
        self.revision = digest_of((versions, self._commit, self._dtype, parts), files)

    def _tokenizer(self, folder: Path) -> Any:
        """Load the tokenizer of ``folder``, with truncation and padding disabled."""
        tokenizer = loading.tokenizer_of(folder, self._transformers)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @abstractmethod
    def _forward(self, ids: Any, mask: Any) -> Any:
        """Return (batch, classes) probabilities as a float32 tensor.

        The arguments are (batch, width) token ids and their mask of 1 and 0.
        """

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        import torch

        rows = self._windower.rows(batch, self._pad)
        with self._lock, torch.inference_mode():
            answers: Any = self._forward(*self._tensors(rows).values()).cpu().numpy()
        return np.asarray(answers, np.float64)
