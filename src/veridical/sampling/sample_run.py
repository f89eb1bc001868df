"""Sampling from a source of prompts into a file, where an earlier run of it left off."""

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
    """One model by one decoding.

    Attributes:
        llm: as ``--llm`` takes it.
        columns: what its records say of it, beside what the row had.
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
    """Write the outcome of every row of ``source`` that ``file`` does not hold yet.

    Args:
        source: opened with ``prompts=True``; readable again if ``retry_failed`` or lines of
            ``file`` are damaged: their rows are asked again too.
        limit: rows of the source from this one on are not asked.
        retry_failed: first ask the prompts again that have failed before.
        window: prompts under way at once.

    Raises:
        LlmError: see :func:`veridical.sampling.sampling.answers`. What was written stays.
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
    """Rows that are asked again, None where ``file`` lacks none before its end, and those that it
    has not come to.

    Args:
        offset: what is added to the rows' numbers.
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
    """Rows to ask, of each leg where there are several: they are numbered over all."""
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
            assert not isinstance(outcome, Record)  # nothing passes
            file.write(outcome)
            progress.count(outcome)
            progress.fraction = source.fraction()
