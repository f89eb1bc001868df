"""Prompts that are answered while what is answered already is being scored."""

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

#: The log of answers in a run directory, with one of failures beside it.
ANSWERS = "answers.jsonl"
_GUARD = "answers.lock"
_COLUMNS = Columns()

Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


@dataclass(frozen=True)
class Prompts:
    """Prompts, and the way in which those without a response are answered.

    Attributes:
        source: opened with ``prompts=True``; it must be possible to read it again.
        llm: identity of the model: a part of the fingerprint.
        about: put into ``meta.sampling`` of every record, beside run, row and parameters.
    """

    source: InputSource
    sampling: Sampling
    llm: str
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.source.reiterable:
            raise UsageError("prompts are read again to report on them: spool() them to a file")

    def fingerprint(self) -> str:
        """Hash of the prompts, the model and the way of sampling."""
        identity = {"inputs": self.source.fingerprint(), "llm": self.llm}
        return run_of({**identity, **self.sampling.parameters()})

    def with_all_draws(self) -> tuple[Prompts, int]:
        """These prompts with as many samples as there can be, and how few there can be."""
        sampling, least = self.sampling.with_all_draws()
        return replace(self, sampling=sampling), least


class SampledSource:
    """A :class:`~veridical.io.Source` of prompts that gives each with its answers.

    Rows that have a response pass as they are. The others are sampled, and kept in a file of the
    run directory, in input order: read again, they come from there. A prompt that has failed is a
    row error.

    Args:
        prompts: with the way in which they are answered.
        folder: the run directory that keeps the answers.
        chat: gives new answers; None reads what is there, and leaves prompts without out.
        submit: runs a coroutine on ``chat``'s event loop. Rows are read in another thread.
        limit: rows from this one on are not asked.
        again: the first reading asks prompts again that have failed, and gives no record of
            these rows: they are done.
        window: prompts under way at once.
        key: of the run, see :class:`~veridical.files.rowlog.RowLog`; default: the fingerprint.
        unsealed: answers are read that this computer did not seal.
    """

    #: Rows a reader should take at once: each is wanted as soon as it is there.
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
        self._kept = _Kept(folder, run if key is None else key, run, unsealed)
        self._live = None if chat is None or submit is None else (chat, submit)
        self._limit, self._window, self._again = limit, window, again
        self._file: _Kept | None = None  # of the reading that asks
        self._lock = threading.Lock()  # of the file: rows are read in another thread
        self.progress = SamplingProgress()

    @property
    def reiterable(self) -> bool:
        return True

    @property
    def given(self) -> InputSource:
        """The prompts' rows."""
        return self.prompts

    def fingerprint(self) -> str:
        """The fingerprint of the prompts and of the way in which they are answered."""
        return self._fingerprint

    def describe(self) -> list[dict[str, Any]]:
        """The prompts' files, as :meth:`veridical.io.Source.describe` has them."""
        return self.prompts.describe()

    def unused_columns(self) -> list[UnusedColumn]:
        """The columns of the prompts that feed no field; see
        :meth:`veridical.io.Source.unused_columns`."""
        return self.prompts.unused_columns()

    def fraction(self) -> float | None:
        """How much of the prompts the latest reading has passed."""
        return self.prompts.fraction()

    def close(self) -> None:
        """Ask and write no more. A reading under way ends with the answer it waits for."""
        with self._lock:
            self._live = None
            if self._file is not None:
                self._file.close()
                self._file = None

    def forget(self) -> None:
        """Remove all outcomes that are kept."""
        self._kept.answers.remove()
        self._kept.failures.remove()

    def failed(self) -> Rows:
        """Rows whose prompts have failed, by what is kept."""
        failed = Rows()
        for row, outcome in self._kept.outcomes():
            if isinstance(outcome, RowError):
                failed.add(row)
        return failed

    @property
    def keeps(self) -> bool:
        """Whether there are outcomes from before."""
        return bool(self._kept.answers.files() or self._kept.failures.files())

    def lost(self, done: Rows, distrusted: Distrusted) -> Rows:
        """Prompts among the rows ``done`` whose outcome is not kept: its line is damaged or gone.

        Args:
            distrusted: is told of lines that are not used.
        """
        lost = Rows()
        for row, outcome in self.joined(distrusted=distrusted):
            if isinstance(row, Unanswered) and outcome is None and row.row in done:
                lost.add(row.row)
        return lost

    def joined(
        self, start: int = 0, distrusted: Distrusted | None = None
    ) -> Iterator[tuple[Record | RowError, bytes | RowError | None]]:
        """The rows of the prompts, each with the outcome that is kept of it, where one is."""
        outcomes = self._kept.outcomes(distrusted)
        for row, outcome in joined_rows(self.prompts.rows(start), outcomes):
            yield row, outcome if isinstance(row, Unanswered) else None

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Records and row errors in input order, from ordinal ``start`` on.

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
        """The prompts' rows with the answers that there are; what is to be asked has none."""
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
                # Nobody waits: the loop may have been stopped, and its tasks with it.
                with suppress(VeridicalError, RuntimeError):
                    submit(_close(outcomes))


class _Kept:
    """The outcomes in a folder: a log of answers, and one of failures. A row that is in both has
    been asked again, and has its answer."""

    def __init__(self, folder: Path, key: str, run: str, unsealed: bool) -> None:
        self.path = folder / ANSWERS
        self._run = run
        self.answers = RowLog(self.path, key, "answer", row_of=row_of, unsealed=unsealed)
        self.failures = RowLog(errors_path(self.path), key, "no answer", unsealed=unsealed)
        self._guard: int | None = None

    def outcomes(
        self, distrusted: Distrusted | None = None
    ) -> Iterator[tuple[int, bytes | RowError]]:
        """A line, or why there is none, by row."""
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
    def writing(self) -> Iterator[_Kept]:
        """Keep what comes, as the only process that does.

        Raises:
            UsageError: there is another, or the folder cannot be written.
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
        """Append one. It survives the process from here on."""
        if isinstance(outcome, Answered):
            self.answers.append(outcome.row, outcome.line)
        else:
            self.failures.append(outcome.row, failure_line(outcome, self._run))

    def close(self) -> None:
        """Let the folder go; it can be read on."""
        self.answers.close()
        self.failures.close()
        if self._guard is not None:
            os.close(self._guard)
            self._guard = None


def _read(row: int, outcome: bytes | RowError) -> Record | RowError:
    """A stored outcome as a source gives it."""
    import pydantic_core

    if isinstance(outcome, RowError):
        return outcome
    return _COLUMNS.record(pydantic_core.from_json(outcome), row)


async def _next(outcomes: AsyncIterator[Outcome]) -> Outcome | None:
    return await anext(outcomes, None)


async def _close(outcomes: AsyncGenerator[Outcome, None]) -> None:
    await outcomes.aclose()
