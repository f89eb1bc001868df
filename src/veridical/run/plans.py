"""Plans of requests over given rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veridical.core.registry import BoundScorer
from veridical.engine.engine import Engine
from veridical.engine.run import Task
from veridical.run.dryrun import dry_run
from veridical.run.inputs import Inputs

if TYPE_CHECKING:
    from veridical.engine.options import EngineOptions
    from veridical.io.source import InputSource
    from veridical.run.request import Request


@dataclass(frozen=True)
class Plans:
    """Dry runs over ``rows``.

    Attributes:
        stores: True if a run would have a store.
    """

    engine: Engine
    rows: InputSource
    stores: bool

    def of(self, request: Request, rounds: int | None = None, **how: Any) -> dict[str, Any]:
        """Plan the first ``rounds`` of each scorer of a request (None: all).

        Args:
            how: further keywords of :func:`~veridical.run.dryrun.dry_run`.
        """
        chosen = request.options
        staged = rounds_of(request) > 1
        scorers = _of_rounds(request.scorers, rounds) if staged else request.scorers
        return dry_run(
            self.engine,
            Inputs.of(self.rows, chosen, self.engine.llms),
            Task(scorers, request.strictness, samples=chosen.samples, limit=chosen.limit),
            self.stores,
            chosen.corpus,
            request.steps(self.engine),
            not staged,
            pages=chosen.corpus_pages,
            **how,
        )

    def ranged(self, request: Request) -> dict[str, Any]:
        """Return the plan of a request, with its minimum."""
        if rounds_of(request) == 1:
            return self.of(request)
        least, most = self.of(request, 1), self.of(request)
        return {**most, "least": least["least"] or least}


def engine_of(options: EngineOptions) -> Engine:
    """Make an engine for dry runs, without creating a store that does not exist."""
    store = options.store_path
    return Engine(replace(options, store=store if store is not None and store.is_dir() else None))


def rounds_of(request: Request) -> int:
    """Return the number of rounds in which its scorers use others; 1 if none of them can stop
    early."""
    return max([1, *(len(b.rounds) for b in request.scorers)])


def _of_rounds(bound: Sequence[BoundScorer], count: int | None) -> list[BoundScorer]:
    """Replace scorers with several rounds by the scorers of their first ``count`` rounds (None:
    all)."""
    scorers: dict[str, BoundScorer] = {}
    for b in bound:
        parts = [part for scorers_of_round in b.rounds[:count] for part in scorers_of_round]
        scorers |= {p.key: p for p in (parts if len(b.rounds) > 1 else [b])}
    return list(scorers.values())
