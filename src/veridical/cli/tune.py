"""``veridical tune``: an ensemble of scorers, tuned on graded answers."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from veridical.cli.options import (
    AgainstOption,
    Budget,
    Claims,
    Corpus,
    CorpusTop,
    Embedder,
    Inputs,
    Limit,
    Llm,
    Map,
    Nli,
    Preset,
    PresetOption,
    Processes,
    Proxy,
    Reader,
    RetryFailed,
    Samples,
    Store,
    TokenEncoder,
    mapping_of,
)
from veridical.cli.outputs import coverage_code, form_of, opened, writable, write_report_as
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.api import Job
    from veridical.decide.tuned import Tuned
    from veridical.results import Results

TUNE_EXAMPLES = (
    "Examples:\n\n"
    "  veridical tune graded.jsonl --out ensemble.json\n\n"
    '  veridical tune graded.jsonl --scorers "ngram, selfcheck_nli, cosine" --objective f1 --joint '
    "--out ensemble.json --report tuning.html\n\n"
    "  veridical tune answers.jsonl --grader contains --calibrate platt --alpha 0.05 --delta 0.1 "
    "--out ensemble.json\n\n"
    "  veridical tune graded.jsonl --by task --method logistic --json -\n\n"
    "  veridical tune graded.jsonl --cascade cascade.json --keep 0.99\n\n"
    "Then: veridical check answers.jsonl --scorers \"ensemble(file='ensemble.json')\"\n\n"
    "Exit codes: 0 fine; 1 usage, or too few graded answers; 2 coverage under the minimum; 130 "
    "interrupted (run the same command again to resume)."
)


class ObjectiveName(str, Enum):
    auroc = "auroc"
    average_precision = "average_precision"
    brier = "brier"
    log_loss = "log_loss"
    f1 = "f1"
    f_beta = "f_beta"
    balanced_accuracy = "balanced_accuracy"
    accuracy = "accuracy"


class MethodName(str, Enum):
    weighted = "weighted"
    logistic = "logistic"
    boosted = "boosted"
    famd = "famd"


class CalibrationName(str, Enum):
    none = "none"
    platt = "platt"
    isotonic = "isotonic"
    beta = "beta"
    temperature = "temperature"


class LevelName(str, Enum):
    response = "response"
    sentence = "sentence"


def tune(
    inputs: Inputs,
    out: Annotated[
        Path | None, typer.Option(help="The ensemble's file, JSON. Without it nothing is saved.")
    ] = None,
    cascade: Annotated[
        Path | None,
        typer.Option(
            help="Learn a cascade too, and save it there: dear scorers are asked only where cheap "
            "ones leave doubt (veridical check --cascade)."
        ),
    ] = None,
    keep: Annotated[
        float,
        typer.Option(help="Share of the full ensemble's AUROC that the cascade is to keep."),
    ] = 0.99,
    hour: Annotated[
        float,
        typer.Option(
            help="What an hour of models counts beside money for LLM calls, in their currency."
        ),
    ] = 1.0,
    scorers: Annotated[
        str | None,
        typer.Option(help='Components, such as "cosine, ngram(n=2)". Default: the preset\'s.'),
    ] = None,
    preset: PresetOption = Preset.auto,
    objective: Annotated[
        ObjectiveName, typer.Option(help="What weights, and thresholds, are chosen by.")
    ] = ObjectiveName.auroc,
    joint: Annotated[
        bool,
        typer.Option(
            "--joint", help="Choose weights and threshold together; of f1, f_beta and accuracies."
        ),
    ] = False,
    beta: Annotated[
        float, typer.Option(help="Of f_beta: how many times recall counts as much as precision.")
    ] = 1.0,
    method: Annotated[
        MethodName,
        typer.Option(
            help="A weighted mean; logistic regression; boosted trees, monotone in each risk; famd "
            "uses no labels."
        ),
    ] = MethodName.weighted,
    calibrate: Annotated[
        CalibrationName, typer.Option(help="Make the risk a probability, in this way.")
    ] = CalibrationName.none,
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Find the threshold under which at most this share of answers is hallucinated. "
            "Half of the prompts are kept for that alone."
        ),
    ] = None,
    delta: Annotated[
        float, typer.Option(help="Probability with which that promise may fail.")
    ] = 0.1,
    by: Annotated[
        str | None,
        typer.Option(help="Column of groups, such as task, that get fits of their own."),
    ] = None,
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous",
            help="With --by and --alpha: the guarantees of all groups hold at once with "
            "probability 1 - delta (each takes delta / groups). Without: each by itself.",
        ),
    ] = False,
    level: Annotated[
        LevelName, typer.Option(help="Judge responses (label) or sentences (unit_labels).")
    ] = LevelName.response,
    labels: Annotated[
        Path | None,
        typer.Option(help="File of reviewers' labels: columns label, and row or id of the record."),
    ] = None,
    grader: Annotated[
        str | None,
        typer.Option(
            help="Make the labels: exact, contains, numeric, choice, or llm (with --llm), by the "
            "column reference."
        ),
    ] = None,
    cv: Annotated[
        int, typer.Option(min=2, help="Folds of the cross-validation behind the figures.")
    ] = 5,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Resamples behind each interval and test; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of folds, search and resamples.")] = 0,
    run: Annotated[
        Path | None,
        typer.Option(help="Run directory of the scoring. Default: .veridical/runs/..."),
    ] = None,
    json_path: Annotated[
        str | None, typer.Option("--json", help="Write the figures as JSON; - for stdout.")
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html, .md, .txt or .json. Repeatable."),
    ] = None,
    against: AgainstOption = None,
    samples: Samples = None,
    claims: Claims = False,
    corpus: Corpus = None,
    corpus_top: CorpusTop = None,
    limit: Limit = None,
    store: Store = str(Path(".veridical") / "store"),
    min_coverage: Annotated[
        float, typer.Option(min=0, max=1, help="Exit 2 when a component's coverage is under this.")
    ] = 0.98,
    retry_failed: RetryFailed = False,
    mapping: Map = None,
    reader: Reader = None,
    embedder: Embedder = "minilm",
    token_encoder: TokenEncoder = None,
    nli: Nli = "veridical-nli-mini",
    llm: Llm = None,
    proxy: Proxy = None,
    budget: Budget = None,
    processes: Processes = None,
) -> int:
    """Tune an ensemble of scorers on graded answers: its weights, threshold, calibration and
    guarantee, with figures on answers it was not fitted to."""
    from veridical.api import AUTO, RUNS
    from veridical.cli.finish import ledger_lines, summary_table
    from veridical.cli.progress import watch
    from veridical.decide.tuning import tune as run_tuning
    from veridical.report.tune_text import print_tuned

    err = Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())
    read = [i for i in inputs if i != "-"]
    if labels is not None:
        read.append(str(labels))
    writable(out, cascade, json_path, *(report or ()), inputs=read)
    for path in report or ():
        form_of(path)
    if "-" in inputs and len(inputs) > 1:
        raise UsageError("- (stdin) cannot be mixed with files")

    def scored(job: Job) -> Results:
        err.print(f"scoring into {job.results.path}", markup=False)
        results = watch(job, err)
        summary_table(results.summary(), err)
        for line in ledger_lines(results.ledger):
            err.print(line, markup=False)
        return results

    try:
        tuned = run_tuning(
            "-" if inputs == ["-"] else inputs,
            scorers,
            objective=objective.value,
            joint=joint,
            beta=beta,
            method=method.value,
            calibrate=None if calibrate is CalibrationName.none else calibrate.value,
            alpha=alpha,
            delta=delta,
            by=by,
            simultaneous=simultaneous,
            level=level.value,
            labels=labels,
            grader=grader,
            cv=cv,
            bootstrap=bootstrap,
            seed=seed,
            out=out,
            cascade=cascade,
            keep=keep,
            hour=hour,
            run=RUNS / AUTO if run is None else run,
            preset=preset.value,
            retry_failed=retry_failed,
            tell=lambda text: err.print(text, markup=False),
            watch=scored,
            against=None if against is None else against.value,
            samples=samples,
            claims=claims,
            corpus=corpus,
            corpus_top=corpus_top,
            limit=limit,
            mapping=mapping_of(mapping),
            reader=reader,
            embedder=embedder,
            token_encoder=token_encoder,
            nli=nli,
            llm=llm,
            proxy=proxy,
            budget=budget,
            store=None if store == "none" else store,
            processes=processes,
        )
    except KeyboardInterrupt:
        err.print("interrupted; run the same command again to resume")
        return 130
    with opened(json_path) as lines:
        if lines is not None:
            lines.write(json.dumps(tuned.as_dict()) + "\n")
    for path in report or ():
        _render(tuned, path)
        err.print(f"report: {path}", markup=False)
    print_tuned(tuned, err if json_path == "-" else Console(highlight=False))
    if out is None:
        err.print("the ensemble is not saved: --out ensemble.json does that")
    else:
        err.print(f"ensemble: {out}", markup=False)
    if cascade is not None:
        err.print(f"cascade: {cascade}", markup=False)
    assert tuned.results is not None
    keys = {bound.key for bound in tuned.ensemble.scorers.values()}
    found = tuned.results.summary().scorers.items()
    return coverage_code({k: s.coverage for k, s in found if k in keys}, min_coverage, err)


def _render(tuned: Tuned, path: Path) -> None:
    from veridical.report.tune_text import print_tuned, tuned_markdown, write_tuned_page

    write_report_as(
        path,
        html=lambda to: write_tuned_page(tuned, to),
        markdown=lambda: tuned_markdown(tuned),
        text=lambda console: print_tuned(tuned, console),
        json=lambda: json.dumps(tuned.as_dict(), indent=1),
    )
