"""Token classifiers of sources, question and answer (torch)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.model_names import ModelName
from veridical.core.protocols import Pair, Window
from veridical.core.requests import GroundedAnswer, Packed
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.catalog import options_of
from veridical.models.checkpoint import TorchCheckpoint
from veridical.models.nli import pairs
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.labels import config_names
from veridical.models.nli.tokens import PairWindower

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Maximum tokens of a window, as in the training of the published detectors.
LONGEST = 4096
#: Names of the class of supported tokens; default: the first class.
_SUPPORTED = ("supported", "faithful", "O", "0", "LABEL_0")
#: Prompts of RAGTruth's models, which its detectors expect before an answer.
_ANSWERED = (
    "\nBriefly answer the following question:\n{question}\nBear in mind that your response should "
    "be strictly based on the following {count} passages:\n{passages}\nIn case the passages do not "
    "contain the necessary information to answer the question, please reply with: "
    '"Unable to answer based on given passages."\noutput:\n'
)
_SUMMARISED = "\nSummarize the following text:\n{passages}\noutput:\n"


def load_detector(
    spec: str, *, threads: int | None = None, device: str | None = None
) -> TorchSpanDetector:
    """Load the detector of a hub id or a folder.

    Raises:
        UsageError: the name has an option other than ``revision``.
        ModelError: torch is missing, or the model cannot be found or is not a token classifier.
    """
    name = ModelName.parse(spec)
    options = options_of("torch", name, {"torch": {"revision": str}})
    return TorchSpanDetector(name.place_of("torch"), threads=threads, device=device, **options)


def prompt_of(question: str, passages: Sequence[str]) -> str:
    """Return the text before the answer (Niu 2024, RAGTruth; Kovacs 2025, LettuceDetect)."""
    listed = "\n".join(f"passage {i}: {text}" for i, text in enumerate(passages, 1))
    if not question:
        return _SUMMARISED.format(passages=listed)
    return _ANSWERED.format(question=question, count=len(passages), passages=listed)


class TorchSpanDetector(TorchCheckpoint):
    """A model that ``AutoModelForTokenClassification`` can build from safetensors.

    Its input is that of LettuceDetect: prompt and answer as the tokenizer's pair.

    A token's risk is 1 - the probability of the class of supported tokens: the one named
    ``supported`` or ``O``, else the first. Long inputs are windowed, and the minimum risk of a word
    counts. It answers :class:`~veridical.core.requests.GroundedAnswer` requests with the risk of
    each word of the answer. Thread-safe.
    """

    automatic = "AutoModelForTokenClassification"
    what = "token classifier"
    version = f"spans-1/{pairs.VERSION}"

    def __init__(self, name_or_path: str | Path, **options: Unpack[loading.TorchOptions]) -> None:
        super().__init__(name_or_path, **options)
        names = config_names(self._config)
        self._supported = next((names.index(n) for n in _SUPPORTED if n in names), 0)
        if self._model.config.num_labels < 2:
            raise ModelError(f"{self._root} has only one class, so it cannot mark wrong tokens")

    def _open(self) -> None:
        tokenizer = loading.tokenizer_of(self._root, self._transformers)
        self._settings = NliSettings.read(self._root)
        longest = min(LONGEST, self._settings.max_length)
        self._windower = PairWindower(tokenizer, longest, words=True)
        self._types = self._settings.types_of(self._model)

    def windows(self, requests: Sequence[GroundedAnswer]) -> list[list[Window]]:
        """Return the windows of each request's prompt and answer."""
        with self._lock:
            return self._windower(
                [Pair(prompt_of(r.question, r.passages), r.answer) for r in requests]
            )

    def run(self, batch: Sequence[Window]) -> list[Any]:
        import torch

        rows = self._settings.rows(self._windower, batch)
        with self._lock, torch.inference_mode():
            logits: Any = self._model(**self._tensors(rows, self._types)).logits
            classes: NDArray[np.float32] = torch.softmax(logits.float(), dim=-1).cpu().numpy()
        if not np.isfinite(classes).all():
            raise ModelError(f"{self.name} returned a probability that is not a number")
        head, between, _ = map(len, self._windower.template.ids)
        risks = []
        for row, window in zip(1.0 - classes[:, :, self._supported], batch, strict=True):
            start = head + len(window.content.premise) + between
            risks.append(row[start : start + len(window.content.hypothesis)])
        return risks

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> Packed:
        """Return the (words,) risks."""
        return pairs.merge_words(windows, outputs).clip(0, 1)

    def pretend(self, window: Window) -> Any:
        """Return a possible result of :meth:`run` for ``window``: no wrong words."""
        return np.zeros(len(window.content.hypothesis), np.float32)
