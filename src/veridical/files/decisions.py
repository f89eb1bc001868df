"""Decisions file of a run directory, and result lines with decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from veridical.files.rowlog import RowLog
from veridical.files.rundir import Stored

#: Decision on each record, by row, from the latest command.
DECISIONS = "decisions.jsonl"
_UNDECIDED = b',"decision":null,"scores":'


def decisions_log(run: Path, key: str) -> RowLog:
    """Open the log of decisions in the run directory ``run``."""
    return RowLog(run / DECISIONS, key, "decision")


def decided(stored: Iterator[Stored], log: RowLog) -> Iterator[Stored]:
    """Yield the ``stored`` results, in row order, with the decisions of ``log`` where it has
    any."""
    decisions = log.lines()
    row, decision = next(decisions, (-1, b""))
    for result in stored:
        while 0 <= row < result.row:
            row, decision = next(decisions, (-1, b""))
        yield with_decision(result, decision) if row == result.row else result


def with_decision(result: Stored, decision: bytes) -> Stored:
    """Return a stored result with the decision of a log entry."""
    fields = decision.partition(b",")[2][:-1]
    # the first occurrence of these characters: within a text their quotes are escaped
    line = result.line.replace(_UNDECIDED, b"," + fields + b',"scores":', 1)
    return result._replace(line=line)
