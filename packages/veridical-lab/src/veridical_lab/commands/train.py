"""``veridical train``: methods that learn from labelled records."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from veridical.cli.declared import check_files, command, coverage, flag, flags
from veridical.cli.figures import error_console
from veridical.cli.help import App
from veridical.cli.options import INPUTS, MAP, STORE, mapping_of, store_of
from veridical.engine.options import EngineOptions
from veridical.files.temporary import temporary_folder
from veridical.run.options import RunOptions
from veridical_lab.commands import train_checker, train_extractor, train_repc, train_spans
from veridical_lab.commands.training import (
    MeasuredFlags,
    check_model_name,
    figures_table,
    held_out,
    model_file,
    seed,
    tell_missing,
    write_figures,
)

if TYPE_CHECKING:
    from veridical_lab.scorers.halludetect_train import FitOutcome, LabelledAnswer

app = App(
    help="Train the methods that learn from labelled records.",
    no_args_is_help=True,
    epilog="Examples:\n\n"
    "  veridical train halludetect labelled.jsonl --out model.json\n\n"
    "  veridical train repc nli.jsonl --proxy smollm2 --out repc.json\n\n"
    "  veridical train extractor answers.jsonl --out extractor.json\n\n"
    "  veridical train checker labelled.jsonl --base microsoft/deberta-v3-small --out mine\n\n"
    "  veridical train spans marked.jsonl --base answerdotai/ModernBERT-base --out mine",
)


app.command("repc", epilog=train_repc.EPILOG)(train_repc.repc)
app.command("checker", epilog=train_checker.EPILOG)(train_checker.checker)
app.command("extractor", epilog=train_extractor.EPILOG)(train_extractor.extractor)
app.command("spans", epilog=train_spans.EPILOG)(train_spans.spans)


@flags(RunOptions, EngineOptions)
class HalludetectOptions(MeasuredFlags):
    """The options of ``veridical train halludetect``."""

    inputs: list[str] = INPUTS
    out: Path = model_file()
    kind: Literal["logistic", "network"] = flag(
        "Classifier: logistic regression, or a network of 2 x 512 units.", default="logistic"
    )
    proxy: str | None
    condition: Literal["all", "prompt", "none"] = flag(
        "Input before the response: contexts and prompt (all), the prompt, or none.", default="all"
    )
    held_out: float = held_out("prompts")
    epochs: int = flag("Maximum epochs of the network.", default=2000, least=1)
    seed: int = seed("split, network and resamples")
    mapping: list[str] | None = replace(MAP, after="limit")
    reader: str | None = flag(after="mapping")
    store: str = STORE
    min_coverage: float = coverage("Exit 2 when fewer records have features.")


@app.command(
    "halludetect",
    epilog="Examples:\n\n"
    "  veridical train halludetect labelled.jsonl --out model.json\n\n"
    "  veridical train halludetect train.jsonl --reader ragtruth --proxy smollm2 --kind network "
    "--out model.safetensors\n\n"
    "Then: veridical check answers.jsonl --scorers \"halludetect(model='model.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled records; 2 coverage under the minimum.",
)
@command
def halludetect(options: HalludetectOptions) -> int:
    """Train HalluDetect on labelled records, and measure it on those held out.

    Without --proxy the records' own logprobs are read.
    """
    from veridical.api import Job
    from veridical.cli.progress import watch
    from veridical_lab.scorers.halludetect_model import write_detector
    from veridical_lab.scorers.halludetect_train import features_scorer, gather
    from veridical_lab.scorers.halludetect_train import train as fit

    err = error_console()
    check_model_name(options.out)
    check_files(options)
    with temporary_folder("train") as folder:
        job = Job(
            "-" if options.inputs == ["-"] else options.inputs,
            [features_scorer(options.proxy, options.condition)],
            limit=options.limit,
            out=folder / "run",
            mapping=mapping_of(options.mapping),
            reader=options.reader,
            store=store_of(options.store),
        )
        data = gather(watch(job, err))
    tell_missing(data.missing, err, "records")
    outcome = fit(
        data,
        options.kind,
        proxy=options.proxy,
        condition=options.condition,
        held_out=options.held_out,
        epochs=options.epochs,
        bootstrap=options.bootstrap,
        seed=options.seed,
    )
    write_detector(options.out, outcome.detector)
    title = (
        f"{outcome.n_held_out} records held out, {100 * outcome.prevalence:.1f} % of them "
        f"hallucinated; trained on {outcome.n_train} of other prompts"
    )
    figures_table(title, {}, outcome.rows, err)
    write_figures(options.json_path, _as_dict(outcome, data))
    err.print(f"model: {options.out}", markup=False)
    coverage = len(data.truth) / data.total
    if coverage < options.min_coverage:
        err.print(
            f"coverage {100 * coverage:.1f} %, under {100 * options.min_coverage:g} %", markup=False
        )
        return 2
    return 0


def _as_dict(outcome: FitOutcome, data: LabelledAnswer) -> dict[str, object]:
    return {
        "kind": outcome.detector.kind,
        "proxy": outcome.detector.proxy,
        "condition": outcome.detector.condition,
        "n_total": data.total,
        "n_features": len(data.truth),
        "missing": dict(data.missing),
        "n_train": outcome.n_train,
        "n_held_out": outcome.n_held_out,
        "prevalence": outcome.prevalence,
        "rows": [
            {
                "method": r.method,
                "metric": r.metric,
                "value": r.value if math.isfinite(r.value) else None,
                "ci_low": r.low,
                "ci_high": r.high,
            }
            for r in outcome.rows
        ],
    }
