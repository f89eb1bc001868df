"""Stored figures of bench, tune and rank: kind and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veridical import plugins

#: Name of a benchmark in its folder.
BENCH_FILE = "bench.json"
_MEMBERS = {
    "bench": {"suite", "signature", "rows"},
    "tune": {"ensemble", "honest", "calibration"},
    "rank": {"parts", "order", "paired_by"},
}


def kind_of(figures: Any) -> str | None:
    """Return the kind of the figures in a JSON document, by its members."""
    if not isinstance(figures, dict):
        return None
    return next((kind for kind, members in _MEMBERS.items() if members <= figures.keys()), None)


def write_stored(kind: str, stored: Path, path: Path) -> None:
    """Write the report of figures of ``kind``, in the format given by the name of ``path``.

    Args:
        stored: the file or folder with the figures.

    Raises:
        UsageError: they cannot be read, or the package that shows them is not installed.
    """
    plugins.load(plugins.RESULTS, kind)(stored, path)
