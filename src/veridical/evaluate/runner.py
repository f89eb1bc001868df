"""``bench``: any scorers against human labels, on any suites, in one resumable run each."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veridical.api import AUTO, RUNS, fingerprint
from veridical.engine import Engine
from veridical.errors import UsageError
from veridical.evaluate.answering import Answering, Tell
from veridical.evaluate.datasets import find_suite, locate
from veridical.evaluate.datasets.suite import Suite
from veridical.evaluate.extraction_run import ExtractionRun
from veridical.evaluate.figures import Settings
from veridical.evaluate.protocol import Protocol, Scorers
from veridical.evaluate.request import Request
from veridical.evaluate.result import STORED, Bench, Study
from veridical.evaluate.study import factors
from veridical.evaluate.suite_run import SuiteRun, Watch
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.llm.sampling import Sampling

#: Where benchmarks go by default, under the current folder.
BENCHES = Path(".veridical") / "bench"


def bench(
    suites: str | Sequence[str],
    data: str | Path | Mapping[str, str | Path] | None,
    scorers: Scorers = None,
    *,
    split: str | Sequence[str] | None = None,
    samples: int | Sequence[int] | None = None,
    protocol: Protocol = "quick",
    keep_generic: bool = False,
    mapping: Mapping[str, str] | None = None,
    seed: int = 0,
    bootstrap: int = 1000,
    limit: int | None = None,
    out: str | Path | None = None,
    as_published: bool = False,
    study: bool = False,
    table: str | Path | None = None,
    famd: Sequence[str] = (),
    beta: float | None = None,
    retry_failed: bool = False,
    grader: str | None = None,
    sampling: Sampling | None = None,
    against: str | None = None,
    multi_sentence: bool = False,
    judge: str | None = None,
    tell: Tell | None = None,
    watch: Watch | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Bench:
    """Measure ``scorers`` against the labels of ``suites``.

    Args:
        suites: names, see :func:`veridical.evaluate.datasets.all_suites`.
        data: a path (or public hub id) for one suite; name -> path for several.
        scorers: as :func:`veridical.check` takes them; scorers that can choose what to compare
            with are set to what the suite has. Of the suite ``extraction``, names of extractors.
        split: names of splits or parts, or ``heldout``; default all.
        samples: use at most so many samples a record; several numbers give a curve, from one run.
        protocol: ``quick`` takes at most 1 000 seeded groups of a part, ``full`` all.
        keep_generic: keep BEGIN's generic responses.
        mapping: record field -> column, of the user's own data (the suite ``graded``).
        seed: of the draw, the resamples and the folds.
        bootstrap: resamples (and permutations) behind every interval and test; 0 for none.
        limit: take the first so many items of each part, before any draw.
        out: folder for the runs and ``bench.json``; the same one resumes. Default: temporary.
        as_published: fit thresholds on the very targets they are reported on, as some papers did;
            the figures are flagged.
        study: add the meta-evaluation of Kulkarni 2025 ("Mirage") to each response-level split.
        table: of generations by many models, for that study's significance tests.
        famd: names of scorers to combine by factor analysis in the study; default none.
        beta: also report F-beta.
        retry_failed: run records with a failed score again.
        grader: of the answers of the suite ``qa``, a name of
            :data:`veridical.evaluate.graders.GRADERS`; default: by each data set's own rule,
            where an answer has no label.
        sampling: how ``llm`` answers the questions of the suite ``qa``; default: greedily, with
            the most of ``samples`` (5 unless given) at temperature 1.
        against: what scorers that can choose compare with, whatever the suite has by default;
            items without it are left out.
        multi_sentence: only items with several sentences, where claims of several sizes differ.
        judge: of the suite ``extraction``, a checker of claims; default ``nli``.
        tell: is told how far a model is with answering questions.
        watch: called with a suite's name and its job; waits for it, showing progress.
        engine: a warm engine; else one is made with ``options``.

    Raises:
        UsageError: an unknown suite, scorer, split; data that is not there or of another format.
    """
    names = [suites] if isinstance(suites, str) else list(suites)
    if mapping and "graded" not in names:
        raise UsageError("columns can be mapped in the suite 'graded' alone: others have a format")
    request = Request.of(
        split=split,
        samples=samples,
        protocol=protocol,
        keep_generic=keep_generic,
        mapping=mapping,
        limit=limit,
        figures=Settings(seed, bootstrap, as_published, beta),
        grader=grader,
        sampling=sampling,
        against=against,
        multi_sentence=multi_sentence,
        judge=judge,
        study=study,
        famd=famd,
    )
    found = [find_suite(name) for name in names]
    paths = _paths(found, data)
    made = Bench(
        suite=", ".join(names),
        signature="",
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        settings=request.settings(data is not None),
    )
    if table is not None:  # before the work: it may be broken
        made.study = factors(Path(table), unit="configuration" if as_published else "item")
        made.study.as_published = as_published
    elif study:
        made.study = Study(as_published=as_published)
    root = None if out is None else Path(out)
    place = root and (RUNS if root.name == AUTO else root / "runs")
    parts: list[str] = []
    own = Engine(**options) if engine is None else engine
    try:
        asks = own.llms.default is not None and any(s.questions is not None for s in found)
        if sampling is not None and not asks:
            raise UsageError("sampling is of the suite 'qa' with a language model (--llm NAME)")
        answering = Answering.of(own, root, grader=grader, retry_failed=retry_failed, tell=tell)
        for suite in found:
            llm = own.llms.default is not None
            kind = ExtractionRun if suite.measures == "extractors" else SuiteRun
            run = kind.of(suite, paths[suite.name], scorers, request, llm, answering)
            parts.append(run.run(own, place, watch, retry_failed))
            run.add_to(made)
    finally:
        if engine is None:
            own.close()
    if table is not None:
        parts.append(hashlib.blake2b(Path(table).read_bytes(), digest_size=8).hexdigest())
    made.run = fingerprint({"runs": parts, "settings": made.settings})
    made.signature = _signature(made)
    if root is not None:
        folder = root.with_name(made.run) if root.name == AUTO else root
        folder.mkdir(parents=True, exist_ok=True)
        made.write(folder / STORED)
    return made


def _paths(
    suites: Sequence[Suite], data: str | Path | Mapping[str, str | Path] | None
) -> dict[str, Path]:
    if isinstance(data, Mapping):
        given = dict(data)
    elif data is None:
        given = {}
    elif len(suites) == 1:
        given = {suites[0].name: data}
    else:
        raise UsageError("several suites need --data NAME=PATH for each")
    names = [s.name for s in suites]
    if len(set(names)) < len(names):
        raise UsageError("a suite is asked for twice")
    for name in given:
        if name not in names:
            raise UsageError(f"--data is given for {name!r}, which is not among the suites")
    missing = next((s for s in suites if s.name not in given), None)
    if missing is not None:
        hub = f", or its public id {missing.hub}" if missing.hub else ""
        raise UsageError(f"suite {missing.name!r} needs --data PATH{hub}: {missing.needs}")
    return {s.name: locate(s, given[s.name]) for s in suites}


def _signature(made: Bench) -> str:
    told = [
        f"bench:{made.suite.replace(', ', '+')}",
        *(
            f"{k}:{made.settings[k]}"
            for k in ("protocol", "seed", "bootstrap")
            if k in made.settings
        ),
        f"run:{made.run}",
        f"version:{made.version}",
    ]
    return "|".join(told)
