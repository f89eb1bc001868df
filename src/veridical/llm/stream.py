"""Prompts that are answered while what is answered already is being scored."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from heapq import merge
from itertools import chain, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.errors import RowError, UsageError, VeridicalError
from veridical.evidence.rundir import Rows
from veridical.io.columns import Columns
from veridical.io.prompts import Unanswered
from veridical.llm.answers_file import AnswersFile, run_of, stored
from veridical.llm.sampling import (
    Answered,
    Chat,
    Failed,
    Outcome,
    Progress,
    Sampler,
    Sampling,
    answers,
)
from veridical.records import Record

if TYPE_CHECKING:
    from veridical.io import Source

#: The file of answers in a run directory; each retry adds one, whose outcomes count before its.
ANSWERS = "answers.jsonl"
_RETRY = "answers.retry-{}.jsonl"
_COLUMNS = Columns()

Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


class SampledSource:
    """A :class:`~veridical.io.Source` of prompts that gives each with its answers.

    Rows that have a response pass as they are. The others are sampled, and kept in a file of the
    run directory, in input order: read again, they come from there. A prompt that has failed is a
    row error.

    Args:
        prompts: opened with ``prompts=True``; it must be possible to read it again.
        sampling: how those without a response are answered.
        llm: identity of the model: a part of the fingerprint.
        told: put into ``meta.sampling`` of every record, beside run, row and parameters.

    Before any row is read, :meth:`attach` says where answers are kept, and who gives new ones.
    """

    #: Rows a reader should take at once: each is wanted as soon as it is there.
    read = 1

    def __init__(
        self,
        prompts: Source,
        sampling: Sampling,
        llm: str,
        told: Mapping[str, Any] | None = None,
    ) -> None:
        if not prompts.reiterable:
            raise UsageError("prompts are read again to report on them: spool() them to a file")
        self.prompts = prompts
        self.sampling = sampling
        self._identity = {"inputs": prompts.fingerprint(), "llm": llm, **sampling.parameters()}
        self._told = {"run": run_of(self._identity), **(told or {})}
        self._folder: Path | None = None
        self._live: tuple[Chat, Submit] | None = None
        self._again: Rows | None = None
        self._file: AnswersFile | None = None  # of the reading that asks
        self._lock = threading.Lock()  # of the file: rows are read in another thread
        self._limit: int | None = None
        self._window = 256
        self.progress = Progress()

    @property
    def reiterable(self) -> bool:
        return True

    def fingerprint(self) -> str:
        """Hash of the prompts, the model and the way of sampling."""
        return run_of(self._identity)

    def describe(self) -> list[dict[str, Any]]:
        """The prompts' files, as :meth:`veridical.io.Source.describe` has them."""
        return self.prompts.describe()

    def fraction(self) -> float | None:
        """How much of the prompts the latest reading has passed."""
        return self.prompts.fraction()

    def attach(
        self,
        folder: Path,
        chat: Chat | None = None,
        submit: Submit | None = None,
        *,
        limit: int | None = None,
        again: Rows | None = None,
        window: int = 256,
    ) -> None:
        """Keep answers in ``folder``, a run directory.

        Args:
            chat: gives new answers; None reads what is there, up to the first prompt without.
            submit: runs a coroutine on ``chat``'s event loop. Rows are read in another thread.
            limit: rows from this one on are not asked.
            again: the next reading asks prompts again that have failed, and gives no record of
                these rows: they are done.
            window: prompts under way at once.
        """
        self._folder = folder
        self._live = None if chat is None or submit is None else (chat, submit)
        self._limit, self._window, self._again = limit, window, again

    def close(self) -> None:
        """Ask and write no more. A reading under way ends with the answer it waits for."""
        with self._lock:
            self._live = None
            if self._file is not None:
                self._file.close()
                self._file = None

    def failed(self, folder: Path) -> Rows:
        """Rows whose prompts have failed, by what ``folder`` holds."""
        failed = Rows()
        for row, found in _newest(folder):
            if isinstance(found, RowError):
                failed.add(row)
        return failed

    def rows(self, start: int = 0) -> Iterator[Record | RowError]:
        """Records and row errors in input order, from ordinal ``start`` on.

        Raises:
            LlmError: see :func:`veridical.llm.sampling.answers`.
        """
        if self._folder is None:
            raise UsageError("attach() says where the answers to these prompts are kept")
        again, self._again = self._again, None
        rows = self._joined(self._folder, start, again)
        for row in rows:
            if not isinstance(row, Unanswered):
                yield row
            elif self._live is not None:
                yield from self._sampled(self._folder, row, rows, *self._live)
                return
            else:
                return

    def _joined(self, folder: Path, start: int, again: Rows | None) -> Iterator[Record | RowError]:
        """The prompts' rows with the answers that there are; what is to be asked has none."""
        kept = _newest(folder)
        held = next(kept, None)
        for row in self.prompts.rows(start):
            while held is not None and held[0] < row.row:
                held = next(kept, None)
            if again is not None and row.row in again and not isinstance(row, RowError):
                continue
            found = None
            if isinstance(row, Unanswered) and held is not None and held[0] == row.row:
                found = held[1]
            if found is None or (again is not None and isinstance(found, RowError)):
                yield row
            else:
                yield _read(row.row, found)

    def _sampled(
        self,
        folder: Path,
        first: Unanswered,
        rest: Iterator[Record | RowError],
        chat: Chat,
        submit: Submit,
    ) -> Iterator[Record | RowError]:
        limit = self._limit
        asked = takewhile(lambda r: limit is None or r.row < limit, chain([first], rest))
        sampler = Sampler(chat, self.sampling, self._told, passes=True)
        outcomes = answers(asked, sampler, window=self._window)
        with self._open(folder, first.row) as file:
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
                        yield outcome.row_error(str(file.path))
                    else:
                        yield outcome
            finally:
                # Nobody waits: the loop may have been stopped, and its tasks with it.
                with suppress(VeridicalError, RuntimeError):
                    submit(_close(outcomes))

    def _open(self, folder: Path, first: int) -> AnswersFile:
        """The file for outcomes from row ``first`` on: rows only ever go up in one."""
        segments = _segments(folder)
        file = AnswersFile(segments[-1], self._identity)
        if file.next_row <= first:
            return file
        file.close()
        return AnswersFile(folder / _RETRY.format(f"{len(segments):04d}"), self._identity)


def _segments(folder: Path) -> list[Path]:
    """Files of answers in ``folder``, oldest first; the first need not be there yet."""
    retries = sorted(folder.glob(_RETRY.format("????")))
    return [folder / ANSWERS, *retries]


def _newest(folder: Path) -> Iterator[tuple[int, bytes | RowError]]:
    """What the files of ``folder`` hold, by row; of several outcomes of a row, the newest."""
    streams = [_ranked(path, -i) for i, path in enumerate(_segments(folder))]
    last = -1
    for row, _, found in merge(*streams, key=lambda told: told[:2]):
        if row != last:
            last = row
            yield row, found


def _ranked(path: Path, rank: int) -> Iterator[tuple[int, int, bytes | RowError]]:
    return ((row, rank, found) for row, found in stored(path))


def _read(row: int, found: bytes | RowError) -> Record | RowError:
    """A stored outcome as a source gives it."""
    import pydantic_core

    if isinstance(found, RowError):
        return found
    return _COLUMNS.record(pydantic_core.from_json(found), row)


async def _next(outcomes: AsyncIterator[Outcome]) -> Outcome | None:
    return await anext(outcomes, None)


async def _close(outcomes: AsyncGenerator[Outcome, None]) -> None:
    await outcomes.aclose()
