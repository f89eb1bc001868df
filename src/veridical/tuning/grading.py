"""Labels by a grader, for records without labels."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.core.messages import LlmError
from veridical.engine.judges import warn_if_small
from veridical.errors import UsageError, option_named
from veridical.tuning.graders import Chat, Grade, Grader, load_grader

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.engine.engine import Engine
    from veridical.report.results import Results

_AT_ONCE = 256  # records graded concurrently
_FOLDER = "grades"  # in the run directory: the journal of a grader's calls


@dataclass(frozen=True)
class Grades:
    """Labels by a grader.

    Attributes:
        labels: row -> 0 right .. 1 hallucinated; None if undecided.
        reasons: reason for no decision -> its rows, most common first.
        compared: number of graded records with a label of their own; ``agree`` of them agree.
    """

    labels: Mapping[int, float | None]
    reasons: Mapping[str, tuple[int, ...]]
    agree: int
    compared: int


def open_grader(spec: str, has_llm: bool) -> Grader:
    """Return the grader called ``spec``.

    Raises:
        UsageError: there is no such grader, or it needs an LLM that is not named.
    """
    grader = load_grader(spec)
    if grader.needs_llm and not has_llm:
        raise UsageError(
            f"the grader {grader.name} requires a language model; "
            f"name one ({option_named('llm', 'NAME')})"
        )
    return grader


def grade(results: Results, grader: Grader, engine: Engine, *, retry: bool = False) -> Grades:
    """Grade the records of a finished run. LLM calls are journaled in the run directory, so that
    none of them is repeated.

    Raises:
        LlmError: the endpoint is out of order, or the budget is spent.
    """
    labels: dict[int, float | None] = {}
    reasons: dict[str, list[int]] = {}
    agree = compared = 0
    records = (record for record, line in results.records() if line is not None)
    with _chat(results, grader, engine, retry) as chat:
        while some := list(itertools.islice(records, _AT_ONCE)):
            grades = engine.submit(_all(some, grader, chat)).result()
            for record, grade_of in zip(some, grades, strict=True):
                label = labels[record.row] = grade_of.label
                if label is None:
                    reasons.setdefault(grade_of.reason, []).append(record.row)
                elif record.label is not None:
                    compared += 1
                    agree += (label >= 0.5) == (record.label >= 0.5)
    common = sorted(reasons.items(), key=lambda item: -len(item[1]))
    return Grades(labels, {why: tuple(rows) for why, rows in common}, agree, compared)


@contextmanager
def _chat(results: Results, grader: Grader, engine: Engine, retry: bool) -> Iterator[Chat | None]:
    if not grader.needs_llm:
        yield None
        return
    warn_if_small(engine.llms.endpoint())
    folder = results.path / _FOLDER
    folder.mkdir(exist_ok=True)
    account = engine.llms.account(f"{results.path.name} {grader.name}", folder, retry=retry)
    try:
        yield engine.llms.chat(account).chat
    finally:
        engine.llms.leave(account)


async def _all(records: list[Record], grader: Grader, chat: Chat | None) -> list[Grade]:
    """Return grades in order; a failed call yields no grade, except that a spent budget is an
    error."""

    async def one(record: Record) -> Grade:
        try:
            return await grader.grade(record, chat)
        except LlmError as e:
            if e.trouble == "budget":
                raise
            return Grade(None, f"the grader's call failed: {e}")

    return list(await asyncio.gather(*(one(record) for record in records)))
