"""``veridical train checker``."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from veridical.cli.options import Limit
from veridical.cli.outputs import opened, writable
from veridical.cli.train_repc import tell_figures, tell_missing
from veridical.errors import UsageError

EPILOG = (
    "Examples:\n\n"
    "  veridical train checker labelled.jsonl --base microsoft/deberta-v3-small --out mine\n\n"
    "Then: veridical check answers.jsonl --claims --nli mine\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled claims."
)


def checker(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines with premise, hypothesis (the claim) and label: entailment, neutral, "
            "contradiction or not_entailment."
        ),
    ],
    base: Annotated[str, typer.Option(help="Encoder to go on from: a folder or a hub id.")],
    out: Annotated[Path, typer.Option(help="A new folder for the model.")],
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training part.")] = 3,
    rate: Annotated[float, typer.Option(min=1e-8, max=1, help="Highest learning rate.")] = 3e-5,
    held_out: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share of the premises to measure on.")
    ] = 0.2,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples behind each interval.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of parts, head, batches, resamples.")] = 0,
    device: Annotated[str | None, typer.Option(help="torch device, such as cuda or cpu.")] = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    limit: Limit = None,
) -> int:
    """Fine-tune an encoder on labelled claims, for --nli.

    Figures are of the pairs held out, whose premises it has not seen, beside the majority class.
    """
    from veridical.claims.finetune import fine_tune
    from veridical.claims.labelled_pairs import read_pairs

    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(f"{out} is there already: name a new folder")
    writable(out / "new" if out.is_dir() else out, json_path, inputs=inputs)
    data = read_pairs(inputs, limit=limit)
    tell_missing(data, err)
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("batches", total=None)
        made = fine_tune(
            data,
            base,
            out,
            epochs=epochs,
            rate=rate,
            held_out=held_out,
            bootstrap=bootstrap,
            seed=seed,
            device=device,
            progress=lambda done, total: bars.update(bar, completed=done, total=total),
        )
    for reason, n in made.missing.items():
        err.print(f"{n} pairs: {reason}", markup=False)
    title = (
        f"{made.n_held_out} pairs held out; trained on {made.n_train}, epoch {made.epoch} of "
        f"{epochs} by {made.n_validation} others"
    )
    tell_figures(made.figures, title, err)
    if json_path is not None:
        with opened(json_path) as lines:
            assert lines is not None
            lines.write(json.dumps({**asdict(made), "left_out": dict(data.missing)}) + "\n")
    err.print(f"model: {out} ({', '.join(made.classes)})", markup=False)
    return 0
