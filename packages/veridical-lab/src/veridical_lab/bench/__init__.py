"""Measuring scorers against human labels: ``veridical.bench`` is what the command calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veridical_lab.bench.benchmark import Bench
    from veridical_lab.bench.runner import BENCHES, bench

__all__ = ["BENCHES", "Bench", "bench"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from veridical_lab.bench import benchmark, runner

    return getattr(benchmark if name == "Bench" else runner, name)
