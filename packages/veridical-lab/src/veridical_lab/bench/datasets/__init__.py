"""Benchmark suites by name. Their modules are imported on demand."""

from __future__ import annotations

from importlib import import_module

from veridical.errors import unknown_name
from veridical_lab.bench.datasets.hub import locate
from veridical_lab.bench.datasets.suite import Suite

__all__ = ["NAMES", "all_suites", "find_suite", "locate"]

#: Every suite, the user's own data first. Each is a file of this folder.
NAMES = (
    "graded",
    "grounded",
    "code",
    "wikibio",
    "begin",
    "halueval",
    "refchecker",
    "refchecker_responses",
    "ragtruth",
    "truthfulqa",
    "faithdial",
    "factscore",
    "qa",
    "extraction",
)


def find_suite(name: str) -> Suite:
    """Return the suite called ``name``.

    Raises:
        UsageError: it does not exist; the message suggests the nearest name.
    """
    if name not in NAMES:
        raise unknown_name("suite", name, NAMES)
    suite: Suite = import_module(f"{__name__}.{name}").SUITE
    return suite


def all_suites() -> list[Suite]:
    """Return all suites, in the order of :data:`NAMES`."""
    return [find_suite(name) for name in NAMES]
