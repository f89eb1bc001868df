"""Files that are replaced whole: a reader sees the old one or the new one, never a part."""

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

#: Mode of files and folders that hold prompts, answers or replies: their owner's alone.
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_TRIES = 100


@contextmanager
def replacing(path: Path, *, private: bool = False, binary: bool = False) -> Iterator[IO[Any]]:
    """A new file that takes the name ``path`` when the block ends without an error.

    The draft lies beside ``path`` under a random name and is created exclusively, so a file or
    link that somebody else has put there is never written to. Where ``path`` is a link, the link
    is replaced and not its target.

    Args:
        path: the file to replace or make.
        private: only the owner may read it; else what the process's umask says.
        binary: yields a binary file; else one of UTF-8 text with plain newlines, in which lone
            surrogates are replaced. Its ``name`` is the draft's path.

    Raises:
        OSError: the file cannot be written; what was there stays.
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
    """Write ``content`` so that a reader sees the old file or the whole new one.

    Raises:
        OSError: the file cannot be written; what was there stays.
    """
    with replacing(path, private=private, binary=isinstance(content, bytes)) as file:
        file.write(content)


def need_new_folder(path: Path) -> None:
    """Refuse to make a folder (:func:`making_folder`) where something is.

    Raises:
        UsageError: there is a file, or a folder that is not empty.
    """
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise UsageError(f"{path} is there already: name a new folder")


@contextmanager
def making_folder(path: Path) -> Iterator[Path]:
    """A new folder that takes the name ``path`` when the block ends without an error. There may
    be an empty one of that name.

    Raises:
        OSError: it cannot be made.
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
    """Whether ``name`` is what :func:`replacing` calls a draft of the file named ``of``: left by
    a killed process, it can be removed."""
    return name.startswith(f".{_short(of)}.") and name.endswith(".tmp")


def _short(name: str) -> str:
    """``name``, or where a draft's would be too long for the file system, what stands for it."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= 200 else hashlib.blake2b(encoded, digest_size=8).hexdigest()


def _exclusive(path: Path, mode: int) -> tuple[Path, int]:
    for _ in range(_TRIES):
        draft = path.with_name(f".{_short(path.name)}.{secrets.token_hex(8)}.tmp")
        try:
            return draft, os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            continue
    raise FileExistsError(f"no free name for a draft beside {path}")
