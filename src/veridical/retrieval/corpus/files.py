"""Files of a corpus: listing, reading, and reasons for skipping."""

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

#: Kinds by extension. A file without one is read as text, and skipped if it is not text.
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
    """A file to read; ``name`` is its path relative to the corpus."""

    name: str
    path: Path
    kind: Kind


class Skipped(NamedTuple):
    """A file, or a place in one, that was skipped, and the reason.

    ``again`` is True if a later attempt may succeed.
    """

    name: str
    reason: str
    again: bool = False


#: Characters that a record's text cannot contain.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def fit(text: str) -> str:
    """Replace each character that a record cannot contain by a replacement character."""
    return _UNFIT.sub("\ufffd", text)


class Unreadable(Exception):
    """The reason why a file or document is not read."""


def listing(root: Path) -> Iterator[Entry | Skipped]:
    """Yield everything in a folder, or the one file, in order of name.

    Links are not followed, so nothing outside the folder is read and loops are impossible. Names
    that begin with a full stop are skipped.

    Raises:
        UsageError: there is no such file or folder, or it cannot be listed.
    """
    if root.is_dir():
        yield from _folder(root, "")
        return
    if not root.exists():
        raise UsageError(f"no such corpus: {root}")
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
            yield Skipped(name, "it is a link; links are not followed")
        elif item.is_dir(follow_symlinks=False):
            yield from _folder(Path(item.path), name + "/")
        else:
            yield _entry(Path(item.path), name)


def _entry(path: Path, name: str) -> Entry | Skipped:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        return Skipped(name, f"files of kind {shown(path.suffix)} are not supported")
    return Entry(name, path, kind)


def shown(name: str) -> str:
    """Return a file's name as printable text."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def opened(entry: Entry) -> BinaryIO:
    """Open the file, which must be regular and not too large.

    Raises:
        Unreadable: it is not a regular file any more, is too large, or cannot be read.
    """
    # neither a link created since, nor a pipe without a writer
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(entry.path, flags | getattr(os, "O_BINARY", 0))
    except OSError as e:
        raise Unreadable(f"cannot be opened: {e.strerror}") from None
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        os.close(fd)
        raise Unreadable("not a regular file")
    if entry.kind != "rows" and status.st_size > LARGEST_FILE:
        os.close(fd)
        raise Unreadable(f"{status.st_size:,} bytes, over the limit of {LARGEST_FILE:,}")
    return os.fdopen(fd, "rb")


def content_hash(entry: Entry) -> bytes:
    """Return a 16-byte digest of the file's content and of its reader.

    Raises:
        Unreadable: as :func:`opened`, or reading fails.
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
