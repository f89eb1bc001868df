"""Benchmark runner: scorers against human labels, in one resumable run each."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.api import AUTO, RUNS, fingerprint
from veridical.engine.engine import Engine
from veridical.errors import UsageError, option_named, several
from veridical.report.stored import BENCH_FILE
from veridical.version import __version__
from veridical_lab.bench.answering import Answering, Tell
from veridical_lab.bench.benchmark import Bench
from veridical_lab.bench.datasets import NAMES, find_suite, locate
from veridical_lab.bench.datasets.suite import Suite
from veridical_lab.bench.extraction_run import ExtractionRun
from veridical_lab.bench.options import Request
from veridical_lab.bench.protocol import Scorers
from veridical_lab.bench.result import Study
from veridical_lab.bench.study import factors
from veridical_lab.bench.suite_run import ScorerRun, Watch
from veridical_lab.sampling.levels import BINS

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from veridical_lab.bench.options import BenchKeywords

#: Default folder of benchmarks, under the current folder.
BENCHES = Path(".veridical") / "bench"


def bench(
    suites: str | Sequence[str],
    data: str | Path | Mapping[str, str | Path] | None = None,
    scorers: Scorers = None,
    *,
    engine: Engine | None = None,
    tell: Tell | None = None,
    watch: Watch | None = None,
    **options: Unpack[BenchKeywords],
) -> Bench:
    """Measure ``scorers`` against the labels of ``suites``.

    Args:
        suites: names, see :func:`veridical_lab.bench.datasets.all_suites`.
        data: a path (or public hub id) for one suite; name -> path for several.
        scorers: as in :func:`veridical.check`; scorers with a choice compare with the suite's
            texts. For the suite ``extraction``, names of extractors.
        engine: a warm engine; by default one is created from the engine's options in ``options``.
        tell: called with the progress of answering questions.
        watch: called with a suite's name and its job; waits for it, showing progress.
        split: names of splits or parts, or ``heldout``; default all.
        samples: maximum samples per record; several numbers give a curve, from one run.
        protocol: ``quick`` uses at most 1 000 seeded groups of a part, ``full`` all.
        answer: the part of each answer that is compared, as in :func:`veridical.check`.
        against: texts that scorers with a choice compare with; items without them are left out.
        multi_sentence: only items with several sentences, where claims of several sizes differ.
        seed: of the draw, the resamples and the folds.
        bootstrap: resamples (and permutations) per interval and test; 0 disables them.
        limit: maximum items of each part, the first ones, before any draw.
        out: folder for the runs and ``bench.json``; the same one resumes. Default: temporary.
        as_published: fit thresholds on the reported targets, as some papers did; the figures are
            flagged.
        threshold: the risk from which scorers call a target of two classes wrong, above 0 and at
            most 1. If the right ones are the positives, those under it are called right. Default:
            fitted on other folds. The length baseline always has a fitted one.
        tuned: add a row of the scorers' weighted mean, its weights fitted on other folds.
        beta: also report F-beta.
        retry_failed: run records with a failed score again.
        fresh: score all again, ignoring results of earlier runs.
        study: add the meta-evaluation of Kulkarni 2025 ("Mirage") to each response-level split.
        table: generations by many models, for that study's significance tests.
        size_bins: lower edges of that table's bins of model sizes, in billions of parameters;
            default the paper's, 0.5, 4, 20 and 70.
        famd: names of scorers to combine by factor analysis in the study; default: no combination.
        keep_generic: for ``begin`` and ``faithdial``: keep generic responses.
        mapping: for ``graded``: record field -> column, of the user's own data.
        grader: for ``qa``: a name of :data:`veridical.tuning.graders.GRADERS`; default: each data
            set's own rule for unlabelled answers.
        sampling: for ``qa``: decoding of the answers by ``llm``. Default: greedy, with the maximum
            of ``samples`` (default 5) at temperature 1.
        judge: for ``extraction``: a checker of claims; default ``nli``.

    Raises:
        UsageError: a suite, scorer, split or option is unknown; no suite has an option; or the
            data is missing or in another format.
    """
    names = several("suites", suites, (str,), f"the name of a suite ({', '.join(NAMES)})")
    loaded = [find_suite(name) for name in names]
    request, of_engine = Request.of(loaded, options)
    of_engine.refuse_with(engine)
    paths = _paths(loaded, data)
    result = Bench(
        suite=", ".join(names),
        signature="",
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        settings=request.settings(data is not None),
        study=_study(request),  # before the work: its table may be broken
    )
    with ExitStack() as stack:
        if engine is None:
            engine = stack.enter_context(Engine(of_engine))
        answering = Answering.of(engine, request, tell)
        runs = _run_suites(loaded, paths, scorers, request, answering, watch, result)
    if request.study.table is not None:
        content = Path(request.study.table).read_bytes()
        runs.append(hashlib.blake2b(content, digest_size=8).hexdigest())
    result.run = fingerprint({"runs": runs, "settings": result.settings})
    result.signature = _signature(result)
    if request.bench.out is not None:
        folder = Path(request.bench.out)
        folder = folder.with_name(result.run) if folder.name == AUTO else folder
        folder.mkdir(parents=True, exist_ok=True)
        result.write(folder / BENCH_FILE)
    return result


def _study(request: Request) -> Study | None:
    as_published, table = request.bench.as_published, request.study.table
    if table is not None:
        study = factors(
            Path(table),
            unit="configuration" if as_published else "item",
            size_bins=request.study.size_bins or BINS,
        )
        study.as_published = as_published
        return study
    return Study(as_published=as_published) if request.study.study else None


def _run_suites(
    suites: Sequence[Suite],
    paths: Mapping[str, Path],
    scorers: Scorers,
    request: Request,
    answering: Answering,
    watch: Watch | None,
    result: Bench,
) -> list[str]:
    """Put the figures of each suite into ``result``. The fingerprints of their runs."""
    runs: Path | None = None
    if request.bench.out is not None:
        folder = Path(request.bench.out)
        runs = RUNS if folder.name == AUTO else folder / "runs"
    fingerprints = []
    for suite in suites:
        kind = ExtractionRun if suite.measures == "extractors" else ScorerRun
        run = kind.of(suite, paths[suite.name], scorers, request, answering)
        fingerprints.append(run.run(answering.engine, runs, watch))
        run.add_to(result)
    return fingerprints


def _paths(
    suites: Sequence[Suite], data: str | Path | Mapping[str, str | Path] | None
) -> dict[str, Path]:
    if isinstance(data, Mapping):
        by_name = dict(data)
    elif data is None:
        by_name = {}
    elif len(suites) == 1:
        by_name = {suites[0].name: data}
    else:
        raise UsageError(f"several suites need {option_named('data', 'NAME=PATH')} for each")
    for path in by_name.values():
        if not isinstance(path, (str, Path)):
            raise UsageError(f"data must be a path, not {type(path).__name__}")
    names = [s.name for s in suites]
    if len(set(names)) < len(names):
        raise UsageError("a suite is given twice; remove one")
    for name in by_name:
        if name not in names:
            raise UsageError(
                f"{option_named('data')} is given for {name!r}, which is not among the suites"
            )
    missing = next((s for s in suites if s.name not in by_name), None)
    if missing is not None:
        hub = f", or its public id {missing.hub}" if missing.hub else ""
        raise UsageError(
            f"suite {missing.name!r} needs {option_named('data', 'PATH')}{hub}: {missing.needs}"
        )
    return {s.name: locate(s, by_name[s.name]) for s in suites}


def _signature(result: Bench) -> str:
    made_by = ("protocol", "seed", "bootstrap")
    parts = [
        f"bench:{result.suite.replace(', ', '+')}",
        *(f"{k}:{result.settings[k]}" for k in made_by if k in result.settings),
        f"run:{result.run}",
        f"version:{result.version}",
    ]
    return "|".join(parts)
