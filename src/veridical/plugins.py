"""Commands, scorers, models, results and names that other distributions add."""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own would be most of what importing the package costs
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint
    from typing import Any

COMMANDS = "veridical.commands"
SCORERS = "veridical.scorers"
MODELS = "veridical.models"
NAMES = "veridical.names"
RESULTS = "veridical.results"

#: The names that veridical-lab adds, by group. They are known without it, to say what is missing.
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

#: What the package itself has of a group. :mod:`veridical` fills it in, which lies above the rest.
OWN: dict[str, Callable[[], Any]] = {}

_points: dict[str, dict[str, EntryPoint]] = {}


def points(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name; of equal names the first that is installed."""
    if group not in _points:
        from importlib.metadata import entry_points

        found: dict[str, EntryPoint] = {}
        for point in entry_points(group=group):
            found.setdefault(point.name, point)
        _points[group] = found
    return _points[group]


def load(group: str, name: str, called: str = "") -> Any:
    """Load what a distribution adds to ``group`` under ``name``.

    Args:
        called: how the user named it, for the message.

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
            "in a checkout: pip install . packages/veridical-lab"
        )
    return point.load()


def import_string(place: str) -> Any:
    """Return what ``module:object`` names."""
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
