"""Model folders: sentence-transformers configuration, tokenizer, heads and revision."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from veridical.arrays import Floats32
from veridical.errors import ModelError
from veridical.models import windows
from veridical.models.pooling import ACTIVATIONS, MODES, Dense, Ids, pool
from veridical.models.windows import Windower

#: Names of the ONNX file in a model folder; image models have further names.
GRAPHS = ("model.onnx", "onnx/model.onnx")
IMAGE_GRAPHS = (*GRAPHS, "vision_model.onnx", "onnx/vision_model.onnx")
#: Maximum window if only the architecture limits it, as attention is quadratic.
LONGEST = 8192
#: Nanoseconds after which a further change of a file shows in its time.
_TICK = 2_000_000_000
#: Model types whose position table starts after the padding id.
_SHIFTED_POSITIONS = {
    "roberta",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "longformer",
    "xlm-roberta-xl",
}
_LEGACY_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True, eq=False)
class Settings:
    """Embedding settings of a model folder.

    Attributes:
        backbone: folder of the transformer.
        modes: pooling modes, concatenated in this order.
        heads: dense layers applied to the pooled vector, in order.
        prefix: text put before every input.
        pool_prefix: True to pool the prefix's tokens too.
        max_length: maximum tokens of an input, including special tokens.
        config: the backbone's ``config.json``.
    """

    root: Path
    backbone: Path
    modes: tuple[str, ...]
    heads: tuple[Dense, ...]
    prefix: str
    pool_prefix: bool
    max_length: int
    lower: bool
    config: dict[str, Any]
    tokenizer_config: dict[str, Any]

    @classmethod
    def read(cls, root: Path, *, prefix: str | None = None, dense: str | None = None) -> Settings:
        """Read ``modules.json`` and its files; without it, use mean pooling.

        Args:
            prefix: replaces the folder's default prompt.
            dense: sub-folder that replaces the dense head of ``modules.json`` (for models with
                heads of several widths).

        Raises:
            ModelError: a file cannot be read, or a module's kind is not supported.
        """
        modules = read_json(root / "modules.json", [])
        if not isinstance(modules, list):
            raise ModelError(f"{root / 'modules.json'} must be a list of modules")
        backbone, heads, pool_prefix = root, [], True
        modes: tuple[str, ...] = ("mean",)
        for module in modules:
            kind = str(module.get("type", "")).rsplit(".", 1)[-1]
            path = _inside(root, str(module.get("path", "")))
            if kind == "Transformer":
                backbone = path
            elif kind == "Pooling":
                modes, pool_prefix = _pooling(path)
            elif kind == "Dense":
                heads.append(_dense(_inside(root, dense) if dense else path))
            elif kind != "Normalize":
                raise ModelError(f"{root}: modules of kind {kind!r} are not supported")
        config = read_json(backbone / "config.json", {})
        tokenizer_config = read_json(backbone / "tokenizer_config.json", {})
        bert = read_json(backbone / "sentence_bert_config.json", {})
        prompts = read_json(root / "config_sentence_transformers.json", {})
        if prefix is None:
            name = prompts.get("default_prompt_name")
            prefix = str(prompts.get("prompts", {}).get(name, "")) if name else ""
        return cls(
            root=root,
            backbone=backbone,
            modes=modes,
            heads=tuple(heads),
            prefix=prefix,
            pool_prefix=pool_prefix or not prefix,
            max_length=max_length(bert, config, tokenizer_config),
            lower=bool(bert.get("do_lower_case", False)),
            config=config,
            tokenizer_config=tokenizer_config,
        )

    def windower(self, tokenizer: Any) -> Windower:
        """Build the windower over ``tokenizer``, with the end token of its configuration."""
        eos = None
        if self.tokenizer_config.get("add_eos_token"):
            token = self.tokenizer_config.get("eos_token")
            text = token.get("content") if isinstance(token, dict) else token
            eos = tokenizer.token_to_id(str(text))
            if eos is None:
                raise ModelError(f"{self.root}: end token {text!r} is not in the vocabulary")
        return Windower(tokenizer, self.max_length, prefix=self.prefix, eos=eos, lower=self.lower)

    def skips(self, pieces: Sequence[Ids]) -> list[int]:
        """Return the number of leading tokens of each window to exclude from pooling."""
        return [0 if self.pool_prefix else p.head for p in pieces]

    def pool(self, hidden: Floats32, pieces: Sequence[Ids]) -> Floats32:
        """Pool (windows, width, d) token vectors to (windows, d_out), not normalised."""
        lengths = [len(p.ids) for p in pieces]
        return self.heads_of(pool(hidden, self.modes, lengths, self.skips(pieces)))

    def heads_of(self, pooled: Floats32) -> Floats32:
        """Apply the dense heads to pooled vectors (windows, d)."""
        for head in self.heads:
            pooled = head(pooled)
        return pooled

    def revision(self, files: Iterable[Path], *parts: object) -> str:
        """Return 16 hex digits over weights, tokenizer, pooling, prefix, windowing and
        ``parts``.
        """
        settings = (self.modes, self.prefix, self.pool_prefix, self.max_length, self.lower)
        ends = self.tokenizer_config.get("add_eos_token")
        identity = f"{(settings, windows.VERSION, parts)!r}{ends!r}".encode()
        for head in self.heads:
            bias = b"" if head.bias is None else head.bias.tobytes()
            identity += head.weight.tobytes() + bias + head.activation.encode()
        return digest_of(identity, files)


def digest_of(identity: object, files: Iterable[Path] = ()) -> str:
    """Return 16 hex digits over ``identity`` (bytes or its repr) and the files' content."""
    content = identity if isinstance(identity, bytes) else repr(identity).encode()
    states = tuple(_FileState.of(file) for file in files)
    last = max((state.modified for state in states), default=0)
    # a later change within one tick of the clock would not be seen
    settled = time.time_ns() - last > _TICK
    return _digest(content, states) if settled else _digest.__wrapped__(content, states)


class _FileState(NamedTuple):
    """A file whose content is the same while this is."""

    path: str
    device: int
    number: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> _FileState:
        found = path.stat()
        return cls(str(path), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _digest(content: bytes, files: tuple[_FileState, ...]) -> str:
    digest = hashlib.blake2b(content, digest_size=8)
    for file in files:
        with Path(file.path).open("rb") as f:
            while chunk := f.read(1 << 22):
                digest.update(chunk)
    return digest.hexdigest()


def load_tokenizer(folder: Path) -> Any:
    """Load the ``tokenizers.Tokenizer`` of ``folder/tokenizer.json``."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{folder} has no tokenizer.json")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as e:  # the library raises bare Exception
        raise ModelError(f"{path}: {e}") from e


def read_json(path: Path, default: Any) -> Any:
    """Parse the JSON of ``path``, or return ``default`` if there is no such file."""
    if not path.is_file():
        return default
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as e:
        raise ModelError(f"{path}: {e}") from e
    if not isinstance(value, type(default)):
        raise ModelError(f"{path} must be a JSON {type(default).__name__}")
    return value


#: Supported safetensors dtypes of a head. bfloat16 has no numpy type and is converted separately.
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def read_safetensors(path: Path) -> dict[str, Floats32]:
    """Read all tensors of a small safetensors file as float32.

    The format: u64 length of a JSON header, the header (dtype, shape and byte range of every
    tensor), then the bytes. Ranges are checked; nothing is executed.
    """
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        body = memoryview(data)[8 + size :]
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            start, stop = entry["data_offsets"]
            if not 0 <= start <= stop <= len(body):
                raise ValueError(f"tensor {name!r} is outside the file")
            raw = np.frombuffer(body[start:stop], dtype=_DTYPES[entry["dtype"]])
            if entry["dtype"] == "BF16":
                raw = (raw.astype(np.uint32) << 16).view(np.float32)
            tensors[name] = raw.astype(np.float32).reshape(entry["shape"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise ModelError(f"{path}: not a readable safetensors file ({e})") from e
    return tensors


def _inside(root: Path, relative: str) -> Path:
    path = root / relative
    if not path.resolve().is_relative_to(root.resolve()):
        raise ModelError(f"{root}: module path {relative!r} leads outside the model folder")
    return path


def _pooling(folder: Path) -> tuple[tuple[str, ...], bool]:
    config = read_json(folder / "config.json", {})
    configured = config.get("pooling_mode")
    if configured is None:
        configured = [mode for key, mode in _LEGACY_POOLING.items() if config.get(key)] or ["mean"]
    modes = (configured,) if isinstance(configured, str) else tuple(configured)
    for mode in modes:
        if mode not in MODES:
            raise ModelError(f"{folder}: unknown pooling {mode!r}; known: {', '.join(MODES)}")
    return modes, bool(config.get("include_prompt", True))


def _dense(folder: Path) -> Dense:
    config = read_json(folder / "config.json", {})
    activation = str(config.get("activation_function", "Tanh")).rsplit(".", 1)[-1]
    if activation not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise ModelError(f"{folder}: unknown activation {activation!r}; known: {known}")
    if not (folder / "model.safetensors").is_file():
        raise ModelError(
            f"{folder} has no model.safetensors, and pickled weights are not supported"
        )
    tensors = read_safetensors(folder / "model.safetensors")
    if "linear.weight" not in tensors:
        raise ModelError(f"{folder}: the head lacks the tensor 'linear.weight'")
    return Dense(tensors["linear.weight"], tensors.get("linear.bias"), activation)


def max_length(bert: dict[str, Any], config: dict[str, Any], tokenizer: dict[str, Any]) -> int:
    """Return a model's maximum tokens, including special tokens, from its configurations."""
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _SHIFTED_POSITIONS:
        positions -= int(config.get("pad_token_id") or 1) + 1
    limits = [bert.get("max_seq_length"), positions, tokenizer.get("model_max_length")]
    return int(min([LONGEST, *(n for n in limits if isinstance(n, int) and n > 0)]))
