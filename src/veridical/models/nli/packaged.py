"""This project's NLI models: the embedded small one, and a larger one."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from veridical.core.model_names import ModelName
from veridical.errors import ModelError, UsageError
from veridical.files.atomic import write_atomic
from veridical.weights import cache_folder

#: Name of the larger model if installed, else of the small one.
AUTO = "auto"
MINI = "veridical-nli-mini"
BASE = "veridical-nli-base"
#: Short names for ``--nli`` and ``nli=``.
SHORT = {"mini": MINI, "base": BASE}
#: The suites with rows that both were trained on.
TRAINED_ON: dict[str, tuple[str, ...]] = {"halueval": ("qa",)}

_EMBEDDED = Path(__file__).parent.parent / "data" / MINI
_PACKAGE = "veridical_nli_base"
_SUMS = "SHA256SUMS"
_WEIGHTS = "model.onnx"
_MAX_FILE_BYTES = 200 << 20  # in a wheel


@dataclass(frozen=True)
class Packaged:
    """An installed model.

    Attributes:
        folder: ``model.onnx``, tokenizer, configuration, calibration and ``SHA256SUMS``.
    """

    name: str
    folder: Path


def full_name(spec: str) -> str:
    """Return ``spec`` with the full name of its model; other names are unchanged."""
    name = ModelName.parse(spec)
    if name.head in (AUTO, ""):
        name = replace(name, place=BASE if find(BASE) else MINI)
    return str(replace(name, place=SHORT.get(name.head, name.place)))


def find(name: str) -> Packaged | None:
    """Return the model of a full name, if it is installed.

    For the larger one an installed package takes precedence over the copy of ``veridical models
    get``.
    """
    places = [_EMBEDDED] if name == MINI else [*_installed(), cache_folder() / BASE]
    folder = next((p for p in places if (p / _WEIGHTS).is_file()), None)
    return None if folder is None else Packaged(name, folder)


def open_early(spec: str, precision: str) -> None:
    """Start opening the model that ``spec`` names, if it is installed and has no options.

    See :func:`veridical.models.nli.onnx.open_early`.
    """
    from veridical.models.nli import onnx

    name = full_name(spec)
    found = find(name) if name in SHORT.values() else None
    if found is not None:
        onnx.open_early(found.folder, precision)


def need(name: str) -> Packaged:
    """Return the model of a full name, which must be installed.

    Raises:
        ModelError: it is not installed.
    """
    found = find(name)
    if found is not None:
        return found
    if name == MINI:
        raise ModelError(f"{name} is not in this installation; name another model")
    raise ModelError(f"{name} is not installed; run: {HOW}")


#: Instructions for installing the larger model.
HOW = (
    "pip install ./packages/veridical-nli-base (in a checkout of this project), or "
    "veridical models get nli-base --file WHEEL"
)


def _installed() -> list[Path]:
    """Return the folders of the installed package, without importing it."""
    try:
        spec = find_spec(_PACKAGE)
    except (ImportError, ValueError):
        return []
    places = [] if spec is None else spec.submodule_search_locations or []
    return [Path(place) / "model" for place in places]


def take(wheel: Path) -> Path:
    """Copy the larger model in its ``wheel`` to the user's cache; return the folder.

    Raises:
        UsageError: there is no such file.
        ModelError: it is not a wheel of the model, or is damaged. Nothing is kept then.
    """
    if not wheel.is_file():
        raise UsageError(f"{wheel}: no such file")
    place = cache_folder() / BASE
    try:
        with zipfile.ZipFile(wheel) as archive:
            sums = _read(archive, _SUMS)
            lines = [line.split() for line in sums.decode("utf-8").splitlines()]
            digests = {name: digest for digest, name in lines}
            files = {name: _read(archive, name) for name in digests}
        for name, content in files.items():
            if hashlib.sha256(content).hexdigest() != digests[name]:
                raise ModelError(f"{wheel}: {name} is damaged; nothing was kept")
        place.mkdir(parents=True, exist_ok=True)
        files[_SUMS] = sums
        for name in sorted(
            files, key=_WEIGHTS.__eq__
        ):  # last, as without them it does not count as installed
            write_atomic(place / name, files[name])
    except (OSError, KeyError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as e:
        raise ModelError(f"{wheel} is not a wheel of {BASE}: {e}") from None
    return place


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    """Read a file of the model in a wheel.

    Raises:
        KeyError: the wheel has no such file.
        ValueError: the name is a path outside, or the file is too large.
    """
    if PurePosixPath(name).name != name:
        raise ValueError(f"{name!r} is not a file name")
    entry = archive.getinfo(f"{_PACKAGE}/model/{name}")
    if entry.file_size > _MAX_FILE_BYTES:
        raise ValueError(f"{name} has {entry.file_size:,} bytes")
    return archive.read(entry)
