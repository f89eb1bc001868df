"""Shards under a prefix of an object store, coordinated by conditional writes.

A shard is claimed by an object, its lease, which names the owner and changes with every heartbeat.
A process that finds a lease unchanged for its duration takes it over, by a write that fails if it
has changed. Each computer measures time for itself, so no two clocks are compared. An owner that
cannot verify its lease for long stops by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from veridical.errors import UsageError
from veridical.files import s3
from veridical.files.seals import SECRET_VARIABLE
from veridical.llm.journal import JOURNAL
from veridical.llm.journal_copies import Foreign, JournalCopies
from veridical.scale.place import digest

JOURNALS = "journals"
LEASES = "leases"
_BEATS = 6  # heartbeats per lease duration
_SURE = 0.7  # part of the duration for which an owner may continue without verifying its lease
_COPY = 5.0  # minimum seconds between two copies of a journal
_log = logging.getLogger("veridical.scale")
_TRIES = 200  # attempts to change an object that others change at the same time


class ShardLease(BaseModel):
    """Owner of a shard.

    Attributes:
        token: unique to this claim.
        owner: the computer and process, for humans.
        seconds: the lease is void if unchanged for this time.
        beat: heartbeats so far.
        released: whether it has no owner.
        takeovers: number of owners that lost it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    token: str
    owner: str
    seconds: float = Field(gt=0, le=86_400)
    beat: int = 0
    released: bool = False
    takeovers: int = 0


class OwnedLease:
    """Lease owned by this process; a thread sends its heartbeats.

    Attributes:
        lease: as written last.
        lost: whether another process has taken it over, or may have.
    """

    def __init__(self, place: ObjectPlace, name: str, lease: ShardLease, tag: str) -> None:
        self._place, self._name, self._tag = place, name, tag
        self.lease = lease
        self.lost = False
        self._sure = time.monotonic()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._live, daemon=True, name="veridical-lease")
        self._thread.start()

    def _live(self) -> None:
        while not self._end.wait(self.lease.seconds / _BEATS):
            with contextlib.suppress(UsageError):  # the server may be reachable again later
                self._write(self.lease.model_copy(update={"beat": self.lease.beat + 1}))
            if time.monotonic() - self._sure > _SURE * self.lease.seconds:
                self.lost = True
            if self.lost:
                return

    def _write(self, lease: ShardLease) -> None:
        sent = time.monotonic()
        tag = self._place.replace(self._name, lease.model_dump_json().encode(), self._tag)
        if tag is None:  # if the answer to a successful write was lost, the repetition is refused
            content, tag = self._place.tagged(self._name)
            if content != lease.model_dump_json().encode():
                self.lost = True
                return
        self.lease, self._tag, self._sure = lease, tag, sent

    def release(self) -> None:
        """Release the shard."""
        self._end.set()
        self._thread.join()
        if not self.lost:
            with contextlib.suppress(UsageError, FileNotFoundError):  # it expires by itself
                self._write(self.lease.model_copy(update={"released": True}))


class ObjectPlace:
    """Shards under ``s3://BUCKET/PREFIX``.

    Args:
        seconds: of a lease, see :class:`ShardLease`.

    Raises:
        UsageError: the address is invalid, or the extra or the credentials are missing.
    """

    remote = True

    def __init__(self, address: str, seconds: float) -> None:
        self._address = s3.parse(address)
        self.name = str(self._address).removesuffix("/")
        self._store = s3.objects(self._address.bucket)
        self._seconds = seconds
        self.wait = min(2.0, seconds / 10)
        self.patience = 2 * seconds
        self._seen: dict[
            str, tuple[str, float]
        ] = {}  # lease -> its tag, and the time since when it is unchanged

    def prepare(self, first: str) -> None:
        """See :meth:`ShardStore.prepare`."""
        with self._told():
            found = [
                self._below(entry["path"])
                for entry in next(iter(self._store.list(self._key("") or None, chunk_size=8)), [])
            ]
        strange = next((name for name in found if name != first), None)
        if strange is not None and not self._is_there(first):
            raise UsageError(
                f"{self.name} is not empty (it contains {strange!r}); choose a new prefix"
            )

    def read(self, name: str) -> bytes:
        """See :meth:`ShardStore.read`."""
        return self.tagged(name)[0]

    def fixed(self, name: str, text: str) -> str:
        """See :meth:`ShardStore.fixed`."""
        self.create(name, text.encode())
        return self.read(name).decode("utf-8", "replace")

    def names(self, folder: str) -> set[str]:
        """See :meth:`ShardStore.names`."""
        prefix = f"{folder}/"
        with self._told():
            return {
                self._below(entry["path"]).removeprefix(prefix)
                for some in self._store.list(self._key(folder))
                for entry in some
            }

    def commit(self, parquet: str, draft: Path, about: str, said: Callable[[str], str]) -> None:
        """See :meth:`ShardStore.commit`. An existing part with the same records is kept."""
        if self.create(parquet, draft) is not None:
            mark = digest(draft)
        else:
            self._agree(parquet, draft)
            with self.local(parquet) as there:
                mark = digest(there)
        draft.unlink()
        content = said(mark).encode()
        if self.create(about, content) is None:
            known, tag = self.tagged(about)
            if mark.encode() not in known:  # of a Parquet file that was removed
                self.replace(about, content, tag)

    def _agree(self, parquet: str, draft: Path) -> None:
        """Check that an existing Parquet file has the same records as ``draft``; else replace
        it.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        tag = self.tagged(parquet)[1]
        columns = ["row", "record"]
        with self.local(parquet) as there:
            try:
                alike = pq.read_table(there, columns=columns).equals(
                    pq.read_table(draft, columns=columns)
                )
            except (pa.ArrowException, OSError, ValueError):
                alike = False
        if not alike:
            self.replace(parquet, draft, tag)

    @contextlib.contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """See :meth:`ShardStore.local`."""
        with tempfile.TemporaryDirectory(prefix="veridical-") as folder:
            path = Path(folder) / "part"
            with self._told(), path.open("wb") as file:
                for block in self._store.get(self._key(name)):
                    file.write(block)
            yield path

    @contextlib.contextmanager
    def taking(self, shard: str) -> Iterator[OwnedLease | None]:
        """See :meth:`ShardStore.taking`."""
        held = self._take(f"{LEASES}/{shard}.json")
        try:
            yield held
        finally:
            if held is not None:
                held.release()

    def _take(self, name: str) -> OwnedLease | None:
        lease = ShardLease(
            token=secrets.token_hex(8),
            owner=f"{socket.gethostname()}:{os.getpid()}",
            seconds=self._seconds,
        )
        tag = self.create(name, lease.model_dump_json().encode())
        if tag is None:
            content, there = self.tagged(name)
            known = _lease(content)
            if known is not None and known.token == lease.token:
                tag = there  # the answer to the write was lost
            elif known is None or known.released or self._is_void(name, there, known.seconds):
                lost = 0 if known is None else known.takeovers + (not known.released)
                lease = lease.model_copy(update={"takeovers": lost})
                tag = self.replace(name, lease.model_dump_json().encode(), there)
        return None if tag is None else OwnedLease(self, name, lease, tag)

    def _is_void(self, name: str, tag: str, seconds: float) -> bool:
        """Return True if this process has seen the lease unchanged for its duration."""
        seen, since = self._seen.get(name, ("", 0.0))
        if seen != tag:
            self._seen[name] = tag, time.monotonic()
            return False
        return time.monotonic() - since > seconds

    def work_folder(self, shard: str) -> Path:
        """See :meth:`ShardStore.work_folder`."""
        which = hashlib.blake2b(self.name.encode(), digest_size=8).hexdigest()
        return Path(".veridical", "shards", which, shard).absolute()

    def journal(self, shard: str) -> ShardJournal:
        """See :meth:`ShardStore.journal`."""
        every = min(_COPY, self._seconds / _BEATS)
        return ShardJournal(self, shard, self.work_folder(shard), every)

    def remove(self, folder: str) -> None:
        """Remove all objects of a folder.

        Raises:
            UsageError: they cannot be removed.
        """
        with self._told():
            self._store.delete([self._key(f"{folder}/{name}") for name in self.names(folder)])

    def update(self, name: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """See :meth:`ShardStore.update`."""
        for _ in range(_TRIES):
            try:
                known, tag = self.tagged(name)
            except FileNotFoundError:
                content = change(None)
                if content is None or self.create(name, content) is not None:
                    return
            else:
                content = change(known)
                if content is None or self.replace(name, content, tag) is not None:
                    return
            time.sleep(secrets.randbelow(100) / 1000)
        raise UsageError(f"{self.name}/{name} is being changed by other processes; try again")

    def tagged(self, name: str) -> tuple[bytes, str]:
        """Return the content of an object, and the tag of that version.

        Raises:
            FileNotFoundError: it does not exist.
            UsageError: it is unreadable.
        """
        with self._told():
            result = self._store.get(self._key(name))
            return bytes(result.bytes()), str(result.meta["e_tag"])

    def create(self, name: str, content: bytes | Path) -> str | None:
        """Create an object; return its tag, or None if it exists.

        Raises:
            UsageError: it cannot be written.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            with self._told():
                return self._put(name, content, "create")
        except (AlreadyExistsError, PreconditionError):
            return None

    def replace(self, name: str, content: bytes | Path, tag: str) -> str | None:
        """Replace the version ``tag`` of an object; return the new tag, or None if it has
        changed.
        """
        from obstore.exceptions import PreconditionError

        with contextlib.suppress(PreconditionError, FileNotFoundError), self._told():
            return self._put(name, content, {"e_tag": tag})
        return None

    def _put(self, name: str, content: bytes | Path, mode: Any) -> str:
        result = self._store.put(self._key(name), content, mode=mode, use_multipart=False)
        return str(result["e_tag"])

    def _is_there(self, name: str) -> bool:
        try:
            with self._told():
                self._store.head(self._key(name))
        except FileNotFoundError:
            return False
        return True

    def _told(self) -> contextlib.AbstractContextManager[None]:
        return s3.plain_errors(self._address)

    def _key(self, name: str) -> str:
        return "/".join(part for part in (self._address.key, name) if part)

    def _below(self, key: str) -> str:
        return key.removeprefix(f"{self._address.key}/") if self._address.key else key


def _lease(content: bytes) -> ShardLease | None:
    try:
        return ShardLease.model_validate_json(content)
    except ValidationError:
        return None


class ShardJournal:
    """Copies of a shard's journal, at most one in ``every`` seconds.

    A new owner on another computer then does not pay for its LLM calls again. Calls of the last
    seconds that were not copied before an owner was lost may be paid twice.

    Args:
        folder: the run directory in which the shard is scored.
    """

    def __init__(self, place: ObjectPlace, shard: str, folder: Path, every: float) -> None:
        self._place, self._shard = place, shard
        self._below = f"{JOURNALS}/{shard}"
        self._copies = JournalCopies(folder / JOURNAL)
        self._token = secrets.token_hex(8)
        self._every, self._due, self._number = every, 0.0, 0
        self._unwritten: bytes | None = None

    def fetch(self) -> None:
        """Load the copies of the shard's journal, by this computer or another.

        Raises:
            UsageError: they are unreadable, or the journal cannot be written.
        """
        pieces = []
        for name in self._place.names(self._below):
            with contextlib.suppress(
                FileNotFoundError
            ):  # another process has just finished the shard
                pieces.append(self._place.read(f"{self._below}/{name}"))
        try:
            self._copies.take_in(pieces)
        except Foreign:
            _log.warning(
                "shard %s: LLM calls of another computer are repeated and paid again, because "
                "their "
                "replies are not sealed with this computer's secret; set the same %s on all",
                self._shard,
                SECRET_VARIABLE,
            )
            self._copies.take_in([])

    def copy(self, *, now: bool = False) -> None:
        """Copy new rows if due, or if ``now``. If the server does not respond, retry next time."""
        if not now and time.monotonic() < self._due:
            return
        self._due = time.monotonic() + self._every
        with contextlib.suppress(UsageError):
            self._unwritten = self._unwritten or self._copies.piece()
            if self._unwritten is not None:
                name = f"{self._below}/{self._token}-{self._number:06}"
                self._place.create(name, self._unwritten)
                self._unwritten, self._number = None, self._number + 1

    def totals(self, run: str) -> list[dict[str, Any]]:
        """See :meth:`veridical.scale.place.JournalStore.totals`."""
        return [ledger.as_dict() for ledger in self._copies.totals(but=run)]

    def discard(self) -> None:
        """Remove the copies: the shard is done."""
        with contextlib.suppress(UsageError):
            self._place.remove(self._below)
