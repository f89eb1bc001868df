"""Shared parts of the ``train`` commands: options, notices, tables, figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from veridical.cli.declared import flag, flags
from veridical.cli.figures import JSON_FIGURES
from veridical.cli.outputs import opened
from veridical.core.options import Group, Names
from veridical.errors import UsageError
from veridical.run.options import RunOptions

if TYPE_CHECKING:
    from veridical_lab.training.figures import FigureRow


def model_file() -> Any:
    """Declare the flag ``--out`` of a model file."""
    return flag(
        "Model file to write: .json or .safetensors.", Group.OTHER, MISSING, names=Names.OUTPUT
    )


def held_out(what: str, least: float = 0.05) -> Any:
    """Declare the flag ``--held-out``."""
    return flag(f"Share of the {what} held out for evaluation.", default=0.2, least=least, most=0.5)


def seed(what: str) -> Any:
    """Declare the flag ``--seed``."""
    return flag(f"Random seed of {what}.", default=0, least=0)


@flags(RunOptions)
class MeasuredFlags:
    """Options of the measurement of a trained model."""

    bootstrap: int = flag("Bootstrap resamples per interval.", Group.FIGURES, 1000, least=0)
    json_path: str | None = JSON_FIGURES
    limit: int | None


@flags()
class TuningFlags(MeasuredFlags):
    """Options of fine-tuning an encoder."""

    base: str = flag("Encoder to fine-tune: a folder or a hub id.", default=MISSING)
    out: Path = flag("New folder for the model.", default=MISSING, names=Names.OTHER)
    epochs: int = flag("Epochs over the training part.", default=3, least=1)
    rate: float = flag("Maximum learning rate.", default=3e-5, least=1e-8, most=1)
    held_out: float = held_out("premises")
    seed: int = seed("parts, head, batches, resamples")
    device: str | None = flag("Torch device, such as cuda or cpu.")


_SHOWN = 5  # reasons of rows left out


def check_model_name(path: Path) -> None:
    """Check the name of a model file.

    Raises:
        UsageError: its ending is not supported.
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


def tell_figures(rows: list[FigureRow], title: str, err: Console) -> None:
    """Print the figures of checkers of claims."""
    figures_table(title, {"part": "pairs of", "n": "n"}, rows, err)


def write_figures(path: str | None, figures: Mapping[str, Any]) -> None:
    """Write figures as JSON where ``--json`` says."""
    with opened(path) as lines:
        if lines is not None:
            lines.write(json.dumps(figures) + "\n")
