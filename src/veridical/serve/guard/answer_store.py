"""Run directory of the answers that passed the guard.

Its ``records.jsonl`` contains the answers as records, with their handling in ``meta.guard``. The
run can be read like any other (``veridical report``), also while it grows.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from veridical.errors import RowError
from veridical.files.decisions import decisions_log
from veridical.files.rowlog import append_to, mend, write_all
from veridical.files.rundir import RunDirectory
from veridical.io.columns import Columns
from veridical.io.problems import RowProblem
from veridical.serve.timeouts import with_timeout
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.serve.guard.answers import AnswerSummary
    from veridical.serve.guard.checking import SentenceChecker

RECORDS = "records.jsonl"
_log = logging.getLogger("veridical.guard")


class AnswerStore:
    """Run directory of a guard, which grows by one record per answer.

    Args:
        path: the folder; an existing one of the same guard is continued.
        settings: what distinguishes guards in addition to scorers and models.

    Raises:
        UsageError: it contains another run, or cannot be written.
    """

    def __init__(self, path: Path, checker: SentenceChecker, settings: dict[str, Any]) -> None:
        self._checker = checker
        identity = {
            "inputs": "guard",
            "scorers": [b.signature() for b in checker.scorers],
            "models": checker.engine.models(checker.task),
            "parameters": {**settings, "strictness": checker.task.strictness},
        }
        records = path / RECORDS
        request: dict[str, Any] = {
            "veridical": __version__,
            "inputs": [{"path": str(records.absolute()), "format": "jsonl"}],
            "scorers": [b.spec for b in checker.scorers],
            "samples": None,
            "reader": None,
            "mapping": {},
            "strictness": checker.task.strictness,
            "spooled": False,
            "grows": True,
            "run": uuid.uuid4().hex,
        }
        self.directory = RunDirectory(path, identity, request)
        mend(records)
        self._file: int | None = append_to(records)
        self._next = records.read_bytes().count(b"\n")
        self._decisions = decisions_log(path, self.directory.key)
        self._writing = asyncio.Lock()
        self.answers = self._next

    async def add(self, row: dict[str, Any], found: AnswerSummary, mine: dict[str, Any]) -> None:
        """Store an answer, and score it as a whole.

        Args:
            row: the fields of its record.
            mine: the object for ``meta.guard``.
        """
        line = {**row, "meta": {"guard": mine}}
        if self._file is None:
            return
        number, self._next = self._next, self._next + 1
        # as it will be read again, so that the result is bound to that form
        text = json.dumps(line, ensure_ascii=True)
        write_all(self._file, text.encode("ascii") + b"\n")
        self.answers += 1
        try:
            record = Columns().record(json.loads(text), number)
        except RowProblem as e:
            where = RowError(number, RECORDS, number + 1, e.field, e.error)
            async with self._writing:
                await asyncio.to_thread(self.directory.write_error, where)
            return
        try:
            result = await with_timeout(self._checker.line(record), self._checker.deadline)
            async with self._writing:
                await asyncio.to_thread(self._write, record, result, found)
        except TimeoutError:  # the answer is stored nevertheless
            _log.warning("the answer in row %d was not scored as a whole in time", number)
        except Exception:
            _log.exception("the answer in row %d was not scored", number)

    def _write(self, record: Record, result: bytes, found: AnswerSummary) -> None:
        self.directory.write(record, result)
        why = tuple(
            dict.fromkeys(
                f"a sentence: {s['verdict']}"
                for s in found.sentences
                if s["decision"] == found.decision
            )
        )
        entry = {"row": record.row, "decision": found.decision, "why": why[:3]}
        self._decisions.append(record.row, to_json(entry))

    def close(self) -> None:
        """Close the folder. Repeated calls have no effect."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._decisions.close()
            self.directory.close()
