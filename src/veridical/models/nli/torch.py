"""NLI cross-encoders run by transformers and torch (the ``[torch]`` extra), on CPU or GPU."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.nli import chunks
from veridical.models.nli.folder import NliSettings
from veridical.models.nli.labels import Order
from veridical.models.nli.pairs import merge
from veridical.models.nli.tokens import PairWindower, Template
from veridical.models.protocols import Pair, Window


@dataclass(frozen=True)
class Recipe:
    """How a published checkpoint is fed, and what it answers.

    Attributes:
        order: of its classes.
        joined: the pair is one text with the end-of-text token between, not the tokenizer's pair.
        chunk: tokens of a chunk of the premise (:func:`~.chunks.filled_chunks`); None: it is read
            in windows of the model's own length.
        longest: tokens of a window where nothing in the architecture bounds them.
    """

    order: Order
    joined: bool = False
    chunk: int | None = None
    longest: int | None = None


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
        recipe: of a published checkpoint.

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
        recipe: Recipe | None = None,
    ) -> None:
        torch, transformers = loading.libraries(str(name_or_path))
        root, commit = loading.resolve(str(name_or_path), revision)
        self._settings = settings = NliSettings.read(root)
        self._device, dtype = loading.place(device, dtype)
        loading.use_threads(threads, self._device)
        tokenizer = loading.tokenizer_of(root, transformers)
        self._windower = _windower(tokenizer, settings, recipe)
        self._inference = torch.inference_mode
        self._lock = threading.Lock()  # one forward at a time: they would only contend
        self.name = str(name_or_path) if commit else root.name
        self.batch_tokens = loading.BATCH_TOKENS.get(self._device.type, loading.BATCH_TOKENS["cpu"])
        with loading.explained(root, settings.config):
            self._model = self._build(transformers, dtype)
            self._types = self._takes_types()
            published = recipe.order if recipe else None
            self._order = settings.order(self._windower, self._logits, self.name, labels, published)
        self.contradicts = self._order.contradicts
        files = loading.own_files(root, commit)
        parts = (recipe, chunks.VERSION) if recipe else ()
        self.revision = settings.revision(files, self._order, "torch", commit, dtype, *parts)

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


def _windower(tokenizer: Any, settings: NliSettings, recipe: Recipe | None) -> PairWindower:
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
    split = partial(chunks.filled_chunks, most=recipe.chunk, length=_counter(tokenizer))
    return PairWindower(tokenizer, length, template, split)


def _counter(tokenizer: Any) -> Callable[[str], int]:
    def count(text: str) -> int:
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return len(tokenizer.encode(readable, add_special_tokens=False).ids)

    return count


def _flash(transformers: Any, config: Any) -> bool:
    """Whether FlashAttention 2 is installed and the architecture supports it."""
    if not transformers.utils.is_flash_attn_2_available():
        return False
    kinds = transformers.models.auto.modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING
    kind = kinds.get(type(config), None)
    names = ("_supports_flash_attn", "_supports_flash_attn_2")
    return any(getattr(kind, name, False) for name in names)
