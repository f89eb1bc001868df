"""Atomic file replacement: readers see the complete old or new file."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from veridical.errors import UsageError

#: Mode of files and folders with prompts, answers or replies: only for their owner.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_TRIES = 100


@contextmanager
def replacing(path: Path, *, private: bool = False, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a new file that replaces ``path`` when the block ends without an error.

    The draft is in the folder of ``path``, has a random name and is created exclusively. A file or
    link placed there by another user is therefore never written to. If ``path`` is a link, the link
    itself is replaced.

    Args:
        path: the file to replace or create.
        private: only the owner may read it; else the process's umask applies.
        binary: yields a binary file; else a UTF-8 text file with plain newlines, in which lone
            surrogates are replaced. Its ``name`` is the draft's path.

    Raises:
        OSError: the file cannot be written; the old one remains.
    """
    draft, descriptor = _exclusive(path, PRIVATE_FILE if private else 0o666)
    try:
        opener = lambda *_: descriptor  # noqa: E731
        if binary:
            file: IO[Any] = open(draft, "wb", opener=opener)  # noqa: SIM115
        else:
            file = open(  # noqa: SIM115
                draft, "w", encoding="utf-8", errors="replace", newline="\n", opener=opener
            )
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_atomic(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write ``content`` atomically: readers see the old file or the whole new one.

    Raises:
        OSError: the file cannot be written; the old one remains.
    """
    with replacing(path, private=private, binary=isinstance(content, bytes)) as file:
        file.write(content)


def need_new_folder(path: Path) -> None:
    """Check that a folder for :func:`making_folder` does not exist, or is empty.

    Raises:
        UsageError: there is a file, or a folder that is not empty.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} already exists; name a new folder")


@contextmanager
def making_folder(path: Path) -> Iterator[Path]:
    """Create a new folder that gets the name ``path`` when the block ends without an error. An
    empty folder with that name may exist.

    Raises:
        OSError: it cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{_short(path.name)}.", suffix=".tmp", dir=path.parent))
    try:
        folder = draft / "made"
        folder.mkdir()  # with the usual mode: the draft's own is private
        yield folder
        folder.replace(path)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def is_draft(name: str, of: str) -> bool:
    """Return True if ``name`` is a draft of :func:`replacing` for the file ``of``. A draft left by
    a killed process can be removed."""
    return name.startswith(f".{_short(of)}.") and name.endswith(".tmp")


def _short(name: str) -> str:
    """Return ``name``, or a hash of it if a draft's name would be too long for the file system."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= 200 else hashlib.blake2b(encoded, digest_size=8).hexdigest()


def _exclusive(path: Path, mode: int) -> tuple[Path, int]:
    for _ in range(_TRIES):
        draft = path.with_name(f".{_short(path.name)}.{secrets.token_hex(8)}.tmp")
        try:
            return draft, os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            continue
    raise FileExistsError(f"no free name for a draft next to {path}")
