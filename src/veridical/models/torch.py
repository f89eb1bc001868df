"""Encoders run by transformers and torch (the ``[torch]`` extra), on CPU or GPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from veridical.errors import ModelError
from veridical.models.folder import Settings, load_tokenizer
from veridical.models.pooling import Ids, Output, join, pooling_weights
from veridical.models.protocols import Encoded, Window

#: Padded tokens per forward.
BATCH_TOKENS = {"cpu": 4096, "cuda": 32768}
#: What is fetched of a hub repository: never pickled weights, never code.
_PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors"]


class TorchEncoder:
    """Any encoder that transformers' ``AutoModel`` can build from safetensors.

    Pooling, dense heads, prefix and longest input are those of the folder's sentence-transformers
    files; without them, the mean over tokens. Inputs are padded on the right, and causal models
    never look ahead, so pooling the last token is exact. Code that comes with a model is never
    run: a decoder whose configuration says ``is_causal: false`` (or which comes with the code of
    GTE-Qwen) is given a two-way mask instead.
    Thread-safe.

    Args:
        name_or_path: hub id, or a local folder.
        device: torch device; default: ``cuda`` where there is one, else ``cpu``.
        dtype: ``float32``, ``bfloat16`` or ``float16``; default: ``float32`` on the CPU,
            ``bfloat16`` elsewhere.
        layer: use the output of this hidden layer (BERTScore uses 17 of roberta-large); the
            layers above it are not loaded.
        revision: commit, tag or branch of a hub id.
        prefix: text put before every input; default: the folder's default prompt.
        dense: sub-folder of the dense head to use, where a model ships several.

    Raises:
        ModelError: torch is not installed, or the model cannot be found or built.
    """

    has_tokens = True
    scripts: frozenset[str] | None = None
    workers = 1

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        layer: int | None = None,
        revision: str | None = None,
        prefix: str | None = None,
        dense: str | None = None,
        threads: int | None = None,
    ) -> None:
        try:
            import torch
            import transformers
        except ImportError as e:
            raise ModelError(
                f"{name_or_path} needs torch and transformers: pip install 'veridical[torch]' ({e})"
            ) from e
        root, commit = _resolve(str(name_or_path), revision)
        self._settings = settings = Settings.read(root, prefix=prefix, dense=dense)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        dtype = dtype or ("float32" if self._device.type == "cpu" else "bfloat16")
        if dtype not in ("float32", "bfloat16", "float16"):
            raise ModelError(f"unknown dtype {dtype!r}; known: float32, bfloat16, float16")
        if threads and self._device.type == "cpu":
            torch.set_num_threads(threads)
        self._model = self._build(transformers, getattr(torch, dtype), layer)
        self._windower = settings.windower(_tokenizer(settings, transformers))
        self._two_way = _attends_both_ways(settings.config)
        self._lock = threading.Lock()  # one forward at a time: they would only contend
        self.name = str(name_or_path) if commit else root.name
        self.batch_tokens = BATCH_TOKENS.get(self._device.type, BATCH_TOKENS["cpu"])
        weights = sorted(settings.backbone.glob("*.safetensors")) if commit is None else []
        tokenizer = [p for p in [settings.backbone / "tokenizer.json"] if p.is_file()]
        self.revision = settings.revision([*weights, *tokenizer], "torch", commit, dtype, layer)

    def _build(self, transformers: Any, dtype: Any, layer: int | None) -> Any:
        backbone = self._settings.backbone
        keyword = "dtype" if _release(version("transformers")) >= (4, 56) else "torch_dtype"
        try:
            config = transformers.AutoConfig.from_pretrained(backbone, trust_remote_code=False)
            if layer is not None:
                if not 1 <= layer <= config.num_hidden_layers:
                    raise ModelError(
                        f"layer={layer}: the model has layers 1 to {config.num_hidden_layers}"
                    )
                config.num_hidden_layers = layer
            model = transformers.AutoModel.from_pretrained(
                backbone,
                config=config,
                trust_remote_code=False,
                use_safetensors=True,
                **{keyword: dtype},
            )
        except ModelError:
            raise
        except Exception as e:  # the library has many ways to fail, all about the model given
            hint = ""
            if "auto_map" in self._settings.config:
                hint = (
                    "; the model wants code of its own to be run, which is never done: serve it "
                    "behind text-embeddings-inference, or export it to ONNX"
                )
            raise ModelError(f"{backbone} cannot be loaded: {_first_line(e)}{hint}") from e
        if getattr(model.config, "is_encoder_decoder", False):
            model = model.get_encoder()
        return model.to(self._device).eval()

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return self._windower(texts)

    def run(self, batch: Sequence[Window], tokens: bool) -> list[Any]:
        import torch

        pieces: list[Ids] = [w.content for w in batch]
        lengths = [len(p.ids) for p in pieces]
        longest = max(lengths)
        ids = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros((len(pieces), longest), dtype=np.int64)
        for i, piece in enumerate(pieces):
            ids[i, : len(piece.ids)] = piece.ids
            mask[i, : len(piece.ids)] = 1
        with self._lock, torch.inference_mode():
            attention = torch.from_numpy(mask).to(self._device)
            if self._two_way:
                attention = self._two_way_mask(attention)
            hidden = self._model(
                input_ids=torch.from_numpy(ids).to(self._device), attention_mask=attention
            )[0].float()
            if not tokens and "max" not in self._settings.modes:
                # Pooled where the model is: token vectors need not leave the device.
                weights = pooling_weights(
                    self._settings.modes, lengths, self._settings.skips(pieces), longest
                )
                pooled = (torch.from_numpy(weights).to(self._device) @ hidden).flatten(1)
                return [Output(v) for v in self._settings.heads_of(pooled.cpu().numpy())]
            matrix = hidden.cpu().numpy()
        vectors = self._settings.pool(matrix, pieces)
        return [Output(v, h[:n].copy()) for v, h, n in zip(vectors, matrix, lengths, strict=True)]

    def assemble(self, windows: Sequence[Window], outputs: Sequence[Any], tokens: bool) -> Encoded:
        return join(windows, outputs, tokens)

    def _two_way_mask(self, attention: Any) -> Any:
        """(batch, 1, length, length) additive mask: every token sees every token of its text."""
        import torch

        dtype = next(self._model.parameters()).dtype
        blocked = (attention[:, None, None, :] == 0).expand(-1, 1, attention.shape[1], -1)
        return torch.zeros(blocked.shape, dtype=dtype, device=attention.device).masked_fill(
            blocked, torch.finfo(dtype).min
        )


def _attends_both_ways(config: dict[str, Any]) -> bool:
    """Whether a decoder was trained as an encoder. The code that GTE-Qwen and Stella ship says so
    where their configuration does not."""
    if "is_causal" in config:
        return config["is_causal"] is False
    own = config.get("auto_map")
    return isinstance(own, dict) and own.get("AutoModel") == "modeling_qwen.Qwen2Model"


def _resolve(name: str, revision: str | None) -> tuple[Path, str | None]:
    """The local folder of a model and, for a hub id, its commit."""
    path = Path(name).expanduser()
    if path.is_dir():
        return path, None
    import huggingface_hub

    try:
        folder = huggingface_hub.snapshot_download(
            name, revision=revision, allow_patterns=_PATTERNS
        )
    except Exception as e:  # network, cache, authorisation and naming errors alike
        raise ModelError(
            f"{name!r} is no local folder and could not be had from the hub: {_first_line(e)}"
        ) from e
    return Path(folder), Path(folder).name


def _tokenizer(settings: Settings, transformers: Any) -> Any:
    if (settings.backbone / "tokenizer.json").is_file():
        return load_tokenizer(settings.backbone)
    try:  # older repositories ship only vocabularies, which transformers converts
        slow = transformers.AutoTokenizer.from_pretrained(
            settings.backbone, trust_remote_code=False
        )
        return slow.backend_tokenizer
    except Exception as e:
        raise ModelError(f"{settings.backbone} has no usable tokenizer: {_first_line(e)}") from e


def _release(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)


def _first_line(e: Exception) -> str:
    lines = str(e).strip().splitlines()
    return lines[0] if lines else type(e).__name__
