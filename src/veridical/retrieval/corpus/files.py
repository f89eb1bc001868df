"""The files of a corpus: which there are, which are read, and why the others are not."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from veridical.errors import UsageError

Kind = Literal["text", "html", "pdf", "rows"]

#: Kinds by extension. A file without one is taken for text, and is skipped if it is none.
KINDS: dict[str, Kind] = {
    "": "text",
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".markdown": "text",
    ".rst": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".jsonl": "rows",
    ".ndjson": "rows",
}
#: Bytes of a text, HTML or PDF file; files of rows are read row by row and have no limit.
LARGEST_FILE = 64 << 20
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One file that is to be read; ``name`` is its path under the corpus's folder."""

    name: str
    path: Path
    kind: Kind


class Skipped(NamedTuple):
    """A file, or a place in one, that is not read, and why; ``again``: another time it may be."""

    name: str
    reason: str
    again: bool = False


#: What no text of a record can hold.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def fit(text: str) -> str:
    """``text`` with a replacement character for each that a record cannot hold."""
    return _UNFIT.sub("\ufffd", text)


class Unreadable(Exception):
    """Why a file, or a document in it, is not read; said in the words of a reason."""


def listing(root: Path) -> Iterator[Entry | Skipped]:
    """Everything in a folder, or the one file, in order of name.

    Links are not followed, so that nothing outside the folder is read and no loop is walked.
    Names that begin with a full stop are passed over.

    Raises:
        UsageError: there is no such file or folder, or it cannot be listed.
    """
    if root.is_dir():
        yield from _folder(root, "")
        return
    if not root.exists():
        raise UsageError(f"there is no corpus at {root}")
    entry = _entry(root, shown(root.name))
    if isinstance(entry, Skipped):
        raise UsageError(f"{root} cannot be read as a corpus: {entry.reason}")
    yield entry


def _folder(folder: Path, prefix: str) -> Iterator[Entry | Skipped]:
    try:
        with os.scandir(folder) as entries:
            inside = sorted(
                (e for e in entries if not e.name.startswith(".")), key=lambda e: e.name
            )
    except OSError as e:
        if not prefix:
            raise UsageError(f"{folder} cannot be listed: {e.strerror}") from None
        yield Skipped(prefix, f"cannot be listed: {e.strerror}")
        return
    for item in inside:
        name = prefix + shown(item.name)
        if item.is_symlink():
            yield Skipped(name, "a link; links are not followed")
        elif item.is_dir(follow_symlinks=False):
            yield from _folder(Path(item.path), name + "/")
        else:
            yield _entry(Path(item.path), name)


def _entry(path: Path, name: str) -> Entry | Skipped:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return Skipped(name, f"files of the kind {shown(path.suffix)} are not read")
    return Entry(name, path, kind)


def shown(name: str) -> str:
    """A file's name as text: printable, and without half characters."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def opened(entry: Entry) -> BinaryIO:
    """The file, which is a plain one and not too large.

    Raises:
        Unreadable: it is another thing by now, or too large, or may not be read.
    """
    # neither a link put there since, nor a pipe that nobody writes to
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(entry.path, flags | getattr(os, "O_BINARY", 0))
    except OSError as e:
        raise Unreadable(f"cannot be opened: {e.strerror}") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise Unreadable("no plain file")
    if entry.kind != "rows" and status.st_size > LARGEST_FILE:
        os.close(fd)
        raise Unreadable(f"{status.st_size:,} bytes long; at most {LARGEST_FILE:,} are read")
    return os.fdopen(fd, "rb")


def content_hash(entry: Entry) -> bytes:
    """16-byte digest of the file's content, and of what reads it.

    Raises:
        Unreadable: as :func:`opened`, or it breaks off.
    """
    digest = hashlib.blake2b(entry.kind.encode(), digest_size=16)
    if entry.kind == "pdf":
        digest.update(_pdf_reader().encode())
    with opened(entry) as file:
        try:
            while block := file.read(_BLOCK):
                digest.update(block)
        except OSError as e:
            raise Unreadable(f"cannot be read: {e.strerror}") from None
    return digest.digest()


def _pdf_reader() -> str:
    try:
        return version("pypdf")
    except PackageNotFoundError:
        return ""
