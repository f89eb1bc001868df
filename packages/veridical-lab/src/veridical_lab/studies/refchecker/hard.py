"""Questions with the most hallucinated responses (Hu et al. 2024, appendix A.2).

In the paper a language model judges every response; here the verdicts of runs do, one run per
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import BaseModel

from veridical.api import reopen
from veridical.core.verdict_cuts import FLAGGED
from veridical.errors import UsageError
from veridical.stats.tables import STORED_MODEL
from veridical.text.display import display

HALLUCINATED = frozenset(FLAGGED)
FEWEST = 2  # runs


class Hard(BaseModel):
    """Question with its ``hardness``.

    That is the share of ``judged`` responses that are hallucinated; ``risk`` is their mean risk,
    which breaks ties.
    """

    model_config = STORED_MODEL
    id: str
    hardness: float
    judged: int
    risk: float


class HardCases(BaseModel):
    """The hardest first. ``questions`` in all runs; ``unchecked``: those without a verdict in any
    run, which are never chosen."""

    model_config = STORED_MODEL
    runs: int
    questions: int
    unchecked: int
    chosen: list[Hard]


def hard_cases(runs: Sequence[Path], top: int) -> HardCases:
    """Return the ``top`` hardest questions by the verdicts of ``runs``.

    Args:
        runs: run directories, each of one model's responses to the same questions, paired by id.

    Raises:
        UsageError: there are fewer than two runs, one is unreadable, has duplicate ids, or lacks a
            question of the first one.
    """
    if len(runs) < FEWEST:
        raise UsageError(f"name at least {FEWEST} runs, each of one model's responses")
    first: list[str] = []
    said: dict[str, list[bool]] = {}
    risks: dict[str, list[float]] = {}
    for path in runs:
        seen: set[str] = set()
        for result in reopen(path):
            identity = str(result.id)
            if identity in seen:
                raise UsageError(f"{display(path)}: two results of id {identity!r}")
            seen.add(identity)
            if result.verdict in HALLUCINATED or result.verdict in ("supported", "consistent"):
                said.setdefault(identity, []).append(result.verdict in HALLUCINATED)
                risks.setdefault(identity, []).append(result.risk or 0.0)
        first = first or list(dict.fromkeys(seen))
        if missing := set(first) ^ seen:
            raise UsageError(
                f"{display(path)} and {display(runs[0])} are not of the same questions: id "
                f"{min(missing)!r} is in one of them only"
            )
    cases = [
        Hard(
            id=identity,
            hardness=sum(of) / len(of),
            judged=len(of),
            risk=sum(risks[identity]) / len(of),
        )
        for identity, of in said.items()
    ]
    cases.sort(key=lambda c: (-c.hardness, -c.risk, c.id))
    return HardCases(
        runs=len(runs), questions=len(first), unchecked=len(first) - len(cases), chosen=cases[:top]
    )
