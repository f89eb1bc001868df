"""The file of decisions in a run directory, and result lines with what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from veridical.files.rowlog import RowLog
from veridical.files.rundir import Stored

#: What came of each record, by row: the newest command's.
DECISIONS = "decisions.jsonl"
_UNDECIDED = b',"decision":null,"scores":'


def decisions_log(run: Path, key: str) -> RowLog:
    """The log of decisions in the run directory ``run``."""
    return RowLog(run / DECISIONS, key, "decision")


def decided(stored: Iterator[Stored], log: RowLog) -> Iterator[Stored]:
    """``stored`` results, in row order, with what ``log`` says of each; as they are where it says
    nothing."""
    decisions = log.lines()
    row, decision = next(decisions, (-1, b""))
    for result in stored:
        while 0 <= row < result.row:
            row, decision = next(decisions, (-1, b""))
        yield with_decision(result, decision) if row == result.row else result


def with_decision(result: Stored, decision: bytes) -> Stored:
    """A stored result with what an object of the log says of it."""
    fields = decision.partition(b",")[2][:-1]
    # the first place of these characters: within a text their quotes are escaped
    line = result.line.replace(_UNDECIDED, b"," + fields + b',"scores":', 1)
    return result._replace(line=line)
