"""``veridical train spans``."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace

from rich.progress import Progress

from veridical.cli.declared import check_files, command, flag, flags
from veridical.cli.figures import error_console
from veridical.cli.options import INPUTS, MAP, mapping_of
from veridical.errors import UsageError
from veridical.files.atomic import need_new_folder
from veridical.run.options import RunOptions
from veridical_lab.commands.training import (
    TuningFlags,
    held_out,
    tell_figures,
    tell_missing,
    write_figures,
)

EPILOG = (
    "Examples:\n\n"
    "  veridical train spans ragtruth/response.jsonl --reader ragtruth "
    "--base answerdotai/ModernBERT-base --out mine\n\n"
    "  veridical train spans marked.jsonl --base ./encoder --out mine\n\n"
    "Then: veridical check answers.jsonl --spans mine\n\n"
    "Exit codes: 0 fine; 1 usage, or too few marked answers."
)


@flags(RunOptions)
class SpansOptions(TuningFlags):
    """The options of ``veridical train spans``."""

    inputs: list[str] = INPUTS
    held_out: float = held_out("sources")
    mapping: list[str] | None = replace(MAP, after="limit")
    reader: str | None = flag(after="mapping")


@command
def spans(options: SpansOptions) -> int:
    """Train a token classifier on answers whose wrong pieces are marked, for --spans.

    Records have contexts and unit_labels, or are RAGTruth's, with source_info.jsonl in the same
    folder. Metrics are computed on held-out answers, whose sources it has not seen.
    """
    from veridical_lab.training.spans import read_marked, train_spans

    err = error_console()
    if options.inputs == ["-"]:
        raise UsageError("train spans reads files, not the standard input")
    need_new_folder(options.out)
    check_files(options, also=[options.out / "new" if options.out.is_dir() else options.out])
    data = read_marked(
        options.inputs,
        reader=options.reader,
        mapping=mapping_of(options.mapping),
        limit=options.limit,
    )
    tell_missing(data.missing, err)
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("batches", total=None)
        outcome = train_spans(
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
    tell_missing(outcome.missing, err, "answers")
    title = (
        f"{outcome.n_held_out} answers held out; trained on {outcome.n_train}, "
        f"epoch {outcome.epoch} of {options.epochs} by {outcome.n_validation} others"
    )
    tell_figures(outcome.figures, title, err)
    write_figures(options.json_path, {**asdict(outcome), "left_out": dict(data.missing)})
    err.print(f"model: {options.out}", markup=False)
    return 0
