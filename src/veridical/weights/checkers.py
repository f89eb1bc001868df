"""Checkers: LoRA adapters that judge statements against documents.

llama.cpp loads each adapter over downloaded base weights. The adapters come in the package
``veridical-checker``. Each checker has a folder with ``adapter.gguf`` and ``checker.json``, both
written by ``training/checker_lora.py``. The latter has the base, the adapter's hash and the
calibration.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import zipfile
import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from veridical.core.model_names import ModelName
from veridical.errors import ModelError, UsageError
from veridical.files.atomic import write_atomic
from veridical.weights import cache_folder, download
from veridical.weights.table import Weights

PACKAGE = "veridical-checker"
#: LLM name of the best available checker.
AUTO = "auto"
#: Instructions for installing the adapters.
HOW = (
    f"pip install ./packages/{PACKAGE} (in a checkout of this project), or veridical models get "
    "{name} --file WHEEL"
)
_MODULE = PACKAGE.replace("-", "_")
_ADAPTER, _CARD = "adapter.gguf", "checker.json"
#: Errors from reading a damaged archive.
_DAMAGES = (
    *(OSError, ValueError, RuntimeError, EOFError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
_MAX_FILE_BYTES = 100 << 20  # in a wheel


@dataclass(frozen=True)
class KnownChecker:
    """A known checker, installed or not.

    Attributes:
        name: name in ``veridical models get`` and ``local:NAME``.
        weights: name of its base weights.
    """

    name: str
    weights: str

    @property
    def base(self) -> Weights:
        """Return its base weights."""
        return download.WEIGHTS[self.weights]


@dataclass(frozen=True)
class Adapter:
    """The adapter of a checker.

    Attributes:
        path: GGUF file for llama.cpp.
        sha256: expected hash of the file.
        intercept, slope: risk = sigmoid(intercept + slope x log-odds of anything but yes).
    """

    path: Path
    sha256: str
    intercept: float
    slope: float


#: All checkers, the smallest first.
CHECKERS = {
    name: KnownChecker(name, weights)
    for name, weights in (("checker-0.5b", "qwen-0.5b"), ("checker-1.5b", "qwen-1.5b"))
}


def named_by(address: str) -> KnownChecker | None:
    """Return the checker named by an endpoint's address ``local:...``, or None."""
    name = ModelName.parse(address)
    return CHECKERS.get(name.place) if name.kind == "local" else None


def find(checker: KnownChecker) -> Adapter | None:
    """Return the adapter from the installed package or the cache, or None.

    Raises:
        ModelError: its description cannot be read, or it belongs to other weights.
    """
    for folder in [*_installed(), cache_folder() / PACKAGE]:
        place = folder / checker.name
        if (place / _ADAPTER).is_file() and (place / _CARD).is_file():
            try:
                content = (place / _CARD).read_bytes()
            except OSError as e:
                raise ModelError(f"{place / _CARD} cannot be read: {e.strerror or e}") from None
            return _read(checker, place / _CARD, content)
    return None


def need(checker: KnownChecker) -> Adapter:
    """Return the adapter after checking its hash.

    Raises:
        ModelError: it is not installed, or damaged.
    """
    found = find(checker)
    if found is None:
        lacks = f"{PACKAGE} is installed without it; " if _installed() else ""
        raise ModelError(
            f"no adapter of {checker.name} is installed: {lacks}{HOW.format(name=checker.name)}"
        )
    if hashlib.sha256(found.path.read_bytes()).hexdigest() != found.sha256:
        raise ModelError(f"{found.path} is damaged: {HOW.format(name=checker.name)}")
    return found


def calibration(checker: KnownChecker) -> tuple[float, float]:
    """Return intercept and slope of the risk.

    Without an adapter, as in a plan, they are those of no calibration.
    """
    found = find(checker)
    return (0.0, 1.0) if found is None else (found.intercept, found.slope)


def best() -> KnownChecker | None:
    """Return the largest checker whose base and adapter are available, or None."""
    here = (c for c in reversed(CHECKERS.values()) if download.find(c.base) and find(c))
    return next(here, None)


def take(checker: KnownChecker, wheel: Path) -> Path:
    """Copy the adapter in a ``wheel`` of the package to the user's cache; return its path.

    Raises:
        UsageError: there is no such file, or the cache cannot be written.
        ModelError: it has no such adapter, or a damaged one. Nothing is kept then.
    """
    if not wheel.is_file():
        raise UsageError(f"{wheel}: no such file")
    place = cache_folder() / PACKAGE / checker.name
    try:
        with zipfile.ZipFile(wheel) as archive:
            card, adapter = (_member(archive, checker, name) for name in (_CARD, _ADAPTER))
    except KeyError:
        raise ModelError(f"{wheel} has no adapter of {checker.name}") from None
    except _DAMAGES as e:
        raise ModelError(f"{wheel} is not a wheel of {PACKAGE}: {e}") from None
    found = _read(checker, place / _CARD, card)
    if hashlib.sha256(adapter).hexdigest() != found.sha256:
        raise ModelError(f"{wheel}: {_ADAPTER} of {checker.name} is damaged; nothing was kept")
    try:
        place.mkdir(parents=True, exist_ok=True)
        write_atomic(place / _CARD, card)
        write_atomic(found.path, adapter)
    except OSError as e:
        raise UsageError(f"cannot write {place}: {e.strerror or e}") from None
    return found.path


def wheel_of(place: Path) -> Path | None:
    """Return ``place`` if it is the package's wheel, or the newest one in that folder; else
    None.
    """
    if place.is_dir():
        return max(place.glob(f"{_MODULE}-*.whl"), default=None)
    return place if place.match(f"{_MODULE}-*.whl") else None


def _installed() -> list[Path]:
    """Return the folders of the installed package, without importing it."""
    try:
        spec = find_spec(_MODULE)
    except (ImportError, ValueError):
        return []
    return [Path(p) for p in spec.submodule_search_locations or []] if spec else []


def _member(archive: zipfile.ZipFile, checker: KnownChecker, name: str) -> bytes:
    entry = archive.getinfo(f"{_MODULE}/{checker.name}/{name}")
    if entry.file_size > _MAX_FILE_BYTES:
        raise ValueError(f"{name} has {entry.file_size:,} bytes")
    return archive.read(entry)


def _read(checker: KnownChecker, card: Path, content: bytes) -> Adapter:
    """Read the description of an adapter in ``card``, next to its file.

    Raises:
        ModelError: it cannot be read, or the adapter belongs to other weights.
    """
    try:
        found: dict[str, Any] = json.loads(content)
        intercept, slope = (float(value) for value in found["calibration"])
        base, digest = found["base"]["sha256"], str(found["sha256"])
        if not (math.isfinite(intercept) and 0 < slope < math.inf):
            raise ValueError("there is no calibration")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as e:
        raise ModelError(f"{card} is not a valid adapter description: {e!r}") from None
    if base != checker.base.sha256:
        raise ModelError(f"{card}: the adapter belongs to other weights than {checker.base.name}")
    return Adapter(card.with_name(_ADAPTER), digest, intercept, slope)
