"""NLI cross-encoders run by transformers (extra ``[torch]``), CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Window
from veridical.models import torch_loading as loading
from veridical.models.nli import chunks
from veridical.models.nli.folder import NliSettings, PairJudge
from veridical.models.nli.labels import Order
from veridical.models.nli.tokens import PairWindower, Template
from veridical.models.windows import readable

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True)
class CheckpointRecipe:
    """Input form and class order of a published checkpoint.

    Attributes:
        order: order of its classes.
        joined: True if the pair is one text separated by the end-of-text token, instead of the
            tokenizer's pair.
        chunk: tokens of a chunk of the premise (:func:`~.chunks.filled_chunks`); None: windows of
            the model's input length are used.
        longest: maximum tokens of a window if the architecture has no limit.
    """

    order: Order
    joined: bool = False
    chunk: int | None = None
    longest: int | None = None


class TorchNli(PairJudge, loading.TorchBackEnd):
    """A model that ``AutoModelForSequenceClassification`` can build from safetensors.

    Inputs are padded on the right. Attention is the library's default (fused if the architecture
    supports it), or FlashAttention 2 on a GPU if installed and supported. Code that comes with a
    model is never run. Thread-safe.

    Args (in addition to :class:`~veridical.models.torch_loading.TorchBackEnd`):
        labels: the model's classes in its own order, separated by commas. Without them, its
            configuration must name them, and its answers to plain pairs must agree.
        recipe: of a published checkpoint.

    Raises:
        UsageError: ``labels`` are not the classes of an NLI model.
        ModelError: torch is not installed, or the model cannot be found or built or has no trained
            classification head. Or the order of its classes cannot be determined.
    """

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        labels: str | None = None,
        recipe: CheckpointRecipe | None = None,
        **options: Unpack[loading.TorchOptions],
    ) -> None:
        super().__init__(name_or_path, **options)
        root, commit = self._root, self._commit
        self.name = str(name_or_path) if commit else root.name
        self._settings = settings = NliSettings.read(root)
        tokenizer = loading.tokenizer_of(root, self._transformers)
        self._windower = _windower(tokenizer, settings, recipe)
        with loading.explained(root, settings.config):
            self._model = self._build()
            self._types = settings.types_of(self._model)
            published = recipe.order if recipe else None
            self._order = settings.order(self._windower, self._logits, self.name, labels, published)
        self.contradicts = self._order.contradicts
        files = loading.own_files(root, commit)
        parts = (recipe, chunks.VERSION) if recipe else ()
        self.revision = settings.revision(files, self._order, "torch", commit, self._dtype, *parts)

    def _build(self) -> Any:
        config = self._configuration()
        if hasattr(config, "reference_compile"):
            config.reference_compile = False  # ModernBERT would compile for every batch shape
        options: dict[str, Any] = {}
        if (
            self._device.type == "cuda"
            and self._dtype != "float32"
            and _flash(self._transformers, config)
        ):
            options["attn_implementation"] = "flash_attention_2"
        automatic = "AutoModelForSequenceClassification"
        return self._trained(automatic, "NLI model", config=config, **options)

    def _answers(self, batch: Sequence[Window]) -> NDArray[np.float64]:
        return self._settings.probabilities(self._logits(batch))

    def _logits(self, batch: Sequence[Window]) -> NDArray[np.floating]:
        import torch

        rows = self._settings.rows(self._windower, batch)
        with self._lock, torch.inference_mode():
            out = self._model(**self._tensors(rows, self._types))
            logits: NDArray[np.float32] = out.logits.float().cpu().numpy()
        return logits


def _windower(
    tokenizer: Any, settings: NliSettings, recipe: CheckpointRecipe | None
) -> PairWindower:
    if recipe is None:
        return PairWindower(tokenizer, settings.max_length)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    config, length = settings.config, settings.max_length
    if recipe.longest and config.get("position_biased_input") is False:
        length = recipe.longest
    template = Template.joined(tokenizer) if recipe.joined else None
    if recipe.chunk is None:
        return PairWindower(tokenizer, length, template)

    def count(text: str) -> int:
        return len(tokenizer.encode(readable(text), add_special_tokens=False).ids)

    split = partial(chunks.filled_chunks, most=recipe.chunk, length=count)
    return PairWindower(tokenizer, length, template, split)


def _flash(transformers: Any, config: Any) -> bool:
    """Return True if FlashAttention 2 is installed and supported by the architecture."""
    if not transformers.utils.is_flash_attn_2_available():
        return False
    kinds = transformers.models.auto.modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    kind = kinds.get(type(config), None)
    names = ("_supports_flash_attn", "_supports_flash_attn_2")
    return any(getattr(kind, name, False) for name in names)
