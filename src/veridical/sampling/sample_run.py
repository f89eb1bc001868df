"""Sampling from a source of prompts into a file, where an earlier run of it left off."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from itertools import takewhile
from typing import TYPE_CHECKING

from veridical.core.records import Record
from veridical.errors import RowError
from veridical.files.rowlog import Rows
from veridical.sampling.answers_file import AnswersFile, Rewrite
from veridical.sampling.sampling import Progress, Sampler, answers

if TYPE_CHECKING:
    from veridical.io import Source


async def sample_into(
    file: AnswersFile,
    source: Source,
    sampler: Sampler,
    progress: Progress,
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

    def rows(start: int) -> Iterator[Record | RowError]:
        return takewhile(lambda r: limit is None or r.row < limit, source.rows(start))

    offset = sampler.row_offset
    failed = file.failed_rows() if retry_failed else Rows()
    if failed.count or file.gaps or file.distrusted.count:
        places = ((r, r.row + offset) for r in rows(0))
        again = (r for r, row in places if row in failed or file.is_missing(row))
        rewrite = file.rewrite()
        try:
            await _write(again, sampler, rewrite, source, progress, window)
        finally:
            rewrite.close()
    new = rows(max(0, file.next_row - offset))
    await _write(new, sampler, file, source, progress, window)


async def _write(
    rows: Iterator[Record | RowError],
    sampler: Sampler,
    file: AnswersFile | Rewrite,
    source: Source,
    progress: Progress,
    window: int,
) -> None:
    async with aclosing(answers(rows, sampler, window=window)) as outcomes:
        async for outcome in outcomes:
            assert not isinstance(outcome, Record)  # nothing passes
            file.write(outcome)
            progress.count(outcome)
            progress.fraction = source.fraction()
