"""``veridical train``: methods that learn from labelled records."""

from __future__ import annotations

import json
import math
import sys
import tempfile
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from veridical.cli import train_checker, train_repc
from veridical.cli.options import Inputs, Limit, Map, Proxy, Reader, Store, mapping_of
from veridical.cli.outputs import opened, writable
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.scorers.probability.halludetect_train import Labelled, Outcome

train = typer.Typer(
    name="train",
    help="Train the methods that learn from labelled records.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_SHOWN = 5  # reasons of records left out


class KindName(str, Enum):
    logistic = "logistic"
    network = "network"


class ConditionName(str, Enum):
    all = "all"
    prompt = "prompt"
    none = "none"


train.command("repc", epilog=train_repc.EPILOG)(train_repc.repc)
train.command("checker", epilog=train_checker.EPILOG)(train_checker.checker)


@train.command(
    "halludetect",
    epilog="Examples:\n\n"
    "  veridical train halludetect labelled.jsonl --out model.json\n\n"
    "  veridical train halludetect train.jsonl --reader ragtruth --proxy smollm2 --kind network "
    "--out model.safetensors\n\n"
    "Then: veridical check answers.jsonl --scorers \"halludetect(model='model.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled records; 2 coverage under the minimum.",
)
def halludetect(
    inputs: Inputs,
    out: Annotated[Path, typer.Option(help="The model file: .json or .safetensors.")],
    kind: Annotated[
        KindName, typer.Option(help="Logistic regression, or a network of 2 x 512 units.")
    ] = KindName.logistic,
    proxy: Proxy = None,
    condition: Annotated[
        ConditionName,
        typer.Option(help="What a proxy reads first: contexts and prompt, the prompt, nothing."),
    ] = ConditionName.all,
    held_out: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share of the prompts to measure on.")
    ] = 0.2,
    epochs: Annotated[int, typer.Option(min=1, help="At most, of the network.")] = 2000,
    bootstrap: Annotated[int, typer.Option(min=0, help="Resamples behind each interval.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of split, network and resamples.")] = 0,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    limit: Limit = None,
    store: Store = str(Path(".veridical") / "store"),
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when fewer records have features.")
    ] = 0.98,
    mapping: Map = None,
    reader: Reader = None,
) -> int:
    """Train HalluDetect on labelled records, and measure it on those held out.

    Without --proxy the records' own logprobs are read.
    """
    from veridical.api import Job
    from veridical.cli.progress import watch
    from veridical.scorers.probability.halludetect_model import write_detector
    from veridical.scorers.probability.halludetect_train import features_scorer, gather
    from veridical.scorers.probability.halludetect_train import train as fit

    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    if out.suffix not in (".json", ".safetensors"):
        raise UsageError(f"the model file must end in .json or .safetensors, not {out.name!r}")
    writable(out, json_path, inputs=[i for i in inputs if i != "-"])
    with tempfile.TemporaryDirectory(prefix="veridical-train-") as folder:
        job = Job(
            "-" if inputs == ["-"] else inputs,
            [features_scorer(proxy, condition.value)],
            limit=limit,
            out=Path(folder) / "run",
            mapping=mapping_of(mapping),
            reader=reader,
            store=None if store == "none" else store,
        )
        data = gather(watch(job, err))
    _tell_missing(data, err)
    outcome = fit(
        data,
        kind.value,
        proxy=proxy,
        condition=condition.value,
        held_out=held_out,
        epochs=epochs,
        bootstrap=bootstrap,
        seed=seed,
    )
    write_detector(out, outcome.detector)
    _tell(outcome, err)
    if json_path is not None:
        with opened(json_path) as lines:
            assert lines is not None
            lines.write(json.dumps(_as_dict(outcome, data)) + "\n")
    err.print(f"model: {out}", markup=False)
    coverage = len(data.truth) / data.total
    if coverage < min_coverage:
        err.print(f"coverage {100 * coverage:.1f} %, under {100 * min_coverage:g} %", markup=False)
        return 2
    return 0


def _tell_missing(data: Labelled, err: Console) -> None:
    for reason, n in list(data.missing.items())[:_SHOWN]:
        err.print(f"left out: {n} records: {reason}", markup=False)
    if len(data.missing) > _SHOWN:
        err.print(f"... and {len(data.missing) - _SHOWN} more reasons")


def _tell(outcome: Outcome, err: Console) -> None:
    table = Table(
        title=f"{outcome.n_held_out} records held out, {100 * outcome.prevalence:.1f} % of them "
        f"hallucinated; trained on {outcome.n_train} of other prompts"
    )
    for name in ("method", "metric", "value", "95 %"):
        table.add_column(name)
    for r in outcome.rows:
        between = "-" if r.low is None else f"{r.low:.4f} to {r.high:.4f}"
        table.add_row(r.method, r.metric, f"{r.value:.4f}", between)
    err.print(table)


def _as_dict(outcome: Outcome, data: Labelled) -> dict[str, object]:
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
