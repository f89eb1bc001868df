"""``veridical tune``: an ensemble of scorers, tuned on graded answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli import figures, interrupts
from veridical.cli.declared import command, option_of
from veridical.cli.figures import JsonFigures, Reports
from veridical.cli.options import (
    STORE,
    AgainstOption,
    AnswerOption,
    Budget,
    Claims,
    Corpus,
    CorpusPages,
    CorpusQuery,
    CorpusTop,
    Embedder,
    ImageEmbedder,
    Inputs,
    Limit,
    Llm,
    Map,
    Nli,
    PrecisionOption,
    Preset,
    PresetOption,
    Processes,
    Proxy,
    QueryName,
    Reader,
    RetryFailed,
    Samples,
    Spans,
    Store,
    TokenEncoder,
    keywords_of,
    rows_of,
)
from veridical.cli.outputs import coverage_code, write_report_as
from veridical.core.options import Group, Names
from veridical.engine.options import EngineOptions
from veridical.run.options import RunOptions
from veridical.tuning.options import TuneOptions

if TYPE_CHECKING:
    from veridical.tuning.tuned import Tuned

TUNE_EXAMPLES = (
    "Examples:\n\n"
    "  veridical tune graded.jsonl --out ensemble.json\n\n"
    '  veridical tune graded.jsonl --scorers "ngram, selfcheck_nli, cosine" --objective f1 --joint '
    "--out ensemble.json --report tuning.html\n\n"
    "  veridical tune answers.jsonl --grader contains --calibrate platt --alpha 0.05 --delta 0.1 "
    "--out ensemble.json\n\n"
    "  veridical tune graded.jsonl --objective f1 --positive correct --joint\n\n"
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


class PositiveName(str, Enum):
    hallucinated = "hallucinated"
    correct = "correct"


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


@dataclass(frozen=True, kw_only=True)
class TuneCommand:
    """The options of ``veridical tune``."""

    inputs: Inputs
    out: Annotated[Path | None, option_of(TuneOptions, "out"), Names.OUTPUT] = None
    cascade: Annotated[Path | None, option_of(TuneOptions, "cascade"), Names.OUTPUT] = None
    keep: Annotated[float, option_of(TuneOptions, "keep")] = TuneOptions.keep
    hour: Annotated[float, option_of(TuneOptions, "hour")] = TuneOptions.hour
    scorers: Annotated[
        str | None,
        typer.Option(help='Components, such as "cosine, ngram(n=2)". Default: the preset\'s.'),
        Group.SCORING,
    ] = None
    preset: PresetOption = Preset.all
    objective: Annotated[ObjectiveName, option_of(TuneOptions, "objective")] = ObjectiveName.auroc
    positive: Annotated[PositiveName, option_of(TuneOptions, "positive")] = (
        PositiveName.hallucinated
    )
    joint: Annotated[bool, option_of(TuneOptions, "joint", "--joint")] = False
    beta: Annotated[float, option_of(TuneOptions, "beta")] = TuneOptions.beta
    method: Annotated[MethodName, option_of(TuneOptions, "method")] = MethodName.weighted
    calibrate: Annotated[CalibrationName, option_of(TuneOptions, "calibrate")] = (
        CalibrationName.none
    )
    alpha: Annotated[float | None, option_of(TuneOptions, "alpha")] = None
    delta: Annotated[float, option_of(TuneOptions, "delta")] = TuneOptions.delta
    by: Annotated[str | None, option_of(TuneOptions, "by")] = None
    simultaneous: Annotated[bool, option_of(TuneOptions, "simultaneous", "--simultaneous")] = False
    level: Annotated[LevelName, option_of(TuneOptions, "level")] = LevelName.response
    labels: Annotated[Path | None, option_of(TuneOptions, "labels")] = None
    grader: Annotated[str | None, option_of(TuneOptions, "grader")] = None
    cv: Annotated[int, option_of(TuneOptions, "cv")] = TuneOptions.cv
    bootstrap: Annotated[int, option_of(TuneOptions, "bootstrap")] = TuneOptions.bootstrap
    seed: Annotated[int, option_of(TuneOptions, "seed")] = TuneOptions.seed
    run: Annotated[Path | None, option_of(TuneOptions, "run"), Names.RUN] = None
    json_path: JsonFigures = None
    report: Reports = None
    against: AgainstOption = None
    answer: AnswerOption = None
    samples: Samples = None
    claims: Claims = False
    corpus: Corpus = None
    corpus_top: CorpusTop = None
    corpus_query: CorpusQuery = QueryName.sentences
    corpus_pages: CorpusPages = None
    limit: Limit = None
    store: Store = STORE
    min_coverage: Annotated[
        float,
        typer.Option(min=0, max=1, help="Exit 2 when a component's coverage is under this."),
        Group.GATES,
    ] = 0.98
    retry_failed: RetryFailed = False
    mapping: Map = None
    reader: Reader = None
    embedder: Embedder = EngineOptions.embedder
    token_encoder: TokenEncoder = None
    image_embedder: ImageEmbedder = EngineOptions.image_embedder
    nli: Nli = EngineOptions.nli
    precision: PrecisionOption = None
    llm: Llm = None
    proxy: Proxy = None
    spans: Spans = None
    budget: Budget = None
    processes: Processes = None


@command
def tune(options: TuneCommand) -> int:
    """Tune an ensemble of scorers on graded answers: its weights, threshold, calibration and
    guarantee, with figures on answers it was not fitted to."""
    from veridical.api import AUTO, RUNS
    from veridical.tuning import tuning
    from veridical.tuning.tune_text import print_tuned

    err = figures.error_console()
    figures.check_outputs(options)
    keywords = keywords_of(options, TuneOptions, RunOptions, EngineOptions)
    keywords["run"] = RUNS / AUTO if options.run is None else options.run
    if options.calibrate is CalibrationName.none:
        keywords["calibrate"] = None
    tuned = figures.or_interrupted(
        lambda: tuning.tune(
            rows_of(options.inputs),
            options.scorers,
            tell=lambda text: err.print(text, markup=False),
            watch=lambda job: figures.score(job, err, table=True),
            **keywords,
        )
    )
    if tuned is None:
        return interrupts.INTERRUPTED
    figures.write(
        options,
        err,
        json=lambda: json.dumps(tuned.as_dict()),
        render=lambda path: _render(tuned, path),
        show=lambda console: print_tuned(tuned, console),
    )
    if options.out is None:
        err.print("the ensemble is not saved: --out ensemble.json does that")
    else:
        err.print(f"ensemble: {options.out}", markup=False)
    if options.cascade is not None:
        err.print(f"cascade: {options.cascade}", markup=False)
    assert tuned.results is not None
    keys = {bound.key for bound in tuned.ensemble.scorers.values()}
    scorers = tuned.results.summary().scorers.items()
    coverage = {key: scorer.coverage for key, scorer in scorers if key in keys}
    return coverage_code(coverage, options.min_coverage, err)


def _render(tuned: Tuned, path: Path) -> None:
    from veridical.tuning.tune_text import print_tuned, tuned_markdown, write_tuned_page

    write_report_as(
        path,
        html=lambda to: write_tuned_page(tuned, to),
        markdown=lambda: tuned_markdown(tuned),
        text=lambda console: print_tuned(tuned, console),
        json=lambda: json.dumps(tuned.as_dict(), indent=1),
    )
