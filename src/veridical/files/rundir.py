"""Run directory: manifest, append-only results, row errors; resumable after a kill.

``results.jsonl`` is written in the order in which records finish. No record is admitted more than
:data:`DISORDER` rows ahead of the oldest unfinished one, so a bounded buffer restores input order.
Every line is sealed and bound to the run and to the scored record. A damaged or planted line is not
used, and its row is run again. ``--retry-failed`` opens a new segment, whose lines replace earlier
ones; written results are never altered. Retried row errors leave ``errors.jsonl``, which holds the
first 10 000; ``errors.more.json`` counts further ones by cause.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from veridical.errors import RowError, UsageError, count_cause
from veridical.files.atomic import PRIVATE_FOLDER, is_draft, replacing, write_atomic
from veridical.files.locks import is_locked, try_lock
from veridical.files.rowlog import DISORDER, Distrusted, RowLog, Rows
from veridical.files.seals import seal, sealed_hex
from veridical.text.display import LONGEST_ERROR, cut

if TYPE_CHECKING:
    from veridical.core.records import Record

__all__ = ["DISORDER", "SPOOLED", "RunDirectory", "RunFiles", "Stored", "key_of"]

#: Maximum row errors stored individually, and their bytes; further ones are counted by cause.
MOST_ERRORS, MOST_ERROR_BYTES = 10_000, 8 << 20
_MANIFEST = "manifest.json"
_MORE_ERRORS = "errors.more.json"
SPOOLED = "input"  # a copy of a one-shot input
_LOCK = "run.lock"
#: Seconds for which a lock is tried, as a page may be checking if the run is in progress.
_PATIENCE = 0.2
_JOURNAL = "journal.sqlite"  # prefix of its files
_OWN = {_LOCK, _MANIFEST, "results.jsonl", "errors.jsonl", SPOOLED}
#: All files of a run except the journal of its LLM calls, whose costs remain paid.
_MADE = re.compile(
    r"(results|errors|answers|contexts)(\.retry-\d{4})?\.jsonl(\.errors\.jsonl)?"
    r"|decisions\.jsonl|promises\.json|ledger\.json|errors\.more\.json|answers\.lock"
    r"|manifest\.json|input|(selected|repair)-[0-9a-f]+|\..+\.[0-9a-f]{16}\.tmp"
)
_RECORD = re.compile(rb',"record":"([0-9a-f]{32})"\}$')
_RECORD_LENGTH = 12 + 32 + 2


class Stored(NamedTuple):
    """A result line and the digest of its record; None in a run of an older version."""

    row: int
    record: str | None
    line: bytes


def key_of(identity: Mapping[str, Any]) -> str:
    """Return the key that binds the lines of a run."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def stored_line(row: int, line: bytes) -> Stored:
    """Return a line of the results log, and the record to which it is bound."""
    if bound := _RECORD.search(line, max(0, len(line) - _RECORD_LENGTH)):
        return Stored(row, bound[1].decode(), line[: bound.start()] + b"}")
    return Stored(row, None, line)


def check_free(path: Path) -> None:
    """Check, without creating anything, that no other process uses a run directory.

    Raises:
        UsageError: another process uses it.
    """
    if not (path / _LOCK).exists():
        return
    try:
        taken = is_locked(path / _LOCK)
    except OSError as e:
        raise UsageError(f"cannot make run directory {path}: {e}") from e
    if taken:
        raise UsageError(f"run directory {path} is in use by another process")


class RunFiles:
    """A run directory on disk, for reading.

    Attributes:
        resumed: number of records scored before; 0 if it is only read.
        distrusted: lines that are not used.
        unsealed: True if this computer sealed nothing in it, and it is shown nevertheless.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.resumed = 0
        self.distrusted = Distrusted()
        self.unsealed = False

    @cached_property
    def key(self) -> str:
        """Key that binds its lines."""
        return key_of(self.manifest()["identity"])

    @cached_property
    def results(self) -> RowLog:
        """Log of results."""
        return RowLog(self.path / "results.jsonl", self.key, "result")

    @cached_property
    def row_errors(self) -> RowLog:
        """Log of invalid rows."""
        return RowLog(self.path / "errors.jsonl", self.key, "row error")

    def manifest(self) -> dict[str, Any]:
        """Return the manifest of the run.

        Raises:
            UsageError: there is no readable manifest.
        """
        try:
            manifest = json.loads((self.path / _MANIFEST).read_bytes())
            if not isinstance(manifest.get("identity"), dict):
                raise ValueError("it has no identity")
        except FileNotFoundError:
            raise UsageError(
                f"{self.path} is not a readable run directory: it has no {_MANIFEST}"
            ) from None
        except (ValueError, OSError, AttributeError, RecursionError) as e:
            raise UsageError(
                f"{self.path} is not a readable run directory: {self.path / _MANIFEST}: {e}; "
                "check --fresh starts the run again"
            ) from None
        return dict(manifest)

    def check_seals(self) -> None:
        """Check the seals: if this computer sealed nothing in the run, all readable lines are
        shown; otherwise only sealed ones."""
        distrusted = Distrusted()
        logs = (self.results, self.row_errors)
        known = sum(1 for log in logs for _ in log.rows(distrusted))
        if known or not distrusted.count:
            self.distrusted = distrusted
            return
        self.unsealed = True
        for log in logs:
            log.unsealed = True

    def stored(self) -> Iterator[Stored]:
        """Return results in row order; of several for a row, the newest."""
        return (stored_line(row, line) for row, line in self.results.lines())

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Return ``(row, line)`` in row order; of several lines for a row, the newest."""
        return ((stored.row, stored.line) for stored in self.stored())

    def errors(self) -> Iterator[RowError]:
        """Yield row errors, in row order."""
        for row, line in self.row_errors.lines():
            try:
                error = json.loads(line)
                yield RowError(row, error["file"], error["line"], error["field"], error["error"])
            except (ValueError, KeyError, TypeError):  # in an unsealed run
                continue

    def more_errors(self) -> Counter[str]:
        """Count further row errors, by cause."""
        try:
            return Counter(json.loads((self.path / _MORE_ERRORS).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return Counter()


class RunDirectory(RunFiles):
    """A run directory that is written, by one process at a time.

    Args:
        path: the folder; created if absent, only for its owner.
        identity: identity of the run (inputs, scorers, models, parameters).
        request: stored in the manifest: the data for opening the inputs again.
        fresh: remove and ignore everything that an earlier run left.

    Raises:
        UsageError: it holds a run with another identity (the message lists differences). Or it is
            used by another process, or is not a run directory and not empty.
    """

    def __init__(
        self,
        path: Path,
        identity: dict[str, Any],
        request: dict[str, Any],
        *,
        fresh: bool = False,
    ) -> None:
        super().__init__(path)
        identity = json.loads(json.dumps(identity))
        self.key = key_of(identity)
        self.done = Rows()  # scored, or known to be invalid
        self._errors_done = Rows()
        self._more_errors: Counter[str] = Counter()
        self._error_bytes = 0
        try:
            known = fresh and self._is_run()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(PRIVATE_FOLDER, exist_ok=True)
            self._lock = try_lock(path / _LOCK, _PATIENCE)
        except OSError as e:
            raise UsageError(f"cannot make run directory {path}: {e}") from e
        if self._lock is None:
            raise UsageError(f"run directory {path} is in use by another process")
        try:
            if known:
                self._clear()
            self._open(identity, request, known)
        except BaseException:
            os.close(self._lock)
            raise

    def _is_run(self) -> bool:
        """Return True if the folder is a run directory, even with a damaged manifest."""
        try:
            names = {p.name for p in self.path.iterdir()}
            if not {_LOCK, _MANIFEST} <= names:
                return False
            self.manifest()
        except OSError:
            return False
        except UsageError:
            return all(n == _LOCK or n.startswith(_JOURNAL) or _MADE.fullmatch(n) for n in names)
        return True

    def _clear(self) -> None:
        """Remove the files of a run, and nothing else."""
        for path in [*self.path.iterdir()]:
            if not _MADE.fullmatch(path.name):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _open(self, identity: dict[str, Any], request: dict[str, Any], known: bool) -> None:
        if (self.path / _MANIFEST).exists():
            request = self._compare(identity, request)
        else:
            # of a process killed at this point
            drafts = {p for p in self.path.iterdir() if is_draft(p.name, _MANIFEST)}
            strange = [
                p.name
                for p in {*self.path.iterdir()} - drafts
                if p.name not in _OWN and not p.name.startswith(_JOURNAL)
            ]
            if strange and not known:
                raise UsageError(
                    f"{self.path} is not a run directory and not empty (it holds {strange[0]!r})"
                )
            for draft in drafts:
                draft.unlink()
        self._declare(identity, request)
        self.results.mend()
        self.row_errors.mend()
        for row in self.results.rows(self.distrusted):
            self.done.add(row)
        self.resumed = self.done.count
        self._account_errors(self.distrusted)
        self._error_bytes = sum(path.stat().st_size for path in self.row_errors.files())

    def _declare(self, identity: dict[str, Any], request: dict[str, Any]) -> None:
        """Write the manifest, unless it is up to date."""
        content = {"identity": identity, "request": request}
        mark = seal(json.dumps(content, sort_keys=True), purpose="manifest").hex()
        text = json.dumps({**content, "seal": mark}, indent=1) + "\n"
        path = self.path / _MANIFEST
        if not path.exists() or path.read_bytes() != text.encode():
            write_atomic(path, text, private=True)

    def _account_errors(self, distrusted: Distrusted | None = None) -> None:
        for row in self.row_errors.rows(distrusted):
            self.done.add(row)
            self._errors_done.add(row)

    def _compare(self, new: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
        """Return the manifest's request if it is this run's and sealed; else the new one, under the
        old name, by which calls are accounted."""
        manifest = self.manifest()
        old = manifest["identity"]
        differing = [
            f"{k}: it has {_brief(old.get(k))}, this run has {_brief(new.get(k))}"
            for k in sorted({*old, *new})
            if old.get(k) != new.get(k)
        ]
        if differing:
            raise UsageError(
                f"{self.path} holds another run; differences: {'; '.join(differing)}. "
                "Choose another --out, or start again with --fresh."
            )
        stored = manifest.get("request")
        text = json.dumps({"identity": old, "request": stored}, sort_keys=True)
        if isinstance(stored, dict) and sealed_hex(manifest.get("seal"), text, purpose="manifest"):
            return stored
        name = stored.get("run") if isinstance(stored, dict) else None
        named = isinstance(name, str) and re.fullmatch("[0-9a-f]{32}", name)
        return {**request, "run": name} if named else request

    def retry_failed(self, errors: Rows | None = None) -> int:
        """Schedule records with a failed score, and row errors of the rows ``errors``, to run
        again. Return the number of records."""
        failed = Rows()
        for row, line in self.lines():
            if any(s["status"] == "failed" for s in json.loads(line)["scores"].values()):
                failed.add(row)
        again = failed.count or (errors is not None and errors.count)
        self.forget(failed)
        if errors is not None:
            self.forget(errors)
        if again:
            self.results.restart()
        return failed.count

    def forget(self, rows: Rows) -> None:
        """Schedule ``rows`` to run again. Their old results remain until then."""
        if not rows.count:
            return
        wrong = Rows()
        for row in rows:
            if row in self._errors_done:
                wrong.add(row)
            elif row in self.done:
                self.resumed -= 1
            self.done.discard(row)
        if wrong.count:
            self._forget_errors(wrong)

    def _forget_errors(self, rows: Rows) -> None:
        self.row_errors.close()
        log = RowLog(self.row_errors.path, self.key, self.row_errors.purpose)
        with replacing(log.path, private=True, binary=True) as file:
            for row, line in log.lines():
                if row not in rows:
                    file.write(log.sealed(line) + b"\n")
        for path in log.files()[1:]:
            path.unlink()
        self._errors_done = Rows()
        self._account_errors()

    def write(self, record: Record, line: bytes) -> None:
        """Append the result line of ``record`` (without newline). It then survives the process."""
        self.adopt(Stored(record.row, record.digest(), line))

    def adopt(self, stored: Stored) -> None:
        """Append a result line of the same record from another run directory."""
        bound = stored.line
        if stored.record is not None:
            bound = bound[:-1] + b',"record":"' + stored.record.encode() + b'"}'
        self.results.append(stored.row, bound)
        self.done.add(stored.row)

    def add_errors(self, causes: Mapping[str, int]) -> None:
        """Count row errors that another run directory stored by cause only."""
        self._more_errors.update(causes)

    def write_error(self, error: RowError) -> None:
        """Store a row error: the first ones individually, further ones by cause.

        The latter are counted again in every session of the run, which reads their rows again.
        """
        if error.row in self._errors_done:
            return
        error = replace(error, error=cut(error.error, LONGEST_ERROR))
        line = json.dumps(error.as_dict(), ensure_ascii=True, separators=(",", ":")).encode()
        size = self._error_bytes + len(self.row_errors.sealed(line)) + 1
        if self._errors_done.count >= MOST_ERRORS or size > MOST_ERROR_BYTES:
            count_cause(self._more_errors, error.error)
        else:
            self.row_errors.append(error.row, line)
            self._error_bytes = size
        self._errors_done.add(error.row)
        self.done.add(error.row)

    def more_errors(self) -> Counter[str]:
        return self._more_errors

    def close(self) -> None:
        """Release the folder; it remains readable."""
        if self._lock is not None:
            if self._more_errors:
                with contextlib.suppress(OSError):  # on a full disk: they can be counted again
                    write_atomic(self.path / _MORE_ERRORS, json.dumps(self._more_errors) + "\n")
            else:
                (self.path / _MORE_ERRORS).unlink(missing_ok=True)
            self.results.close()
            self.row_errors.close()
            os.close(self._lock)
            self._lock = None


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "..."
