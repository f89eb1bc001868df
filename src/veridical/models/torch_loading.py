"""Finding, building and placing of torch models."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

from veridical.errors import ModelError, VeridicalError
from veridical.models.folder import load_tokenizer
from veridical.weights import cache_folder

DTYPES = ("float32", "bfloat16", "float16")
#: Padded tokens per forward.
BATCH_TOKENS = {"cpu": 4096, "cuda": 32768}
#: Files downloaded from a hub repository: never pickled weights, never code.
_PATTERNS = ["*.json", "*.txt", "*.model", "*.safetensors"]
#: Options of every ``from_pretrained``: no foreign code and no hub access. Its argument is a
#: folder, and transformers might otherwise request a missing file from the hub.
LOCAL = {"trust_remote_code": False, "local_files_only": True}


class TorchOptions(TypedDict, total=False):
    """Keyword options of :class:`TorchBackEnd`."""

    device: str | None
    dtype: str | None
    revision: str | None
    threads: int | None


class TorchBackEnd:
    """A model run locally by torch, one forward at a time.

    Args:
        name_or_path: hub id, or a local folder.
        device: torch device; default: ``cuda`` if available, else ``cpu``.
        dtype: ``float32``, ``bfloat16`` or ``float16``; default: ``float32`` on the CPU,
            ``bfloat16`` elsewhere.
        revision: commit, tag or branch of a hub id.
        threads: threads per forward on the CPU.

    Raises:
        ModelError: torch is not installed, or the model cannot be found.
    """

    scripts: frozenset[str] | None = None
    languages: frozenset[str] | None = None
    workers = 1

    def __init__(
        self,
        name_or_path: str | Path,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        threads: int | None = None,
    ) -> None:
        name = str(name_or_path)
        self._transformers = libraries(name)[1]
        self._root, self._commit = resolve(name, revision)
        self._device, self._dtype = place(device, dtype)
        use_threads(threads, self._device)
        self._lock = threading.Lock()  # forwards would compete, and tokenizers are shared
        self.name = name if self._commit else self._root.resolve().name
        self.batch_tokens = BATCH_TOKENS.get(self._device.type, BATCH_TOKENS["cpu"])

    def _tensors(self, rows: Any, types: bool = False) -> dict[str, Any]:
        """Return ``ids`` and ``mask`` of a batch, and optional ``types``, as tensors on the
        device.
        """
        import torch

        arrays = {"input_ids": rows.ids, "attention_mask": rows.mask.astype("int64")}
        if types:
            arrays["token_type_ids"] = rows.types
        return {name: torch.from_numpy(a).to(self._device) for name, a in arrays.items()}

    def _trained(self, automatic: str, what: str = "", **options: Any) -> Any:
        """Load the model by transformers' class ``automatic``, ready to run (see
        :func:`trained`).
        """
        settings = options.pop("config", None) or self._configuration()
        builder = getattr(self._transformers, automatic)
        model = trained(builder, self._root, settings, self._dtype, what, **options)
        return model.to(self._device).eval()

    def _configuration(self) -> Any:
        return self._transformers.AutoConfig.from_pretrained(self._root, **LOCAL)


def libraries(name: str) -> tuple[Any, Any]:
    """Import torch and transformers for the model ``name``."""
    try:
        import torch
        import transformers
    except ImportError as e:
        raise ModelError(
            f"{name} requires torch; run: pip install torch transformers safetensors ({e})"
        ) from e
    return torch, transformers


def place(device: str | None, dtype: str | None) -> tuple[Any, str]:
    """Return device and dtype.

    The defaults are ``cuda`` if available, else ``cpu``; and ``float32`` on the CPU, ``bfloat16``
    elsewhere.
    """
    import torch

    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    dtype = dtype or ("float32" if where.type == "cpu" else "bfloat16")
    if dtype not in DTYPES:
        raise ModelError(f"unknown dtype {dtype!r}; known: {', '.join(DTYPES)}")
    return where, dtype


def use_threads(threads: int | None, device: Any) -> None:
    """Set the number of threads of forwards on the CPU; None keeps torch's default."""
    import torch

    if threads and device.type == "cpu":
        torch.set_num_threads(threads)


def pretrained(automatic: Any, folder: Path, config: Any, dtype: str, **options: Any) -> Any:
    """Call ``from_pretrained`` of an ``Auto...`` class.

    Only safetensors (or GGUF) are read, and no foreign code is run.
    """
    import torch

    keyword = "dtype" if release(version("transformers")) >= (4, 56) else "torch_dtype"
    with _without_bars():
        return automatic.from_pretrained(
            folder,
            config=config,
            use_safetensors=True,
            **LOCAL,
            **{keyword: getattr(torch, dtype)},
            **options,
        )


@contextmanager
def _without_bars() -> Iterator[None]:
    """Disable transformers' progress bars, as a run shows its own."""
    import transformers

    logging: Any = transformers.utils.logging  # its functions have no annotations
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def trained(
    automatic: Any, folder: Path, config: Any, dtype: str, what: str = "", **options: Any
) -> Any:
    """Call :func:`pretrained` and check that all parts of the model have weights.

    Args:
        what: kind of the model, for errors.

    Raises:
        ModelError: a part has no weights.
    """
    model, report = pretrained(
        automatic, folder, config, dtype, output_loading_info=True, **options
    )
    if report["missing_keys"]:
        missing = ", ".join(sorted(report["missing_keys"])[:4])
        kind = f", so it is not a {what}" if what else ""
        raise ModelError(f"{folder} has no trained weights for {missing}{kind}")
    return model


@contextmanager
def explained(folder: Path, config: dict[str, Any]) -> Iterator[None]:
    """Convert any error of transformers about the model of ``folder`` to a ModelError.

    Args:
        config: the folder's ``config.json``.
    """
    try:
        yield
    except VeridicalError:
        raise
    except Exception as e:  # the library raises many kinds of errors, all caused by the model
        hint = ""
        if "auto_map" in config:
            hint = (
                "; the model requires its own code, which is not supported: serve it "
                "with text-embeddings-inference, or export it to ONNX"
            )
        raise ModelError(f"{folder} cannot be loaded: {first_line(e)}{hint}") from e


def resolve(name: str, revision: str | None, *, weights: bool = True) -> tuple[Path, str | None]:
    """Return the local folder of a model and, for a hub id, its commit.

    A folder created by ``veridical models convert`` takes precedence over the hub, unless a
    revision is given.

    Args:
        weights: False for configuration and tokenizer only.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path, None
    earlier = converted(name)
    if revision is None and earlier.is_dir():
        return earlier, None
    import huggingface_hub

    patterns = _PATTERNS if weights else [p for p in _PATTERNS if p != "*.safetensors"]
    try:
        folder = Path(
            huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=patterns)
        )
    except Exception as e:  # network, cache, authorisation and naming errors alike
        raise ModelError(
            f"{name!r} is not a folder and could not be downloaded from the hub: {first_line(e)}. "
            f"Run, with a network: {convert_command(name)}"
        ) from e
    if weights and not any(folder.rglob("*.safetensors")):
        raise ModelError(
            f"{name} has no weights in safetensors, and others are not supported; run: "
            f"{convert_command(name)}"
        )
    return folder, folder.name


def converted(name: str) -> Path:
    """Return the folder in the cache that ``veridical models convert`` creates for ``name``."""
    return cache_folder() / "models" / re.sub(r"[^\w.-]", "--", name).lstrip(".")


def convert_command(name: str) -> str:
    """Return the command that downloads ``name`` and converts pickled weights."""
    return f"veridical models convert {name}"


def tokenizer_of(folder: Path, transformers: Any) -> Any:
    """Load the ``tokenizers.Tokenizer`` of a model folder, converted by transformers if needed."""
    if (folder / "tokenizer.json").is_file():
        return load_tokenizer(folder)
    try:  # older repositories have only vocabularies, which transformers converts
        slow = transformers.AutoTokenizer.from_pretrained(folder, **LOCAL)
        return slow.backend_tokenizer
    except Exception as e:
        raise ModelError(f"{folder} has no usable tokenizer: {first_line(e)}") from e


def has_tokenizer(folder: Path) -> bool:
    """Return True if a folder has a tokenizer or its source files."""
    return any((folder / n).is_file() for n in ("tokenizer.json", "spiece.model", "vocab.json"))


def own_files(folder: Path, commit: str | None) -> list[Path]:
    """Return the files that identify a model: all, or only the tokenizer's if there is a commit."""
    weights = sorted(folder.glob("*.safetensors")) if commit is None else []
    return [*weights, *(p for p in [folder / "tokenizer.json"] if p.is_file())]


def first_line(e: Exception) -> str:
    """Return the first line of an error's message, or its class."""
    lines = str(e).strip().splitlines()
    return lines[0] if lines else type(e).__name__


def release(text: str) -> tuple[int, int]:
    """Return major and minor number of a version."""
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
