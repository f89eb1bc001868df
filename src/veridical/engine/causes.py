"""Failures of a run by their cause: why, how many, and one example."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.errors import NO_ANSWER

if TYPE_CHECKING:
    from veridical.engine.summary import Summary
    from veridical.errors import RowError

#: Causes that are told apart; the rows of others are counted together.
_MOST = 1_000
_OTHERS = "for other reasons"
#: What differs between failures of one cause: what is quoted, and words with a digit.
_PARTICULAR = re.compile(r"'[^']*'|\"[^\"]*\"|\S*\d\S*")
_ERROR_CLASS = re.compile(r"^[A-Za-z_]\w*(?:Error|Exception): ")


@dataclass
class Cause:
    """Failures that are alike but for names, numbers and quoted texts.

    Attributes:
        reason: of the first of them.
        count: how many.
        column: that they stand in, where it is one.
        example: the first row error; None where it is not kept, or scores have failed.
        scorers: keys of the scorers that failed.
    """

    reason: str
    count: int = 0
    column: str | None = None
    example: RowError | None = None
    scorers: tuple[str, ...] = ()

    @property
    def of_llm(self) -> bool:
        """Whether a language model did not answer a prompt: the row itself is good."""
        return self.reason.startswith(NO_ANSWER)


def of_rows(errors: Iterable[RowError], more: Mapping[str, int]) -> list[Cause]:
    """Row errors by cause, the commonest first.

    Args:
        errors: each with its place.
        more: those of which only the reason is kept, and how many they are.
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
    """Failed scores by cause, whichever scorers failed; row errors are not among them."""
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
    """What reasons of one cause have in common."""
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
