"""``veridical train checker``."""

from __future__ import annotations

import sys
from dataclasses import asdict

from rich.progress import Progress

from veridical.cli.declared import argument, check_files, command, flags
from veridical.cli.figures import error_console
from veridical.files.atomic import need_new_folder
from veridical_lab.commands.training import TuningFlags, tell_figures, tell_missing, write_figures

EPILOG = (
    "Examples:\n\n"
    "  veridical train checker labelled.jsonl --base microsoft/deberta-v3-small --out mine\n\n"
    "Then: veridical check answers.jsonl --claims --nli mine\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled claims."
)


@flags()
class CheckerOptions(TuningFlags):
    """The options of ``veridical train checker``."""

    inputs: list[str] = argument(
        "Labelled pairs (JSON lines): premise, hypothesis and label entailment, neutral, "
        "contradiction or not_entailment."
    )


@command
def checker(options: CheckerOptions) -> int:
    """Fine-tune an encoder on labelled claims, for --nli.

    Metrics are computed on held-out pairs, whose premises it has not seen, with the majority class
    as a baseline.
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
