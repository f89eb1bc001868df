"""Sampling from a source of prompts into a file, resumable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.errors import RowError
from veridical.files.rowlog import Rows
from veridical.sampling.answers_file import AnswersFile, KeptAnswers, Rewrite
from veridical.sampling.sampling import Sampler, Sampling, SamplingProgress, answers

if TYPE_CHECKING:
    from veridical.io.source import InputSource


@dataclass(frozen=True)
class Leg:
    """One model with one decoding.

    Attributes:
        llm: as ``--llm`` takes it.
        columns: description in its records, added to the row's columns.
    """

    llm: str
    sampling: Sampling
    columns: dict[str, Any]


async def sample_into(
    file: AnswersFile,
    source: InputSource,
    sampler: Sampler,
    progress: SamplingProgress,
    *,
    limit: int | None = None,
    retry_failed: bool = False,
    window: int = 256,
) -> None:
    """Write the outcome of every row of ``source`` that ``file`` lacks.

    Args:
        source: opened with ``prompts=True``; it must be readable twice with ``retry_failed`` or if
            lines of ``file`` are damaged, as their rows are requested again.
        limit: number of rows to process.
        retry_failed: first repeat the prompts that failed before.
        window: prompts in flight.

    Raises:
        LlmError: see :func:`veridical.sampling.sampling.answers`. Written outcomes are kept.
    """

    again, new = rows_to_ask(
        file, source, sampler.row_offset, limit=limit, retry_failed=retry_failed
    )
    if again is not None:
        rewrite = file.rewrite()
        try:
            await _write(again, sampler, rewrite, source, progress, window)
        finally:
            rewrite.close()
    await _write(new, sampler, file, source, progress, window)


def rows_to_ask(
    file: KeptAnswers, source: InputSource, offset: int, *, limit: int | None, retry_failed: bool
) -> tuple[Iterator[Record | RowError] | None, Iterator[Record | RowError]]:
    """Return the rows to repeat, or None, and the new rows.

    Args:
        offset: added to the row numbers.
    """

    def rows(start: int) -> Iterator[Record | RowError]:
        return takewhile(lambda r: limit is None or r.row < limit, source.rows(start))

    again = None
    failed = file.failed_rows() if retry_failed else Rows()
    if failed.count or file.gaps or file.distrusted.count:
        places = ((r, r.row + offset) for r in rows(0))
        again = (r for r, row in places if row in failed or file.is_missing(row))
    return again, rows(max(0, file.next_row - offset))


def count_rows(source: InputSource, limit: int | None) -> int:
    """Count the rows of all legs, which are numbered consecutively."""
    total = 0
    for total, _ in enumerate(source.rows(), 1):
        if total == limit:
            break
    return total


async def _write(
    rows: Iterator[Record | RowError],
    sampler: Sampler,
    file: AnswersFile | Rewrite,
    source: InputSource,
    progress: SamplingProgress,
    window: int,
) -> None:
    async with aclosing(answers(rows, sampler, window=window)) as outcomes:
        async for outcome in outcomes:
            assert not isinstance(outcome, Record)  # no record is passed through
            file.write(outcome)
            progress.count(outcome)
            progress.fraction = source.fraction()
