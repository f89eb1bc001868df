"""Where shards live: a folder, or a prefix in an object store.

Names are relative, their parts separated by slashes. Whatever decides who has a shard, and that
it is done, goes by what the place does as a whole or not at all: a lock and a rename in a folder
(:class:`Folder`), a conditional write in an object store
(:class:`~veridical.scale.objects.ObjectPlace`).
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
_PATIENCE = 30.0  # seconds for a lock that is held for moments


class Held(Protocol):
    """A shard that is this process's to score.

    Attributes:
        lost: another has it now; what is under way stops.
    """

    @property
    def lost(self) -> bool: ...


class Journaled(Protocol):
    """Copies of the journal of a shard's LLM calls, where other computers find them."""

    def fetch(self) -> None:
        """Take in what was copied, before the shard is scored.

        Raises:
            UsageError: it cannot be read, or the journal cannot be written.
        """
        ...

    def copy(self, *, now: bool = False) -> None:
        """Copy what is new, if the time has come, or ``now``."""
        ...

    def bills(self, run: str) -> list[dict[str, Any]]:
        """What calls came to that were made for the shard under other names than ``run``.

        Raises:
            UsageError: the journal cannot be read.
        """
        ...

    def discard(self) -> None:
        """Remove the copies: the shard is done."""
        ...


class ShardStore(Protocol):
    """See the module.

    Attributes:
        name: as the user gave it.
        wait: seconds between two looks at shards that others have.
        patience: seconds after which a shard that another has is known not to be free.
        remote: what is written here is seen by others' computers: local files are copied to it.
    """

    name: str
    wait: float
    patience: float
    remote: bool

    def prepare(self, first: str) -> None:
        """See, before shards are planned, that the place is empty, or holds ``first``.

        Raises:
            UsageError: it holds something else, or cannot be used.
        """
        ...

    def read(self, name: str) -> bytes:
        """
        Raises:
            FileNotFoundError: there is nothing of that name.
            UsageError: it cannot be read.
        """
        ...

    def fixed(self, name: str, text: str) -> str:
        """Give the new file ``name`` the content ``text``, whole, unless it is there: its content.
        Of several processes that do so at once one wins.

        Raises:
            UsageError: it can be neither written nor read.
        """
        ...

    def names(self, folder: str) -> set[str]:
        """What is in a folder; nothing where there is none.

        Raises:
            UsageError: it cannot be read.
        """
        ...

    def commit(self, parquet: str, draft: Path, about: str, said: Callable[[str], str]) -> None:
        """Make a part public: its Parquet file, then what says so. Doing so again is harmless.

        Args:
            draft: the Parquet file, which is used up.
            said: the content of ``about`` for a digest of the Parquet file.

        Raises:
            OSError: it cannot be written.
            UsageError: likewise.
        """
        ...

    def local(self, name: str) -> AbstractContextManager[Path]:
        """The file as one of this computer, while the block lasts.

        Raises:
            OSError: it cannot be read.
            UsageError: likewise.
        """
        ...

    def taking(self, shard: str) -> AbstractContextManager[Held | None]:
        """The shard of that name, while the block lasts; None where another has it."""
        ...

    def work_folder(self, shard: str) -> Path:
        """Where a shard is scored: a run directory of this computer's."""
        ...

    def journal(self, shard: str) -> Journaled | None:
        """The copies of the shard's journal; None where :meth:`work_folder` is seen by all who
        may score the shard."""
        ...

    def update(self, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Replace a file by what ``change`` makes of it, as if nobody else did so meanwhile.

        Args:
            change: of the content, None where there is none; gives the new one, or None to leave
                it. It may be called several times.

        Raises:
            UsageError: it cannot be read or written.
        """
        ...


class _Mine:
    """A lock of a file: nobody takes it away."""

    lost = False


class Folder:
    """Shards in a folder of this computer, or of a file system that honours locks."""

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
            raise UsageError(f"{self.name} is not empty (it holds {strange!r}): name a new folder")

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
                    os.link(draft, path)  # fails where another was quicker
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
    def taking(self, shard: str) -> Iterator[Held | None]:
        """See :meth:`ShardStore.taking`."""
        (self.path / LOCKS).mkdir(exist_ok=True)
        lock = try_lock(self.path / LOCKS / f"{shard}.lock")
        try:
            yield None if lock is None else _Mine()
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
                raise UsageError(f"{path} is in use by another process")
            content = change(path.read_bytes() if path.exists() else None)
            if content is not None:
                write_atomic(path, content, private=True)
        except OSError as e:
            raise UsageError(f"cannot write {path}: {e.strerror}") from None
        finally:
            if lock is not None:
                os.close(lock)


def digest(path: Path) -> str:
    """BLAKE2b of a file, 32 hex digits."""
    h = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            h.update(block)
    return h.hexdigest()


def remove(folder: Path) -> None:
    """Remove what was left of scoring a shard."""
    shutil.rmtree(folder, ignore_errors=True)
