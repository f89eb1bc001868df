"""Encoders run by transformers (extra ``[torch]``), CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.core.protocols import Encoded, Window
from veridical.errors import ModelError
from veridical.models import torch_loading as loading
from veridical.models.folder import Settings
from veridical.models.pooling import Ids, Output, join, pooling_weights
from veridical.models.windows import padded

if TYPE_CHECKING:
    from typing_extensions import Unpack


class TorchEncoder(loading.TorchBackEnd):
    """An encoder that transformers' ``AutoModel`` can build from safetensors.

    Pooling, dense heads, prefix and maximum input are those of the folder's sentence-transformers
    files; without them, the mean over tokens. Inputs are padded on the right, and causal models
    never look ahead, so pooling the last token is exact. Code that comes with a model is never run.
    A decoder with ``is_causal: false`` in its configuration (or with the code of GTE-Qwen) gets a
    bidirectional mask instead. Thread-safe.

    Args (in addition to :class:`~veridical.models.torch_loading.TorchBackEnd`):
        layer: use the output of this hidden layer (BERTScore uses 17 of roberta-large); the
            layers above it are not loaded.
        prefix: text prepended to every input; default: the folder's default prompt. dense:
            sub-folder of the dense head, if a model has several.

    Raises:
        ModelError: torch is not installed, or the model cannot be found or built.
    """

    has_tokens = True

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        layer: int | None = None,
        prefix: str | None = None,
        dense: str | None = None,
        **options: Unpack[loading.TorchOptions],
    ) -> None:
        super().__init__(name_or_path, **options)
        root, commit = self._root, self._commit
        self.name = str(name_or_path) if commit else root.name
        self._settings = settings = Settings.read(root, prefix=prefix, dense=dense)
        self._model = self._build(layer)
        tokenizer = loading.tokenizer_of(settings.backbone, self._transformers)
        self._windower = settings.windower(tokenizer)
        self._two_way = _attends_both_ways(settings.config)
        files = loading.own_files(settings.backbone, commit)
        self.revision = settings.revision(files, "torch", commit, self._dtype, layer)

    def _build(self, layer: int | None) -> Any:
        backbone = self._settings.backbone
        with loading.explained(backbone, self._settings.config):
            automatic = self._transformers
            config = automatic.AutoConfig.from_pretrained(backbone, **loading.LOCAL)
            if layer is not None:
                if not 1 <= layer <= config.num_hidden_layers:
                    raise ModelError(
                        f"layer={layer}: the model has layers 1 to {config.num_hidden_layers}"
                    )
                config.num_hidden_layers = layer
            model = loading.pretrained(automatic.AutoModel, backbone, config, self._dtype)
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        return model.to(self._device).eval()

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return self._windower(texts)

    def offsets(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        return self._windower.offsets(texts)

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        import torch

        pieces: list[Ids] = [w.content for w in batch]
        lengths = [len(p.ids) for p in pieces]
        ids, mask = padded([p.ids for p in pieces])
        with self._lock, torch.inference_mode():
            attention = torch.from_numpy(mask.astype(np.int64)).to(self._device)
            if self._two_way:
                attention = self._two_way_mask(attention)
            hidden = self._model(
                input_ids=torch.from_numpy(ids).to(self._device), attention_mask=attention
            )[0].float()
            if not tokens and "max" not in self._settings.modes:
                # Pooled on the model's device, so that token vectors are not copied.
                weights = pooling_weights(
                    self._settings.modes, lengths, self._settings.skips(pieces), ids.shape[1]
                )
                pooled = (torch.from_numpy(weights).to(self._device) @ hidden).flatten(1)
                return [Output(v) for v in self._settings.heads_of(pooled.cpu().numpy())]
            matrix = hidden.cpu().numpy()
        vectors = self._settings.pool(matrix, pieces)
        return [Output(v, h[:n].copy()) for v, h, n in zip(vectors, matrix, lengths, strict=True)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return join(windows, outputs, tokens)

    def _two_way_mask(self, attention: Any) -> Any:
        """Return a (batch, 1, length, length) additive mask without causal masking."""
        import torch

        dtype = next(self._model.parameters()).dtype
        blocked = (attention[:, None, None, :] == 0).expand(-1, 1, attention.shape[1], -1)
        return torch.zeros(blocked.shape, dtype=dtype, device=attention.device).masked_fill(
            blocked, torch.finfo(dtype).min
        )


def _attends_both_ways(config: dict[str, Any]) -> bool:
    """Return True if a decoder was trained as an encoder.

    The custom code of GTE-Qwen and Stella implies it if their configuration does not.
    """
    if "is_causal" in config:
        return config["is_causal"] is False
    code = config.get("auto_map")
    return isinstance(code, dict) and code.get("AutoModel") == "modeling_qwen.Qwen2Model"
