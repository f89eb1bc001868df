"""What the ``train`` commands share: options, what is left out, tables and files of figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from veridical.cli.outputs import opened
from veridical.core.options import Group
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical_lab.training.figures import Row

Bootstrap = Annotated[
    int, typer.Option(min=0, help="Resamples behind each interval."), Group.FIGURES
]

_SHOWN = 5  # reasons of rows left out


def check_model_name(path: Path) -> None:
    """
    Raises:
        UsageError: a model file may not be called so.
    """
    if path.suffix not in (".json", ".safetensors"):
        raise UsageError(f"the model file must end in .json or .safetensors, not {path.name!r}")


def tell_missing(missing: Mapping[str, int], err: Console, what: str = "rows") -> None:
    """Say why rows were left out."""
    for reason, n in list(missing.items())[:_SHOWN]:
        err.print(f"left out: {n} {what}: {reason}", markup=False)
    if len(missing) > _SHOWN:
        err.print(f"... and {len(missing) - _SHOWN} more reasons")


def figures_table(
    title: str, columns: Mapping[str, str], rows: Iterable[Any], err: Console
) -> None:
    """Print figures with their intervals; ``columns``, attribute -> title, stand first."""
    table = Table(title=title)
    for name in (*columns.values(), "method", "metric", "value", "95 %"):
        table.add_column(name)
    for r in rows:
        interval = "-" if r.low is None else f"{r.low:.4f} to {r.high:.4f}"
        first = (str(getattr(r, name)) for name in columns)
        table.add_row(*first, r.method, r.metric, f"{r.value:.4f}", interval)
    err.print(table)


def tell_figures(rows: list[Row], title: str, err: Console) -> None:
    """Print the figures of checkers of claims."""
    figures_table(title, {"part": "pairs of", "n": "n"}, rows, err)


def write_figures(path: str | None, figures: Mapping[str, Any]) -> None:
    """Write figures as JSON where ``--json`` says."""
    with opened(path) as lines:
        if lines is not None:
            lines.write(json.dumps(figures) + "\n")
