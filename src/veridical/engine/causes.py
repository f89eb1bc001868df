"""Failures of a run by cause: reason, count and one example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.errors import NO_ANSWER

if TYPE_CHECKING:
    from veridical.engine.summary import Summary
    from veridical.errors import RowError

#: Maximum number of distinct causes; rows with others are counted together.
_MOST = 1_000
_OTHERS = "for other reasons"
#: Parts that differ between failures with the same cause: quoted texts, and words with a digit.
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*")
_ERROR_CLASS = re.compile(r"^[A-Za-z_]\w*(?:Error|Exception): ")


@dataclass
class Cause:
    """Failures that differ only in names, numbers and quoted texts.

    Attributes:
        reason: reason of the first failure.
        count: number of failures.
        column: the column concerned; None unless it is a single one.
        example: the first row error; None if it was not kept, or for failed scores.
        scorers: keys of the scorers that failed.
    """

    reason: str
    count: int = 0
    column: str | None = None
    example: RowError | None = None
    scorers: tuple[str, ...] = ()

    @property
    def of_llm(self) -> bool:
        """True if a language model did not answer a prompt: the row itself is valid."""
        return self.reason.startswith(NO_ANSWER)


def of_rows(errors: Iterable[RowError], more: Mapping[str, int]) -> list[Cause]:
    """Return row errors by cause, most common first.

    Args:
        errors: errors with their locations.
        more: reasons without locations, and their counts.
    """
    causes: dict[tuple[str, str | None], Cause] = {}
    by_reason: dict[str, Cause] = {}
    for error in errors:
        key = (alike(error.error), error.field)
        cause = _counted(causes, key, Cause(error.error, 0, error.field, error), 1)
        by_reason.setdefault(key[0], cause)
    for reason, n in more.items():
        known = by_reason.get(alike(reason))
        if known is None:
            _counted(causes, (alike(reason), None), Cause(reason), n)
        else:
            known.count += n
    return _ordered(causes.values())


def of_scores(summary: Summary) -> list[Cause]:
    """Return failed scores by cause, over all scorers, without row errors."""
    causes: dict[str, Cause] = {}
    for key, scorer in summary.scorers.items():
        for reason, n in scorer.failed_reasons.items():
            if reason.startswith("row error: "):
                continue
            plain = _ERROR_CLASS.sub("", reason)
            cause = causes.setdefault(alike(plain), Cause(plain))
            cause.count += n
            if key not in cause.scorers:
                cause.scorers += (key,)
    return _ordered(causes.values())


def alike(reason: str) -> str:
    """Return the common part of reasons with the same cause."""
    return _PARTICULAR.sub("#", reason)


def _counted(
    causes: dict[tuple[str, str | None], Cause],
    key: tuple[str, str | None],
    new: Cause,
    n: int,
) -> Cause:
    if key not in causes and len(causes) >= _MOST:
        key, new = (_OTHERS, None), Cause(_OTHERS)
    cause = causes.setdefault(key, new)
    cause.count += n
    return cause


def _ordered(causes: Iterable[Cause]) -> list[Cause]:
    return sorted(causes, key=lambda cause: -cause.count)
