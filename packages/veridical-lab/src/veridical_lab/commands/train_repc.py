"""``veridical train repc``."""

from __future__ import annotations

import sys
from dataclasses import MISSING, asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from veridical.cli.declared import argument, check_files, command, flag, flags
from veridical.cli.figures import error_console
from veridical.cli.options import STORE, store_of
from veridical.core.options import Group
from veridical.engine.options import EngineOptions
from veridical_lab.commands.training import (
    MeasuredFlags,
    check_model_name,
    held_out,
    model_file,
    seed,
    tell_figures,
    tell_missing,
    write_figures,
)

if TYPE_CHECKING:
    from veridical_lab.repc.train import TrainedRepc
    from veridical_lab.training.figures import FigureRow
    from veridical_lab.training.labelled_pairs import LabelledPairs

_SHOWN = 5  # reasons of pairs without hidden states


EPILOG = (
    "Examples:\n\n"
    "  veridical train repc nli.jsonl --proxy smollm2 --out repc.json\n\n"
    "  veridical train repc nli.jsonl --proxy org/model --classifier mlp --layers ensemble "
    "--test dev.jsonl --out repc.safetensors\n\n"
    "Then: veridical check answers.jsonl --proxy smollm2 "
    "--scorers \"claims(checker=repc, model='repc.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few labelled pairs."
)


@flags(EngineOptions)
class RepcOptions(MeasuredFlags):
    """The options of ``veridical train repc``."""

    inputs: list[str] = argument("Labelled pairs (JSON lines): premise, hypothesis and label.")
    proxy: str = flag(
        "Language model that provides hidden states: smollm2, a folder, a .gguf file, a hub id.",
        Group.OTHER,
        MISSING,
    )
    out: Path = model_file()
    classifier: Literal["svm", "mlp", "knn"] = flag(
        "Classifier: SVM, two-layer network, or nearest neighbours after NCA.", default="svm"
    )
    layers: Literal["select", "ensemble"] = flag(
        "Layers to use: the best one, or all, combined by a network.", default="select"
    )
    pairs: int | None = flag(
        "Training pairs. Default: as published, svm 1000, mlp 2000, knn 100.", least=30
    )
    test: list[str] | None = flag("Further file of pairs to evaluate on; repeatable.")
    test_pairs: int | None = flag("Maximum random pairs of each test file.", least=1)
    held_out: float = held_out("premises", 0.0)
    seed: int = seed("parts, classifiers and resamples")
    store: str = STORE


@command
def repc(options: RepcOptions) -> int:
    """Train RepC: classifiers on a language model's hidden states that judge claims by passages.

    Metrics are computed on held-out pairs, whose premises it has not seen, with the majority class
    as a baseline.
    """
    from veridical_lab.repc.fit import PUBLISHED, need_sklearn
    from veridical_lab.repc.gather import gather
    from veridical_lab.repc.model import write_repc
    from veridical_lab.repc.train import measure, parts_of
    from veridical_lab.repc.train import train as fit
    from veridical_lab.training.labelled_pairs import read_pairs

    err = error_console()
    check_model_name(options.out)
    check_files(options)
    need_sklearn()
    data = read_pairs(options.inputs, limit=options.limit)
    tests = {
        path: read_pairs([path]).sample(options.test_pairs, options.seed)
        for path in options.test or ()
    }
    tell_missing(data.missing, err)
    parts = parts_of(
        data, options.pairs or PUBLISHED[options.classifier], options.held_out, options.seed
    )
    place = store_of(options.store)
    needed = [parts.train, parts.choosing, parts.held, *tests.values()]
    together = type(data)(tuple(p for some in needed for p in some.pairs), {})
    with Progress(console=err, transient=True, disable=not sys.stderr.isatty()) as bars:
        bar = bars.add_task("hidden states", total=len(together.pairs))
        states = gather(
            together, options.proxy, store=place, progress=lambda n: bars.update(bar, completed=n)
        )
        fitted = bars.add_task("layers", total=states.x.shape[1] - 1)
        bounds = [0]
        for some in needed:
            bounds.append(bounds[-1] + len(some.pairs))
        outcome = fit(
            parts,
            states.take(0, bounds[2]),
            options.classifier,
            options.layers,
            proxy=options.proxy,
            seed=options.seed,
            notes={"files": [Path(i).name for i in options.inputs]},
            progress=lambda done, _: bars.update(fitted, completed=done),
        )
    for reason, n in list(states.missing.items())[:_SHOWN]:
        err.print(f"without hidden states: {n} pairs: {reason}", markup=False)
    rows: list[FigureRow] = []
    for i, name in enumerate(["held out", *(Path(p).name for p in tests)], start=2):
        rows += measure(
            outcome.model,
            needed[i],
            states.take(bounds[i], bounds[i + 1]),
            part=name,
            bootstrap=options.bootstrap,
            seed=options.seed,
        )
    write_repc(options.out, outcome.model)
    _tell(outcome, rows, err)
    write_figures(options.json_path, _as_dict(outcome, rows, data))
    err.print(f"model: {options.out}", markup=False)
    return 0


def _tell(outcome: TrainedRepc, rows: list[FigureRow], err: Console) -> None:
    model = outcome.model
    best = max(outcome.profile.values())
    profile = Table(title=f"macro-F1 by layer, {outcome.n_choosing} pairs not trained on")
    for name in ("layer", "macro-F1", ""):
        profile.add_column(name)
    for layer, value in outcome.profile.items():
        mark = " *" if model.mixer is None and layer in model.layers else ""
        profile.add_row(f"{layer}{mark}", f"{value:.4f}", "█" * round(24 * value / (best or 1)))
    err.print(profile)
    chosen = f"layer {model.layers[0]}" if model.mixer is None else f"{len(model.layers)} layers"
    tell_figures(rows, f"{model.kind}, {chosen}, trained on {outcome.n_train} pairs", err)


def _as_dict(outcome: TrainedRepc, rows: list[FigureRow], data: LabelledPairs) -> dict[str, object]:
    model = outcome.model
    return {
        "classifier": model.kind,
        "layers": list(model.layers),
        "proxy": model.proxy,
        "revision": model.revision,
        "missing": dict(data.missing),
        "n_train": outcome.n_train,
        "n_choosing": outcome.n_choosing,
        "profile": {str(layer): value for layer, value in outcome.profile.items()},
        "rows": [asdict(r) for r in rows],
    }
