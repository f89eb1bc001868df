"""Checkers: language models trained to judge statements against documents.

Each is a LoRA adapter that llama.cpp loads over fetched weights. The adapters come in the package
``veridical-checker``: a folder for each checker, with ``adapter.gguf`` and ``checker.json``, which
names the base, the adapter's hash and the calibration (``training/checker_lora.py`` writes both).
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
#: Stands for the best checker that is here, as an LLM.
AUTO = "auto"
#: How the adapters come to be here.
HOW = (
    f"pip install ./packages/{PACKAGE} (in a checkout of this project), or veridical models get "
    "{name} --file WHEEL"
)
_MODULE = PACKAGE.replace("-", "_")
_ADAPTER, _CARD = "adapter.gguf", "checker.json"
#: What reading a damaged archive raises.
_DAMAGES = (
    *(OSError, ValueError, RuntimeError, EOFError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
_MOST = 100 << 20  # bytes of a file in a wheel


@dataclass(frozen=True)
class KnownChecker:
    """A checker that may be here.

    Attributes:
        name: what ``veridical models get`` and ``local:NAME`` call it.
        weights: name of the weights that it is an adapter of.
    """

    name: str
    weights: str

    @property
    def base(self) -> Weights:
        """The weights that it is an adapter of."""
        return download.WEIGHTS[self.weights]


@dataclass(frozen=True)
class Adapter:
    """The adapter of a checker.

    Attributes:
        path: GGUF file for llama.cpp.
        sha256: what the file must have.
        intercept, slope: risk = sigmoid(intercept + slope x log-odds of anything but yes).
    """

    path: Path
    sha256: str
    intercept: float
    slope: float


#: All checkers, the least first.
CHECKERS = {
    name: KnownChecker(name, weights)
    for name, weights in (("checker-0.5b", "qwen-0.5b"), ("checker-1.5b", "qwen-1.5b"))
}


def named_by(address: str) -> KnownChecker | None:
    """Return the checker that the address ``local:...`` of an endpoint names, or None."""
    name = ModelName.parse(address)
    return CHECKERS.get(name.place) if name.kind == "local" else None


def find(checker: KnownChecker) -> Adapter | None:
    """Return the adapter, of the installed package or kept by ``veridical models get``.

    Raises:
        ModelError: its description cannot be read, or it is for other weights.
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
    """Return the adapter, checked by its hash.

    Raises:
        ModelError: it is not here, or damaged.
    """
    found = find(checker)
    if found is None:
        lacks = f"{PACKAGE} is installed without it: " if _installed() else ""
        raise ModelError(
            f"the adapter of {checker.name} is not here: {lacks}{HOW.format(name=checker.name)}"
        )
    if hashlib.sha256(found.path.read_bytes()).hexdigest() != found.sha256:
        raise ModelError(f"{found.path} is damaged: {HOW.format(name=checker.name)}")
    return found


def calibration(checker: KnownChecker) -> tuple[float, float]:
    """Return intercept and slope of the risk; those of no calibration where the adapter is not
    here, as when a run is planned."""
    found = find(checker)
    return (0.0, 1.0) if found is None else (found.intercept, found.slope)


def best() -> KnownChecker | None:
    """Return the largest checker whose base and adapter are here."""
    here = (c for c in reversed(CHECKERS.values()) if download.find(c.base) and find(c))
    return next(here, None)


def take(checker: KnownChecker, wheel: Path) -> Path:
    """Keep the adapter that a ``wheel`` of the package holds in the user's cache; its path.

    Raises:
        UsageError: there is no such file, or the cache cannot be written.
        ModelError: it holds no such adapter, or a damaged one. Nothing of it is kept then.
    """
    if not wheel.is_file():
        raise UsageError(f"{wheel}: no such file")
    place = cache_folder() / PACKAGE / checker.name
    try:
        with zipfile.ZipFile(wheel) as archive:
            card, adapter = (_member(archive, checker, name) for name in (_CARD, _ADAPTER))
    except KeyError:
        raise ModelError(f"{wheel} holds no adapter of {checker.name}") from None
    except _DAMAGES as e:
        raise ModelError(f"{wheel} is no wheel of {PACKAGE}: {e}") from None
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
    """Return the package's wheel that ``place`` is, or the newest in that folder; else None."""
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
    if entry.file_size > _MOST:
        raise ValueError(f"{name} has {entry.file_size:,} bytes")
    return archive.read(entry)


def _read(checker: KnownChecker, card: Path, content: bytes) -> Adapter:
    """Read the description of an adapter, whose file is beside ``card``.

    Raises:
        ModelError: it cannot be read, or the adapter is for other weights.
    """
    try:
        told: dict[str, Any] = json.loads(content)
        intercept, slope = (float(value) for value in told["calibration"])
        base, digest = told["base"]["sha256"], str(told["sha256"])
        if not (math.isfinite(intercept) and 0 < slope < math.inf):
            raise ValueError("it has no calibration")
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as e:
        raise ModelError(f"{card} describes no adapter: {e!r}") from None
    if base != checker.base.sha256:
        raise ModelError(f"{card}: the adapter is for other weights than {checker.base.name}")
    return Adapter(card.with_name(_ADAPTER), digest, intercept, slope)
