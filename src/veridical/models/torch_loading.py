"""What every torch back end does to find, build and place a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from veridical.errors import ModelError, VeridicalError
from veridical.llm.download import cache_folder
from veridical.models.folder import load_tokenizer

#: Padded tokens per forward.
BATCH_TOKENS = {"cpu": 4096, "cuda": 32768}
#: What is fetched of a hub repository: never pickled weights, never code.
_PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors"]


def libraries(name: str) -> tuple[Any, Any]:
    """The modules torch and transformers, for the model ``name``."""
    try:
        import torch
        import transformers
    except ImportError as e:
        raise ModelError(
            f"{name} needs torch and transformers: pip install 'veridical[torch]' ({e})"
        ) from e
    return torch, transformers


def place(device: str | None, dtype: str | None) -> tuple[Any, str]:
    """Device and dtype: ``cuda`` where there is one, else ``cpu``; ``float32`` on the CPU,
    ``bfloat16`` elsewhere."""
    import torch

    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or ("float32" if where.type == "cpu" else "bfloat16")
    if dtype not in ("float32", "bfloat16", "float16"):
        raise ModelError(f"unknown dtype {dtype!r}; known: float32, bfloat16, float16")
    return where, dtype


def use_threads(threads: int | None, device: Any) -> None:
    """Let forwards on the CPU use so many threads; None leaves torch's own number."""
    import torch

    if threads and device.type == "cpu":
        torch.set_num_threads(threads)


def pretrained(automatic: Any, folder: Path, config: Any, dtype: str, **options: Any) -> Any:
    """``from_pretrained`` of an ``Auto...`` class: safetensors (or GGUF) only, and no foreign
    code."""
    import torch

    keyword = "dtype" if release(version("transformers")) >= (4, 56) else "torch_dtype"
    return automatic.from_pretrained(
        folder,
        config=config,
        trust_remote_code=False,
        use_safetensors=True,
        **{keyword: getattr(torch, dtype)},
        **options,
    )


@contextmanager
def explained(folder: Path, config: dict[str, Any]) -> Iterator[None]:
    """Turns whatever transformers raises about the model of ``folder`` into a ModelError.

    Args:
        config: the folder's ``config.json``.
    """
    try:
        yield
    except VeridicalError:
        raise
    except Exception as e:  # the library has many ways to fail, all about the model given
        hint = ""
        if "auto_map" in config:
            hint = (
                "; the model wants code of its own to be run, which is never done: serve it "
                "behind text-embeddings-inference, or export it to ONNX"
            )
        raise ModelError(f"{folder} cannot be loaded: {first_line(e)}{hint}") from e


def resolve(name: str, revision: str | None, *, weights: bool = True) -> tuple[Path, str | None]:
    """The local folder of a model and, for a hub id, its commit. What ``veridical models convert``
    has made of a hub id goes before the hub, unless a revision is asked for.

    Args:
        weights: False for configuration and tokenizer alone.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path, None
    made = converted(name)
    if revision is None and made.is_dir():
        return made, None
    import huggingface_hub

    patterns = _PATTERNS if weights else [p for p in _PATTERNS if p != "*.safetensors"]
    try:
        folder = Path(
            huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=patterns)
        )
    except Exception as e:  # network, cache, authorisation and naming errors alike
        raise ModelError(
            f"{name!r} is no local folder and could not be had from the hub: {first_line(e)}. "
            f"Where there is a network: {convert_command(name)}"
        ) from e
    if weights and not any(folder.rglob("*.safetensors")):
        raise ModelError(
            f"{name} has no weights in safetensors, and others are never read: "
            f"{convert_command(name)}"
        )
    return folder, folder.name


def converted(name: str) -> Path:
    """The folder in the user's cache that ``veridical models convert`` makes of ``name``."""
    return cache_folder() / "models" / re.sub(r"[^\w.-]", "--", name).lstrip(".")


def convert_command(name: str) -> str:
    """What fetches ``name`` and, where its weights are pickled, converts them."""
    return f"veridical models convert {name}"


def tokenizer_of(folder: Path, transformers: Any) -> Any:
    """The ``tokenizers.Tokenizer`` of a model folder, converted by transformers where needed."""
    if (folder / "tokenizer.json").is_file():
        return load_tokenizer(folder)
    try:  # older repositories ship only vocabularies, which transformers converts
        slow = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        return slow.backend_tokenizer
    except Exception as e:
        raise ModelError(f"{folder} has no usable tokenizer: {first_line(e)}") from e


def has_tokenizer(folder: Path) -> bool:
    """Whether a folder holds a tokenizer or what one is made from."""
    return any((folder / n).is_file() for n in ("tokenizer.json", "spiece.model", "vocab.json"))


def own_files(folder: Path, commit: str | None) -> list[Path]:
    """Files that tell one model from another: all of them, or beside a commit the tokenizer."""
    weights = sorted(folder.glob("*.safetensors")) if commit is None else []
    return [*weights, *(p for p in [folder / "tokenizer.json"] if p.is_file())]


def first_line(e: Exception) -> str:
    """The first line of an error's words, or its kind."""
    lines = str(e).strip().splitlines()
    return lines[0] if lines else type(e).__name__


def release(text: str) -> tuple[int, int]:
    """Major and minor number of a version."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
