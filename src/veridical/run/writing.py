"""Planned LLM output: calls, tokens, money and hours.

Shared by commands with ``--plan``. None is unknown, which is never 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veridical.run.figures import called
from veridical.run.plans import Plans
from veridical.run.request import Request

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer
    from veridical.engine.engine import Engine
    from veridical.llm.ledger import Ledger

#: Figures of a part of the work, without its hours.
FIGURES = ("calls", "journaled", "tokens_in", "tokens_out", "cost")


def of_ledger(ledger: Ledger) -> dict[str, Any]:
    """Return the figures of counted calls."""
    return {**called(ledger), "journaled": ledger.journaled, "seconds": 0.0}


def of_seconds(seconds: float | None) -> dict[str, Any]:
    """Return the figures of work without a language model."""
    return {**dict.fromkeys(FIGURES, 0), "cost": 0.0, "seconds": seconds}


def of_scoring(
    rows: Sequence[Record], scorers: Sequence[BoundScorer], engine: Engine, few: int | None = None
) -> dict[str, Any]:
    """Return the figures of scoring ``rows``; ``again`` has the possible repeated calls, one for
    each reply without a verdict.

    Args:
        few: number of rows to plan if all are alike; the figures are scaled.
    """
    if not rows:
        return of_seconds(0.0)
    some = rows if few is None else rows[:: max(1, len(rows) // few)][:few]
    scale = len(rows) / len(some)
    request = Request.of(scorers, {"engine": engine})
    planned = Plans(engine, request.open(list(some)), engine.store is not None).of(request)
    llm, seconds = planned["llm"], planned["scoring_seconds"]
    counted = {name: llm["scoring"][name] for name in FIGURES}
    if not llm["complete"]:  # there may be more calls than those counted
        counted |= {"tokens_out": None, "cost": None}
    whole = {name: _scaled(value, scale) for name, value in counted.items()}
    return {
        **whole,
        "seconds": _scaled(seconds, scale),
        "complete": llm["complete"],
        "again": llm["again"],
    }


def summed(parts: Iterable[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Add up the figures called ``names``; a sum is None if a part of it is unknown."""
    parts = list(parts)
    values = {name: [part[name] for part in parts] for name in names}
    return {name: None if None in of else sum(of) for name, of in values.items()}


def total_of(parts: Sequence[Mapping[str, Any]], speed: float | None) -> dict[str, Any]:
    """Return the total figures of ``parts``, with the ``hours`` of writing at ``speed`` and of
    local computation. ``complete`` is False if there may be more calls than those counted."""
    whole = summed(parts, (*FIGURES, "seconds"))
    seconds, tokens = whole.pop("seconds"), whole["tokens_out"]
    writing = 0.0 if tokens == 0 else None
    if tokens and speed is not None:
        writing = tokens / speed
    unknown = writing is None or seconds is None
    return {
        **whole,
        "complete": all(part.get("complete", True) for part in parts),
        "hours": None if unknown else (writing + seconds) / 3600,
    }


def _scaled(value: Any, scale: float) -> Any:
    if value is None:
        return None
    return round(value * scale) if isinstance(value, int) else value * scale
