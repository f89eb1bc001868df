"""``bench``: any scorers against human labels, on any suites, in one resumable run each."""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from veridical.api import AUTO, RUNS, Job, fingerprint
from veridical.engine import Engine
from veridical.errors import UsageError, unknown_name
from veridical.evaluate.datasets import find_suite, locate
from veridical.evaluate.datasets.suite import Labelled, Options, Suite, Task
from veridical.evaluate.figures import Settings, measure
from veridical.evaluate.judged import Asked
from veridical.evaluate.judgements import RISK, Column, judgements
from veridical.evaluate.metrics.agreement import cohen_kappa, krippendorff_alpha
from veridical.evaluate.notes import left_out, unheard
from veridical.evaluate.protocol import Chosen, Protocol, Scorers, bind, choose, pick_tasks
from veridical.evaluate.result import STORED, Bench, Row, SampleCurve, Split, Study
from veridical.evaluate.study import alignment, factors
from veridical.records import Record
from veridical.registry import BoundScorer
from veridical.version import __version__

#: Where benchmarks go by default, under the current folder.
BENCHES = Path(".veridical") / "bench"
_SHOWN_ERRORS = 50

Watch = Callable[[str, Job], Any]


@dataclass(frozen=True)
class _Request:
    """What was asked for, suites and scorers aside."""

    splits: tuple[str, ...]
    samples: tuple[int, ...]
    protocol: Protocol
    options: Options
    limit: int | None
    figures: Settings
    study: bool
    famd: tuple[str, ...]

    def __post_init__(self) -> None:
        beta = self.figures.beta
        if self.figures.bootstrap < 0:
            raise UsageError(f"bootstrap must be 0 or more, not {self.figures.bootstrap}")
        if self.figures.seed < 0:
            raise UsageError(f"seed must be 0 or more, not {self.figures.seed}")
        if beta is not None and not 0 < beta < math.inf:
            raise UsageError(f"beta must be a number above 0, not {beta:g}")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1, not {self.limit}")


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
    watch: Watch | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Bench:
    """Measure ``scorers`` against the labels of ``suites``.

    Args:
        suites: names, see :func:`veridical.evaluate.datasets.all_suites`.
        data: a path (or public hub id) for one suite; name -> path for several.
        scorers: as :func:`veridical.check` takes them; scorers that can choose what to compare
            with are set to what the suite has.
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
        watch: called with a suite's name and its job; waits for it, showing progress.
        engine: a warm engine; else one is made with ``options``.

    Raises:
        UsageError: an unknown suite, scorer, split; data that is not there or of another format.
    """
    names = [suites] if isinstance(suites, str) else list(suites)
    if famd:
        _check_famd(famd, study)
    if mapping and "graded" not in names:
        raise UsageError("columns can be mapped in the suite 'graded' alone: others have a format")
    found = [find_suite(name) for name in names]
    paths = _paths(found, data)
    request = _Request(
        splits=_listed(split),
        samples=_counts(samples),
        protocol=_protocol(protocol),
        options=Options(keep_generic=keep_generic, mapping=dict(mapping or {})),
        limit=limit,
        figures=Settings(seed, bootstrap, as_published, beta),
        study=study,
        famd=tuple(famd),
    )
    made = Bench(
        suite=", ".join(names),
        signature="",
        created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        settings=_settings(request, data is not None),
    )
    if table is not None:  # before the work: it may be broken
        made.study = factors(Path(table), unit="configuration" if as_published else "item")
        made.study.as_published = as_published
    elif study:
        made.study = Study(as_published=as_published)
    root = None if out is None else Path(out)
    runs: list[str] = []
    own = Engine(**options) if engine is None else engine
    try:
        for suite in found:
            runs.append(_one(suite, paths[suite.name], scorers, request, root, watch, own, made))
    finally:
        if engine is None:
            own.close()
    if table is not None:
        runs.append(hashlib.blake2b(Path(table).read_bytes(), digest_size=8).hexdigest())
    made.run = fingerprint({"runs": runs, "settings": made.settings})
    made.signature = _signature(made)
    if root is not None:
        folder = root.with_name(made.run) if root.name == AUTO else root
        folder.mkdir(parents=True, exist_ok=True)
        made.write(folder / STORED)
    return made


def _one(
    suite: Suite,
    path: Path,
    scorers: Scorers,
    request: _Request,
    root: Path | None,
    watch: Watch | None,
    engine: Engine,
    made: Bench,
) -> str:
    """Run one suite and add what it says to ``made``; the run's fingerprint."""
    bound, combined = bind(suite, scorers)
    for name in request.famd:
        if not any(name in (b.key, b.scorer.name) for b in bound):
            raise unknown_name("scorer to combine", name, [b.key for b in bound])
    chosen = choose(
        suite,
        path,
        options=request.options,
        splits=request.splits,
        protocol=request.protocol,
        limit=request.limit,
        seed=request.figures.seed,
    )
    labelled = Labelled.of(chosen.items)
    tasks = pick_tasks(suite, labelled, request.splits)
    whole = [i.record for i in chosen.items]
    most = max(len(r.samples) for r in whole)
    counts: tuple[int | None, ...] = (None,)
    if request.samples and most:
        counts = tuple(sorted({min(n, most) for n in request.samples}))
    records = [r if n is None else _cut(r, n) for r in whole for n in counts]
    place = None
    if root is not None:
        place = (RUNS if root.name == AUTO else root / "runs") / AUTO
    job = Job(records, bound, out=place, engine=engine)
    if watch is not None:
        watch(suite.name, job)
    results = job.wait()
    tuned = _in_domain(bound, suite.name)
    for at, n in enumerate(counts):
        columns = judgements(
            results.lines(),
            bound,
            labelled,
            combined=combined,
            samples=[len(r.samples) for r in records[at :: len(counts)]],
            every=len(counts),
            place=at,
        )
        figures = replace(request.figures, samples=n)
        told = [measure(suite, t, labelled, columns, chosen.bad, figures, tuned) for t in tasks]
        if at < len(counts) - 1:  # only the curves need it
            made.rows += [r for rows, _ in told for r in rows if r.scorer in columns]
            continue
        made.rows += [r for rows, _ in told for r in rows]
        for task, (_, split) in zip(tasks, told, strict=True):
            split.samples = _sample_curves(made.rows, split) if len(counts) > 1 else []
            split.notes += left_out(chosen, task, labelled)
            if request.samples and request.samples[-1] > most:
                split.notes.append(f"no record has {f'more than {most} ' * (most > 0)}samples")
            if scorers is not None:
                split.notes += unheard(task, split, columns, labelled)
            made.splits.append(split)
        if request.study:
            _align(suite, tasks, labelled, columns, request, made)
    made.rows += _agreement(suite, chosen)
    made.signatures.update(_signatures(results.lines()))
    made.n_row_errors += len(chosen.bad)
    room = _SHOWN_ERRORS - len(made.row_errors)
    made.row_errors += [{"part": b.part, **b.error.as_dict()} for b in chosen.bad[:room]]
    identity = fingerprint(job.directory.manifest()["identity"])
    if not chosen.bad:
        return identity
    return fingerprint({"run": identity, "bad": [[b.part, b.error.as_dict()] for b in chosen.bad]})


def _cut(record: Record, samples: int) -> Record:
    return record.model_copy(update={"samples": record.samples[:samples]})


def _align(
    suite: Suite,
    tasks: Sequence[Task],
    labelled: Labelled,
    columns: Mapping[str, Column],
    request: _Request,
    made: Bench,
) -> None:
    assert made.study is not None
    for task in tasks:
        if task.kind != "binary" or task.on != "items" or task.flip:
            continue
        asked = Asked.of(task, labelled)
        live = {
            name: c.items
            for name, c in columns.items()
            if name != RISK and not np.isnan(c.items.raw[asked.where]).all()
        }
        if not live or len(np.unique(asked.truth)) < 2:
            continue
        made.study.alignment.append(
            alignment(
                suite.name,
                task.split,
                asked.truth,
                labelled.words[asked.where],
                asked.groups,
                {name: s.raw[asked.where] for name, s in live.items()},
                {name: s.risk[asked.where] for name, s in live.items()},
                as_published=request.figures.as_published,
                famd=[n for n in live if {n, n.partition("(")[0]} & set(request.famd)],
                seed=request.figures.seed,
            )
        )


def _sample_curves(rows: Sequence[Row], split: Split) -> list[SampleCurve]:
    """The headline figure of each scorer by the number of samples."""
    points: dict[str, list[tuple[int, float | None, float | None, float | None]]] = {}
    for r in rows:
        same = (r.suite, r.split, r.metric) == (split.suite, split.split, split.headline)
        if same and r.samples is not None and r.scorer in split.scorers:
            points.setdefault(r.scorer, []).append((r.samples, r.value, r.ci_low, r.ci_high))
    return [
        SampleCurve(scorer=name, metric=split.headline, points=sorted(found))
        for name, found in points.items()
    ]


def _agreement(suite: Suite, chosen: Chosen) -> list[Row]:
    """Agreement between the annotators of each part, where single annotations are there."""
    rows = []
    for part in dict.fromkeys(i.part for i in chosen.items):
        labels = [i.annotators for i in chosen.items if i.part == part and i.annotators]
        if not labels:
            continue
        figures = {
            "cohen_kappa": cohen_kappa(labels),
            "krippendorff_alpha": krippendorff_alpha(labels, "nominal"),
            "krippendorff_alpha_interval": krippendorff_alpha(labels, "interval"),
        }
        for metric, value in figures.items():
            rows.append(
                Row(
                    suite=suite.name,
                    scorer="annotators",
                    split=part,
                    level="response",
                    positive="hallucinated",
                    metric=metric,
                    value=value if np.isfinite(value) else None,
                    n_total=len(labels),
                    n_scored=len(labels),
                )
            )
    return rows


def _in_domain(bound: Sequence[BoundScorer], suite: str) -> set[str]:
    tuned = {b.key for b in bound if b.in_domain(suite)}
    return tuned | {RISK} if tuned else tuned


def _signatures(lines: Iterable[bytes]) -> dict[str, str]:
    """Signature of each scorer, from the first line that has it."""
    found: dict[str, str] = {}
    for line in lines:
        scores = json.loads(line)["scores"]
        found.update({k: s["signature"] for k, s in scores.items() if s["signature"]})
        if len(found) == len(scores):
            break
    return found


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


def _listed(split: str | Sequence[str] | None) -> tuple[str, ...]:
    if split is None:
        return ()
    parts = split.split(",") if isinstance(split, str) else split
    return tuple(p.strip() for p in parts if p.strip())


def _counts(samples: int | Sequence[int] | None) -> tuple[int, ...]:
    if samples is None:
        return ()
    counts = [samples] if isinstance(samples, int) else list(samples)
    if any(n < 1 for n in counts):
        raise UsageError(f"samples must be at least 1, not {min(counts)}")
    return tuple(sorted(set(counts)))


def _protocol(name: str) -> Protocol:
    if name not in get_args(Protocol):
        raise UsageError(f"protocol is quick or full, not {name!r}")
    return cast(Protocol, name)


def _check_famd(names: Sequence[str], study: bool) -> None:
    """Before hours of work, not after."""
    if not study:
        raise UsageError("factor analysis belongs to the study (--famd to --study)")
    if len(names) < 2:
        raise UsageError("factor analysis needs at least two scorers (--famd)")
    if importlib.util.find_spec("prince") is None:
        raise UsageError("factor analysis needs prince: pip install veridical[meta]")


def _settings(request: _Request, has_data: bool) -> dict[str, Any]:
    if not has_data:
        return {"as_published": request.figures.as_published}
    return {
        "protocol": request.protocol,
        "seed": request.figures.seed,
        "bootstrap": request.figures.bootstrap,
        "samples": list(request.samples) or None,
        "split": list(request.splits) or None,
        "limit": request.limit,
        "keep_generic": request.options.keep_generic,
        "as_published": request.figures.as_published,
        "beta": request.figures.beta,
        "study": request.study,
        "famd": list(request.famd) or None,
        **({"map": dict(request.options.mapping)} if request.options.mapping else {}),
    }


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
