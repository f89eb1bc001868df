"""NLI cross-encoders run by transformers and torch (the ``[torch]`` extra), on CPU or GPU."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.pairs import merge
from veridical.models.nli.tokens import PairWindower
from veridical.models.protocols import Pair, Window


class TorchNli:
    """Any model that ``AutoModelForSequenceClassification`` can build from safetensors.

    Inputs are padded on the right. Attention is the library's default (fused, where the
    architecture has that), or FlashAttention 2 on a GPU where it is installed and the architecture
    supports it. Code that comes with a model is never run. Thread-safe.

    Args:
        name_or_path: hub id, or a local folder.
        device: torch device; default: ``cuda`` where there is one, else ``cpu``.
        dtype: ``float32``, ``bfloat16`` or ``float16``; default: ``float32`` on the CPU,
            ``bfloat16`` elsewhere.
        revision: commit, tag or branch of a hub id.
        labels: the model's classes in its own order, separated by commas; without them, its
            configuration says so and its answers to plain pairs must agree.

    Raises:
        UsageError: ``labels`` are not the classes of an NLI model.
        ModelError: torch is not installed, the model cannot be found or built or has no trained
            classification head, or the order of its classes cannot be told.
    """

    scripts: frozenset[str] | None = None
    workers = 1

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        labels: str | None = None,
        threads: int | None = None,
    ) -> None:
        torch, transformers = loading.libraries(str(name_or_path))
        root, commit = loading.resolve(str(name_or_path), revision)
        self._settings = settings = NliSettings.read(root)
        self._device, dtype = loading.place(device, dtype)
        loading.use_threads(threads, self._device)
        self._windower = PairWindower(loading.tokenizer_of(root, transformers), settings.max_length)
        self._inference = torch.inference_mode
        self._lock = threading.Lock()  # one forward at a time: they would only contend
        self.name = str(name_or_path) if commit else root.name
        self.batch_tokens = loading.BATCH_TOKENS.get(self._device.type, loading.BATCH_TOKENS["cpu"])
        with loading.explained(root, settings.config):
            self._model = self._build(transformers, dtype)
            self._types = self._takes_types()
            self._order = settings.order(self._windower, self._logits, self.name, labels)
        self.contradicts = self._order.contradicts
        files = loading.own_files(root, commit)
        self.revision = settings.revision(files, self._order, "torch", commit, dtype)

    def _build(self, transformers: Any, dtype: str) -> Any:
        root = self._settings.root
        config = transformers.AutoConfig.from_pretrained(root, trust_remote_code=False)
        if hasattr(config, "reference_compile"):
            config.reference_compile = False  # ModernBERT would compile for every batch's shape
        options: dict[str, Any] = {}
        if self._device.type == "cuda" and dtype != "float32" and _flash(transformers, config):
            options["attn_implementation"] = "flash_attention_2"
        model, report = loading.pretrained(
            transformers.AutoModelForSequenceClassification,
            root,
            config,
            dtype,
            output_loading_info=True,
            **options,
        )
        if report["missing_keys"]:
            missing = ", ".join(sorted(report["missing_keys"])[:4])
            raise ModelError(f"{root} has no trained weights for {missing}: it is no NLI model")
        return model.to(self._device).eval()

    def _takes_types(self) -> bool:
        known = inspect.signature(self._model.forward).parameters
        return self._settings.takes_types and "token_type_ids" in known

    def windows(self, pairs: Sequence[Pair]) -> list[list[Window]]:
        return self._windower(pairs)

    def run(self, batch: Sequence[Window]) -> list[Any]:
        return list(self._order(self._settings.probabilities(self._logits(batch))))

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any]) -> NDArray[np.float32]:
        return merge(windows, outputs)

    def _logits(self, batch: Sequence[Window]) -> NDArray[np.floating]:
        import torch

        rows = self._settings.rows(self._windower, batch)
        given = {"input_ids": rows.ids, "attention_mask": rows.mask.astype(np.int64)}
        if self._types:
            given["token_type_ids"] = rows.types
        with self._lock, self._inference():
            tensors = {k: torch.from_numpy(v).to(self._device) for k, v in given.items()}
            logits: NDArray[np.float32] = self._model(**tensors).logits.float().cpu().numpy()
        return logits


def _flash(transformers: Any, config: Any) -> bool:
    """Whether FlashAttention 2 is installed and the architecture supports it."""
    if not transformers.utils.is_flash_attn_2_available():
        return False
    kinds = transformers.models.auto.modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    kind = kinds.get(type(config), None)
    names = ("_supports_flash_attn", "_supports_flash_attn_2")
    return any(getattr(kind, name, False) for name in names)
