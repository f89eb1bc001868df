"""Shard stores: a folder, or a prefix in an object store.

Names are relative, their parts separated by slashes. Ownership and completion of a shard rest on
atomic operations of the store. These are a lock and a rename in a folder (:class:`Folder`), and a
conditional write in an object store (:class:`~veridical.scale.objects.ObjectPlace`).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from veridical.errors import UsageError
from veridical.files.atomic import write_atomic
from veridical.files.locks import try_lock

PARTS, WORK, LOCKS = "parts", "work", "locks"
_PATIENCE = 30.0  # maximum seconds to wait for a lock that is held briefly


class OwnedShard(Protocol):
    """Shard owned by this process.

    Attributes:
        lost: whether another process has it now; scoring then stops.
    """

    @property
    def lost(self) -> bool: ...


class JournalStore(Protocol):
    """Copies of the journal of a shard's LLM calls, available to other computers."""

    def fetch(self) -> None:
        """Load the copies before the shard is scored.

        Raises:
            UsageError: they are unreadable, or the journal cannot be written.
        """
        ...

    def copy(self, *, now: bool = False) -> None:
        """Copy new rows if due, or if ``now``."""
        ...

    def totals(self, run: str) -> list[dict[str, Any]]:
        """Return the totals of the shard's calls that were made under other names than ``run``.

        Raises:
            UsageError: the journal is unreadable.
        """
        ...

    def discard(self) -> None:
        """Remove the copies: the shard is done."""
        ...


class ShardStore(Protocol):
    """Store of shards; see the module.

    Attributes:
        name: as the user gave it.
        wait: seconds between two checks for shards that others own.
        patience: seconds after which a shard owned by another is known to be busy.
        remote: whether other computers see the store, so that local files must be copied to it.
    """

    name: str
    wait: float
    patience: float
    remote: bool

    def prepare(self, first: str) -> None:
        """Check, before planning, that the store is empty or contains ``first``.

        Raises:
            UsageError: it contains other files, or is not usable.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return the content of a file.

        Raises:
            FileNotFoundError: it does not exist.
            UsageError: it is unreadable.
        """
        ...

    def fixed(self, name: str, text: str) -> str:
        """Create the file ``name`` with the content ``text`` unless it exists; return its content.

        If several processes do so at once, one succeeds.

        Raises:
            UsageError: it can be neither written nor read.
        """
        ...

    def names(self, folder: str) -> set[str]:
        """Return the names in a folder; empty if it does not exist.

        Raises:
            UsageError: it is unreadable.
        """
        ...

    def commit(self, parquet: str, draft: Path, about: str, said: Callable[[str], str]) -> None:
        """Publish a part: its Parquet file, then its JSON file. Repeated calls are harmless.

        Args:
            draft: the Parquet file, which is moved.
            said: the content of ``about`` for a digest of the Parquet file.

        Raises:
            OSError: it cannot be written.
            UsageError: likewise.
        """
        ...

    def local(self, name: str) -> AbstractContextManager[Path]:
        """Return a local copy of the file within a context.

        Raises:
            OSError: it is unreadable.
            UsageError: likewise.
        """
        ...

    def taking(self, shard: str) -> AbstractContextManager[OwnedShard | None]:
        """Own a shard within a context; None if another process has it."""
        ...

    def work_folder(self, shard: str) -> Path:
        """Return the local run directory in which a shard is scored."""
        ...

    def journal(self, shard: str) -> JournalStore | None:
        """Return the copies of the shard's journal.

        None if every process that may score the shard sees :meth:`work_folder`.
        """
        ...

    def update(self, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace a file by the result of ``change``, atomically.

        Args:
            change: maps the content (None if missing) to the new one, or None to leave it. It may
                be called several times.

        Raises:
            UsageError: it cannot be read or written.
        """
        ...


class _LockedShard:
    """Lock of a file, which cannot be lost."""

    lost = False


class Folder:
    """Shards in a local folder, or on a file system that supports locks."""

    wait = 0.2
    patience = 0.0
    remote = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def prepare(self, first: str) -> None:
        """See :meth:`ShardStore.prepare`."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            strange = next((p.name for p in self.path.iterdir() if p.name != first), None)
        except OSError as e:
            raise UsageError(f"{self.name}: {e.strerror}") from None
        if not (self.path / first).exists() and strange is not None:
            raise UsageError(
                f"{self.name} is not empty (it contains {strange!r}); choose a new folder"
            )

    def read(self, name: str) -> bytes:
        """See :meth:`ShardStore.read`."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            raise
        except OSError as e:
            raise UsageError(f"{self.name}: {e.strerror}") from None

    def fixed(self, name: str, text: str) -> str:
        """See :meth:`ShardStore.fixed`."""
        path = self.path / name
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            if not path.exists():
                write_atomic(draft, text, private=True)
                try:
                    os.link(draft, path)  # fails if another process was faster
                except FileExistsError:
                    pass
                finally:
                    draft.unlink(missing_ok=True)
            return path.read_text("utf-8")
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None

    def names(self, folder: str) -> set[str]:
        """See :meth:`ShardStore.names`."""
        try:
            return {entry.name for entry in os.scandir(self.path / folder)}
        except FileNotFoundError:
            return set()
        except OSError as e:
            raise UsageError(f"{self.path / folder}: {e.strerror}") from None

    def commit(self, parquet: str, draft: Path, about: str, said: Callable[[str], str]) -> None:
        """See :meth:`ShardStore.commit`."""
        place = self.path / parquet
        place.parent.mkdir(parents=True, exist_ok=True)
        content = said(digest(draft))
        draft.replace(place)
        write_atomic(self.path / about, content, private=True)

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """See :meth:`ShardStore.local`."""
        yield self.path / name

    @contextlib.contextmanager
    def taking(self, shard: str) -> Iterator[OwnedShard | None]:
        """See :meth:`ShardStore.taking`."""
        (self.path / LOCKS).mkdir(exist_ok=True)
        lock = try_lock(self.path / LOCKS / f"{shard}.lock")
        try:
            yield None if lock is None else _LockedShard()
        finally:
            if lock is not None:
                os.close(lock)

    def work_folder(self, shard: str) -> Path:
        """See :meth:`ShardStore.work_folder`."""
        return self.path / WORK / shard

    def journal(self, shard: str) -> None:
        """See :meth:`ShardStore.journal`."""

    def update(self, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """See :meth:`ShardStore.update`."""
        path = self.path / name
        lock = None
        try:
            (self.path / LOCKS).mkdir(exist_ok=True)
            lock = try_lock(self.path / LOCKS / f"{name}.lock", _PATIENCE)
            if lock is None:
                raise UsageError(f"{path} is in use by another process; try again later")
            content = change(path.read_bytes() if path.exists() else None)
            if content is not None:
                write_atomic(path, content, private=True)
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None
        finally:
            if lock is not None:
                os.close(lock)


def digest(path: Path) -> str:
    """Return the BLAKE2b digest of a file, 32 hex digits."""
    h = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def remove(folder: Path) -> None:
    """Remove the files left from scoring a shard."""
    shutil.rmtree(folder, ignore_errors=True)
