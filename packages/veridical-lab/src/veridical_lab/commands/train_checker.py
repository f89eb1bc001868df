"""``veridical train checker``."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from veridical.cli.declared import check_files, command
from veridical.cli.figures import JsonFigures, error_console
from veridical.cli.options import Limit
from veridical.core.options import Names
from veridical.files.atomic import need_new_folder
from veridical_lab.commands.training import Bootstrap, tell_figures, tell_missing, write_figures

EPILOG = (
    "Examples:\n\n"
    "  veridical train checker labelled.jsonl --base microsoft/deberta-v3-small --out mine\n\n"
    "Then: veridical check answers.jsonl --claims --nli mine\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled claims."
)


@dataclass(frozen=True, kw_only=True)
class CheckerOptions:
    """The options of ``veridical train checker``."""

    inputs: Annotated[
        list[str],
        typer.Argument(
            help="JSON lines with premise, hypothesis (the claim) and label: entailment, neutral, "
            "contradiction or not_entailment."
        ),
    ]
    base: Annotated[str, typer.Option(help="Encoder to go on from: a folder or a hub id.")]
    out: Annotated[Path, typer.Option(help="A new folder for the model."), Names.OTHER]
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the training part.")] = 3
    rate: Annotated[float, typer.Option(min=1e-8, max=1, help="Highest learning rate.")] = 3e-5
    held_out: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share of the premises to measure on.")
    ] = 0.2
    bootstrap: Bootstrap = 1000
    seed: Annotated[int, typer.Option(min=0, help="Of parts, head, batches, resamples.")] = 0
    device: Annotated[str | None, typer.Option(help="torch device, such as cuda or cpu.")] = None
    json_path: JsonFigures = None
    limit: Limit = None


@command
def checker(options: CheckerOptions) -> int:
    """Fine-tune an encoder on labelled claims, for --nli.

    Figures are of the pairs held out, whose premises it has not seen, beside the majority class.
    """
    from veridical_lab.training.finetune import fine_tune
    from veridical_lab.training.labelled_pairs import read_pairs

    err = error_console()
    need_new_folder(options.out)
    check_files(options, also=[options.out / "new" if options.out.is_dir() else options.out])
    data = read_pairs(options.inputs, limit=options.limit)
    tell_missing(data.missing, err)
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("batches", total=None)
        outcome = fine_tune(
            data,
            options.base,
            options.out,
            epochs=options.epochs,
            rate=options.rate,
            held_out=options.held_out,
            bootstrap=options.bootstrap,
            seed=options.seed,
            device=options.device,
            progress=lambda done, total: bars.update(bar, completed=done, total=total),
        )
    for reason, n in outcome.missing.items():
        err.print(f"{n} pairs: {reason}", markup=False)
    title = (
        f"{outcome.n_held_out} pairs held out; trained on {outcome.n_train}, "
        f"epoch {outcome.epoch} of {options.epochs} by {outcome.n_validation} others"
    )
    tell_figures(outcome.figures, title, err)
    write_figures(options.json_path, {**asdict(outcome), "left_out": dict(data.missing)})
    err.print(f"model: {options.out} ({', '.join(outcome.classes)})", markup=False)
    return 0
