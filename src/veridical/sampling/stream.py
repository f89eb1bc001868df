"""Streaming of sampled prompts into scoring."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import RowError, UsageError, VeridicalError
from veridical.files.locks import try_lock
from veridical.files.rowlog import Distrusted, RowLog, Rows, joined_rows
from veridical.io.columns import Columns
from veridical.io.prompts import Unanswered
from veridical.sampling.answers_file import errors_path, failure_line, row_of, run_of
from veridical.sampling.sampling import (
    Answered,
    Chat,
    Failed,
    Outcome,
    Sampler,
    Sampling,
    SamplingProgress,
    answers,
)

if TYPE_CHECKING:
    from veridical.io.source import InputSource
    from veridical.io.unused import UnusedColumn

#: The log of answers in a run directory; failures have a second log.
ANSWERS = "answers.jsonl"
_GUARD = "answers.lock"
_COLUMNS = Columns()

Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


@dataclass(frozen=True)
class Prompts:
    """Prompts, with the sampling of those without a response.

    Attributes:
        source: opened with ``prompts=True``; it must be readable twice.
        llm: identity of the model: a part of the fingerprint.
        about: added to ``meta.sampling`` of every record, with run, row and parameters.
    """

    source: InputSource
    sampling: Sampling
    llm: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.source.reiterable:
            raise UsageError("prompts must be readable twice; spool() them to a file")

    def fingerprint(self) -> str:
        """Return the hash of the prompts, the model and the sampling parameters."""
        identity = {"inputs": self.source.fingerprint(), "llm": self.llm}
        return run_of({**identity, **self.sampling.parameters()})

    def with_all_draws(self) -> tuple[Prompts, int]:
        """Return these prompts with the maximum number of samples, and the minimum."""
        sampling, least = self.sampling.with_all_draws()
        return replace(self, sampling=sampling), least


class SampledSource:
    """A :class:`~veridical.io.Source` that adds answers to prompts.

    Rows with a response are unchanged. The others are sampled and stored in a file of the run
    directory, in input order; a second reading takes them from there. A failed prompt is a row
    error.

    Args:
        prompts: prompts and their sampling.
        folder: the run directory for the answers.
        chat: source of new answers; None reads stored ones and skips prompts without.
        submit: runs a coroutine on ``chat``'s event loop. Rows are read in another thread.
        limit: number of rows to process.
        again: the first reading repeats failed prompts, and returns no record for these rows.
        window: prompts in flight.
        key: key of the run, see :class:`~veridical.files.rowlog.RowLog`; default: the fingerprint.
        unsealed: also read answers without this computer's seal.
    """

    #: Rows per read: one, as each is needed as soon as it is available.
    read = 1

    def __init__(
        self,
        prompts: Prompts,
        folder: Path,
        *,
        chat: Chat | None = None,
        submit: Submit | None = None,
        limit: int | None = None,
        again: Rows | None = None,
        window: int = 256,
        key: str | None = None,
        unsealed: bool = False,
    ) -> None:
        run = prompts.fingerprint()
        self.prompts = prompts.source
        self.sampling = prompts.sampling
        self._fingerprint = run
        self._about = {"run": run, **prompts.about}
        self._kept = _OutcomeLog(folder, run if key is None else key, run, unsealed)
        self._live = None if chat is None or submit is None else (chat, submit)
        self._limit, self._window, self._again = limit, window, again
        self._file: _OutcomeLog | None = None  # of the reading that requests answers
        self._lock = threading.Lock()  # of the file, as rows are read in another thread
        self.progress = SamplingProgress()

    @property
    def reiterable(self) -> bool:
        return True

    @property
    def given(self) -> InputSource:
        """Return the source of the prompts."""
        return self.prompts

    def fingerprint(self) -> str:
        """Return the fingerprint of the prompts and their sampling."""
        return self._fingerprint

    def describe(self) -> list[dict[str, Any]]:
        """Describe the prompts' files, as :meth:`veridical.io.Source.describe`."""
        return self.prompts.describe()

    def unused_columns(self) -> list[UnusedColumn]:
        """Return the prompts' columns that map to no field.

        See :meth:`veridical.io.Source.unused_columns`.
        """
        return self.prompts.unused_columns()

    def fraction(self) -> float | None:
        """Return the share of the prompts that the latest reading has processed."""
        return self.prompts.fraction()

    def close(self) -> None:
        """Stop requesting and writing; a current reading ends with its pending answer."""
        with self._lock:
            self._live = None
            if self._file is not None:
                self._file.close()
                self._file = None

    def forget(self) -> None:
        """Remove all stored outcomes."""
        self._kept.answers.remove()
        self._kept.failures.remove()

    def failed(self) -> Rows:
        """Return the rows whose stored outcome is a failure."""
        failed = Rows()
        for row, outcome in self._kept.outcomes():
            if isinstance(outcome, RowError):
                failed.add(row)
        return failed

    @property
    def keeps(self) -> bool:
        """Return True if there are outcomes of an earlier run."""
        return bool(self._kept.answers.files() or self._kept.failures.files())

    def lost(self, done: Rows, distrusted: Distrusted) -> Rows:
        """Return the rows of ``done`` without a stored outcome: the line is damaged or missing.

        Args:
            distrusted: receives the lines that are not used.
        """
        lost = Rows()
        for row, outcome in self.joined(distrusted=distrusted):
            if isinstance(row, Unanswered) and outcome is None and row.row in done:
                lost.add(row.row)
        return lost

    def joined(
        self, start: int = 0, distrusted: Distrusted | None = None
    ) -> Iterator[tuple[Record | RowError, bytes | RowError | None]]:
        """Yield the prompts' rows, each with its stored outcome, if any."""
        outcomes = self._kept.outcomes(distrusted)
        for row, outcome in joined_rows(self.prompts.rows(start), outcomes):
            yield row, outcome if isinstance(row, Unanswered) else None

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Yield records and row errors in input order, starting at ordinal ``start``.

        Raises:
            LlmError: see :func:`veridical.sampling.sampling.answers`.
        """
        again, self._again = self._again, None
        rows = self._answered(start, again)
        for row in rows:
            if not isinstance(row, Unanswered):
                yield row
            elif self._live is not None:
                yield from self._sampled(row, rows, *self._live)
                return

    def _answered(self, start: int, again: Rows | None) -> Iterator[Record | RowError]:
        """Yield the prompts' rows with their stored answers, or without any for rows to request."""
        for row, outcome in self.joined(start):
            if again is not None and row.row in again and not isinstance(row, RowError):
                continue
            if outcome is None or (again is not None and isinstance(outcome, RowError)):
                yield row
            else:
                yield _read(row.row, outcome)

    def _sampled(
        self,
        first: Unanswered,
        following: Iterator[Record | RowError],
        chat: Chat,
        submit: Submit,
    ) -> Iterator[Record | RowError]:
        limit = self._limit
        prompts = takewhile(lambda r: limit is None or r.row < limit, chain([first], following))
        sampler = Sampler(chat, self.sampling, self._about, passes=True)
        outcomes = answers(prompts, sampler, window=self._window)
        files = self._kept
        with files.writing() as file:
            self._file = file
            try:
                while (outcome := submit(_next(outcomes)).result()) is not None:
                    with self._lock:
                        if self._file is not file:
                            return
                        if isinstance(outcome, (Answered, Failed)):
                            file.write(outcome)
                    self.progress.count(outcome)
                    if isinstance(outcome, Answered):
                        yield _read(outcome.row, outcome.line)
                    elif isinstance(outcome, Failed):
                        yield outcome.row_error(str(files.path))
                    else:
                        yield outcome
            finally:
                # Do not wait: the loop, and its tasks, may have been stopped.
                with suppress(VeridicalError, RuntimeError):
                    submit(_close(outcomes))


class _OutcomeLog:
    """Outcomes in a folder: a log of answers and one of failures.

    A row in both was repeated, and its answer counts.
    """

    def __init__(self, folder: Path, key: str, run: str, unsealed: bool) -> None:
        self.path = folder / ANSWERS
        self._run = run
        self.answers = RowLog(self.path, key, "answer", row_of=row_of, unsealed=unsealed)
        self.failures = RowLog(errors_path(self.path), key, "no answer", unsealed=unsealed)
        self._guard: int | None = None

    def outcomes(
        self, distrusted: Distrusted | None = None
    ) -> Iterator[tuple[int, bytes | RowError]]:
        """Yield the row and its line, or the reason of its failure."""
        answered = ((row, 0, line) for row, line in self.answers.lines(distrusted))
        failed = ((row, 1, line) for row, line in self.failures.lines(distrusted))
        last = -1
        for row, kind, line in merge(answered, failed, key=lambda outcome: outcome[:2]):
            if row != last:
                last = row
                yield row, self._failure(row, line) if kind else line

    def _failure(self, row: int, line: bytes) -> RowError:
        failure = json.loads(line)
        if "trouble" in failure:
            failed = Failed(row, failure["id"], failure["trouble"], failure["error"])
            return failed.row_error(str(self.path))
        places = (failure[name] for name in ("file", "line", "field", "error"))
        return RowError(row, *places)

    @contextmanager
    def writing(self) -> Iterator[_OutcomeLog]:
        """Lock the folder for writing.

        Raises:
            UsageError: another process has the lock, or the folder cannot be written.
        """
        try:
            self._guard = try_lock(self.path.with_name(_GUARD))
        except OSError as e:
            raise UsageError(f"cannot write {self.path}: {e.strerror}") from None
        if self._guard is None:
            raise UsageError(f"{self.path} is being written by another process")
        try:
            self.answers.mend()
            self.failures.mend()
            yield self
        finally:
            self.close()

    def write(self, outcome: Answered | Failed) -> None:
        """Append one outcome, durably."""
        if isinstance(outcome, Answered):
            self.answers.append(outcome.row, outcome.line)
        else:
            self.failures.append(outcome.row, failure_line(outcome, self._run))

    def close(self) -> None:
        """Release the folder; reading stays possible."""
        self.answers.close()
        self.failures.close()
        if self._guard is not None:
            os.close(self._guard)
            self._guard = None


def _read(row: int, outcome: bytes | RowError) -> Record | RowError:
    """Return a stored outcome in the form of a source's row."""
    import pydantic_core

    if isinstance(outcome, RowError):
        return outcome
    return _COLUMNS.record(pydantic_core.from_json(outcome), row)


async def _next(outcomes: AsyncIterator[Outcome]) -> Outcome | None:
    return await anext(outcomes, None)


async def _close(outcomes: AsyncGenerator[Outcome, None]) -> None:
    await outcomes.aclose()
