"""Endless run of ``veridical watch``, with results printed as they arrive."""

from __future__ import annotations

import concurrent.futures
import json
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from rich.console import Console

from veridical.cli.answers import described, wrapped
from veridical.cli.finish import ledger_lines
from veridical.core.scores import Result
from veridical.engine.engine import Engine
from veridical.engine.progress import Progress
from veridical.engine.run import Task
from veridical.errors import RowError, UsageError
from veridical.files.rowlog import Rows
from veridical.io.columns import Columns
from veridical.io.follow import Followed
from veridical.io.readers import find_reader
from veridical.io.source import InputSource, Item
from veridical.text.display import display, reason

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.run.request import Request

#: Accepted verdicts without a policy.
GOOD = ("supported", "consistent")


@contextmanager
def appending(path: str | None) -> Iterator[IO[str] | None]:
    """Open the output of JSON lines: a file to append to, or ``-`` for standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    if path is None:
        yield None
    elif path == "-":
        yield sys.stdout
    else:
        place = Path(path)
        try:
            file = place.open("a", encoding="utf-8", newline="\n")
        except OSError as e:
            raise UsageError(f"--json: cannot write {display(place)}: {reason(e)}") from None
        with file:
            yield file


class Watching:
    """A run over growing files, to be used as a context manager.

    Args:
        path: file or folder.
        lines: output for results that are not accepted, as JSON lines. None: they are printed
            as text on standard output.

    Raises:
        UsageError: the path cannot be followed.
    """

    #: Part of the engine's sink interface: no row is done before.
    done = Rows()

    def __init__(
        self,
        request: Request,
        path: Path,
        lines: IO[str] | None,
        *,
        once: bool = False,
        from_end: bool = False,
    ) -> None:
        self._request = request
        self._stop = threading.Event()
        self._followed = Followed(path, once=once, from_end=from_end, stop=self._stop)
        options = request.options
        reader = None if options.reader is None else find_reader(options.reader)
        source = InputSource([self._followed], Columns(request.mapping), reader)
        self._source = _Placed(source, self._followed)
        self._lines = lines
        self._out = Console(highlight=False, soft_wrap=True)
        self._engine = Engine(request.engine_options)
        self._account: Any = None
        self._work: Future[None] | None = None
        self._began = time.monotonic()
        self._counts: Counter[str] = Counter()
        self._bad = 0

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._engine.close()

    @property
    def records(self) -> int:
        """Number of checked answers."""
        return self._counts.total()

    def start(self) -> None:
        """Load the models and start the run.

        Raises:
            UsageError: a required model or LLM is not available.
        """
        engine = self._engine
        request = self._request
        task = Task(request.scorers, request.strictness, samples=request.options.samples)
        engine.check_unused(task)
        services = engine.services(task)
        if engine.llms_of(task):
            self._account = engine.llms.account(uuid.uuid4().hex, None)
        run = engine.run(self._source, task, self, Progress(), services, self._account)
        self._work = engine.submit(run)

    def wait(self) -> None:
        """Wait for the end of the run; an interrupt is raised immediately."""
        assert self._work is not None
        while True:
            try:
                return self._work.result(0.2)
            except (TimeoutError, concurrent.futures.TimeoutError):
                if self._work.done():
                    raise

    def stop(self) -> None:
        """Stop the run; pending answers are dropped."""
        self._stop.set()
        if self._work is not None and not self._work.done():
            self._work.cancel()
            concurrent.futures.wait([self._work])
        account, self._account = self._account, None
        if account is not None:
            self._ledger = account.ledger.as_dict()
            self._engine.llms.leave(account)

    _ledger: dict[str, Any] | None = None

    def write(self, record: Record, line: bytes) -> None:
        """Report a result that is not accepted."""
        place = self._source.take(record.row)
        result = Result.model_validate_json(line)
        policy = self._request.policy
        outcome: str = result.verdict
        accepted = outcome in GOOD
        if policy is not None:
            outcome, why = policy.decide(result, policy.stratum(record))
            result = result.model_copy(update={"decision": outcome, "why": why})
            accepted = outcome == "accept"
        self._counts[outcome] += 1
        if accepted:
            return
        file, number = place
        if self._lines is None:
            for text, style in described(f"{file}:{number}", record, result):
                self._out.print(text, style=style, markup=False)
            sys.stdout.flush()
        else:
            fields = {**result.model_dump(mode="json"), "file": file, "line": number}
            self._lines.write(json.dumps(fields, ensure_ascii=False) + "\n")
            self._lines.flush()

    def write_error(self, error: RowError) -> None:
        """Report an invalid row."""
        self._source.take(error.row)
        self._bad += 1
        field = f"{error.field}: " if error.field else ""
        print(f"{error.file}:{error.line}: {field}{error.error}", file=sys.stderr, flush=True)

    def summary(self) -> list[str]:
        """Summarise the run in lines of text."""
        seconds = time.monotonic() - self._began
        found = ", ".join(f"{n} {name}" for name, n in self._counts.most_common())
        files = self._followed.files
        lines = [
            f"{self.records} answers of {files} file{'s' * (files != 1)} in {seconds:.0f} s"
            + (f": {found}" if found else "")
        ]
        if self._bad:
            lines.append(f"{self._bad} rows were no valid records")
        if waiting := self._source.waiting:
            lines.append(f"{waiting} rows were read but not checked")
        if unfinished := self._followed.unfinished:
            lines.append(f"{unfinished} lines were not finished")
        return [wrapped(text) for text in [*lines, *ledger_lines(self._ledger)]]


class _Placed:
    """Followed rows, with the position of each pending one."""

    read = 1  # each as it comes

    def __init__(self, source: InputSource, followed: Followed) -> None:
        self._source, self._followed = source, followed
        self._places: dict[int, tuple[str, int]] = {}

    def rows(self, start: int = 0) -> Iterator[Item]:
        for item in self._source.rows(start):
            self._places[item.row] = self._followed.name, self._followed.line
            yield item

    def fraction(self) -> float | None:
        return None

    def take(self, row: int) -> tuple[str, int]:
        return self._places.pop(row)

    @property
    def waiting(self) -> int:
        return len(self._places)
