"""Conversion of checkpoints with pickled weights to safetensors.

No other module opens a pickled file. Here torch's restricted reader is used, which creates tensors
and plain containers only (``weights_only=True``).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from veridical.errors import ModelError, UsageError
from veridical.files.atomic import making_folder
from veridical.models import torch_loading as loading
from veridical.models.folder import read_json
from veridical.models.nli.names import FOUNDATION, SOURCES

#: The first release with a safe ``weights_only`` (CVE-2025-32434).
_TORCH = (2, 6)
_WEIGHTS = "model.safetensors"
#: Other files of a repository to keep.
_SMALL = ("*.json", "*.txt", "*.model")
_BIN = ("pytorch_model.bin", "pytorch_model-*.bin")
_HUB_ID = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_HUB_FILE = re.compile(r"([\w.-]+/[\w.-]+)/([\w./-]+\.ckpt)")
#: Heads of AlignScore; the language model head trained with them is dropped.
_ALIGNSCORE = ("base_model.", "tri_layer.", "bin_layer.", "reg_layer.")


def convert(source: str, *, out: Path | None = None, backbone: str | None = None) -> Path:
    """Convert a checkpoint to a folder with safetensors; return the folder.

    Args:
        source: a hub id or folder with ``pytorch_model.bin`` (or with safetensors, which are
            copied). Or AlignScore's ``.ckpt``, as a file or as ``org/name/FILE.ckpt`` on the hub.
            ``alignscore-large`` and ``alignscore-base`` are the published ones.
        out: the folder to create; default: one in the user's cache, which takes precedence over the
            hub for this name.
        backbone: hub id or folder with the configuration (AlignScore) and tokenizer of the
            checkpoint; default: the one named in the checkpoint.

    Raises:
        UsageError: ``out`` exists.
        ModelError: torch is missing, a file is unavailable, or a file has other content than
            tensors.
    """
    loading.libraries(source)
    if loading.release(version("torch")) < _TORCH:
        raise ModelError(
            "converting requires torch 2.6, as reading weights in earlier releases may run code"
        )
    place = out or _place(source)
    if place.exists():
        raise UsageError(f"{place} exists; remove it to convert {source} again")
    with making_folder(place) as folder:
        name = SOURCES.get(source, source)
        if name.endswith(".ckpt"):
            _alignscore(_file(name), folder, backbone)
        else:
            _repository(name, folder, backbone)
    return place


def _place(source: str) -> Path:
    if source.endswith(".ckpt"):
        return loading.converted(Path(source).stem.lower())
    if Path(source).expanduser().is_dir():
        raise UsageError(f"{source} is a folder; set the folder to create with --out")
    return loading.converted(source)


def _alignscore(file: Path, folder: Path, backbone: str | None) -> None:
    """Convert AlignScore's Lightning checkpoint.

    Tensors are under ``state_dict``, the encoder's name in ``hyper_parameters``.
    """
    checkpoint = _read(file)
    tensors = checkpoint.get("state_dict")
    if not isinstance(tensors, dict):
        raise ModelError(f"{file} has no state_dict, so it is not a Lightning checkpoint")
    published = {k: v for k, v in tensors.items() if str(k).startswith(_ALIGNSCORE)}
    missing = [p for p in _ALIGNSCORE if not any(str(k).startswith(p) for k in published)]
    if missing:
        raise ModelError(
            f"{file} has no tensors {missing[0]}*, so it is not an AlignScore checkpoint"
        )
    settings = checkpoint.get("hyper_parameters")
    model = settings.get("model") if isinstance(settings, dict) else None
    name = backbone or _hub_id(model)
    if name is None:
        raise ModelError(f"{file} does not name its encoder; set --backbone")
    root, _ = loading.resolve(name, None, weights=False)
    if not (root / "config.json").is_file():
        raise ModelError(f"{root} has no config.json, so it is not an encoder")
    _copy(root, folder, _SMALL)
    _write(published, folder / _WEIGHTS)
    _note(folder, source=file.name, sha256=_sha256(file), backbone=name)


def _repository(name: str, folder: Path, backbone: str | None) -> None:
    root, commit = _fetched(name)
    _copy(root, folder, _SMALL)
    shipped = sorted(root.glob("*.safetensors"))
    if shipped:
        _copy(root, folder, ("*.safetensors",))
    else:
        files = sorted({f for pattern in _BIN for f in root.glob(pattern)})
        if not files:
            raise ModelError(f"{name} has neither safetensors nor pytorch_model.bin")
        tensors: dict[str, Any] = {}
        for file in files:
            tensors |= _read(file)
        _write(tensors, folder / _WEIGHTS)
        for index in folder.glob("*.bin.index.json"):
            index.unlink()
    config = read_json(root / "config.json", {})
    foundation = backbone or _hub_id(config.get("foundation"))
    if foundation is None and config.get("model_type") == "HHEMv2":
        foundation = FOUNDATION
    if foundation and not loading.has_tokenizer(root):
        tokenizer, _ = loading.resolve(foundation, None, weights=False)
        for file in _matching(tokenizer, _SMALL):
            if not (folder / file.name).exists():  # the model's configuration takes precedence
                shutil.copyfile(file, folder / file.name)
    _note(folder, source=name, commit=commit)


def _hub_id(name: object) -> str | None:
    """Return the file's text if it is a valid hub id; it is not trusted as a folder name."""
    return name if isinstance(name, str) and _HUB_ID.fullmatch(name) else None


def _fetched(name: str) -> tuple[Path, str | None]:
    path = Path(name).expanduser()
    if path.is_dir():
        return path, None
    import huggingface_hub

    try:
        for patterns in (["*.safetensors"], list(_BIN)):
            folder = Path(
                huggingface_hub.snapshot_download(name, allow_patterns=[*_SMALL, *patterns])
            )
            if any(f for p in patterns for f in folder.glob(p)):
                break
    except Exception as e:  # network, cache, authorisation and naming errors alike
        raise ModelError(
            f"{name!r} is not a folder and cannot be downloaded: {loading.first_line(e)}"
        ) from e
    return folder, folder.name


def _file(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_file():
        return path
    match = _HUB_FILE.fullmatch(name)
    if match is None:
        raise ModelError(f"no such file: {name}")
    import huggingface_hub

    try:
        return Path(huggingface_hub.hf_hub_download(match[1], match[2]))
    except Exception as e:
        raise ModelError(
            f"{name} could not be downloaded from the hub: {loading.first_line(e)}"
        ) from e


def _read(file: Path) -> dict[Any, Any]:
    """Read a pickled file of tensors and plain containers."""
    import torch

    try:
        checkpoint = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as e:  # of many kinds, all caused by the file
        raise ModelError(
            f"{file} cannot be read: it has other content than tensors, or is damaged "
            f"({loading.first_line(e)})"
        ) from e
    if not isinstance(checkpoint, dict):
        raise ModelError(f"{file} has no table of tensors")
    return checkpoint


def _write(tensors: dict[Any, Any], file: Path) -> None:
    import torch
    from safetensors.torch import save_file

    for name, tensor in tensors.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise ModelError(f"{name!s:.80} is not a tensor, so the file is not a table of weights")
    # Two names may share one matrix, which the format does not support.
    save_file({n: t.clone().contiguous() for n, t in tensors.items()}, file, {"format": "pt"})


def _copy(root: Path, folder: Path, patterns: tuple[str, ...]) -> None:
    for file in _matching(root, patterns):
        shutil.copyfile(file, folder / file.name)


def _matching(root: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    return (f for p in patterns for f in sorted(root.glob(p)) if f.is_file())


def _note(folder: Path, **notes: object) -> None:
    text = json.dumps(notes, indent=1) + "\n"
    (folder / "conversion.json").write_text(text, encoding="utf-8")


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as f:
        while chunk := f.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()
