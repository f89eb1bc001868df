"""Plug-ins: commands, scorers, models, results and names of other distributions."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would dominate the import time
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint
    from typing import Any

COMMANDS = "veridical.commands"
SCORERS = "veridical.scorers"
MODELS = "veridical.models"
NAMES = "veridical.names"
RESULTS = "veridical.results"

#: Names provided by veridical-lab, by group; known without it, for the message about its absence.
LAB: dict[str, frozenset[str]] = {
    COMMANDS: frozenset({"bench", "rank", "redteam", "study", "train"}),
    NAMES: frozenset(
        {
            "bench",
            "claims.checkers.repc",
            "claims.extractors.trained",
            "core.checkpoint_evidence",
            "evaluate",
            "llm.injections",
            "models.seq2seq",
            "sampling.grid",
            "scorers.judges.mqag_models",
        }
    ),
    MODELS: frozenset({"answerability", "choice", "reader", "regressor", "seq2seq"}),
    SCORERS: frozenset(
        {
            *("bart_score", "bleurt", "prism", "q2", "unieval", "halludetect"),
            *("codebleu", "functional_equivalence", "functional_negentropy", "functional_sets"),
        }
    ),
    RESULTS: frozenset({"bench", "rank"}),
}

#: The package's own entries by group, set by :mod:`veridical`, which is in a higher layer.
OWN: dict[str, Callable[[], Any]] = {}

_points: dict[str, dict[str, EntryPoint]] = {}


def points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; of equal names, the first installed."""
    if group not in _points:
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=group):
            found.setdefault(point.name, point)
        _points[group] = found
    return _points[group]


def load(group: str, name: str, called: str = "") -> Any:
    """Load the entry ``name`` that a distribution adds to ``group``.

    Args:
        called: the name used by the user, for the message.

    Raises:
        MissingDistribution: no installed distribution has the name.
    """
    point = points(group).get(name)
    if point is None:
        from veridical.errors import MissingDistribution

        kind = group.rpartition(".")[2].removesuffix("s")
        usual = f"veridical.{name}" if group == NAMES else f"{kind} {name!r}"
        raise MissingDistribution(
            f"{called or usual} is part of veridical-lab, which is not installed; "
            "in a checkout, run: pip install . packages/veridical-lab"
        )
    return point.load()


def import_string(place: str) -> Any:
    """Import the object ``module:object``."""
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
