"""The answers of models with their claims as judged, read from runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from veridical.api import AUTO, RUNS, Job, reopen
from veridical.core.dependence import contexts_of
from veridical.core.protocols import LABELS
from veridical.core.records import Record
from veridical.core.registry import REGISTRY, BoundScorer
from veridical.engine.engine import Engine
from veridical.errors import RowError, UsageError
from veridical.files.rundir import RunFiles
from veridical.io import open_source
from veridical.report.results import Results
from veridical.text.display import display, shown
from veridical_lab.bench.datasets import find_suite, locate
from veridical_lab.bench.datasets.suite import Item
from veridical_lab.bench.options import RankOptions

#: Default field of a record's meta that names the model.
MODEL = "model"
#: In place of a scorer: rates of the labels that people gave units, and no model.
PEOPLE = "people"
_ALL = "all"
#: Labels of units that are entailed, neutral, contradicted (0, 0.5, 1).
_GRADES = ((0.0, 0.25), (0.25, 0.75), (0.75, 1.5))

Watch = Callable[[str, Job], Any]


class RankedAnswer(NamedTuple):
    """One answer. ``shares`` of its claims are in the order of :data:`LABELS`, None where it was
    not judged; ``status`` says why. ``label`` and ``units`` are people's. ``prompt`` and
    ``asked``, the prompt with its contexts, are digests."""

    model: str
    part: str
    prompt: str | None
    asked: str | None
    id: str
    status: str
    reason: str
    shares: tuple[float, float, float] | None
    claims: int
    abstained: bool
    label: float | None
    units: tuple[float, ...] | None


@dataclass
class Answers:
    """All answers, and where they are from."""

    answers: list[RankedAnswer] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    row_errors: int = 0
    scorer: str = ""


class Input(NamedTuple):
    """An input, and the model its answers are from where they do not say."""

    name: str
    path: Path


def inputs_of(paths: Sequence[str | Path]) -> list[Input]:
    """Parse inputs of the form ``PATH`` or ``NAME=PATH``; an existing path takes precedence.

    Raises:
        UsageError: an input is missing or given twice, or there is no input.
    """
    inputs = []
    for text in map(str, paths):
        name, sep, path = text.partition("=")
        if Path(text).exists() or not (sep and name and path):
            name, path = "", text
        if not Path(path).exists():
            raise UsageError(f"{display(path)}: no such file or run directory")
        inputs.append(Input(name, Path(path)))
    if not inputs:
        raise UsageError("name files of answers, or run directories")
    resolved = [n.path.resolve() for n in inputs]
    for n in inputs:
        if resolved.count(n.path.resolve()) > 1:
            raise UsageError(f"{display(n.path)} is given twice")
    return inputs


def by_labels(options: RankOptions) -> bool:
    """Return True if human labels replace the scorer."""
    return options.scorer is not None and options.scorer.strip() == PEOPLE


def scorer_of(options: RankOptions) -> BoundScorer:
    """Return the scorer to run.

    Raises:
        UsageError: it is not ``claims``, or there are several.
    """
    bound = REGISTRY.parse(options.scorer or "claims")
    if [b.scorer.name for b in bound] != ["claims"]:
        raise UsageError(
            f"models are ranked by one scorer 'claims', or by {PEOPLE!r} (their labels), not by "
            f"{options.scorer!r}"
        )
    return bound[0]


def read(
    inputs: Sequence[Input], options: RankOptions, engine: Engine, watch: Watch | None = None
) -> Answers:
    """Read the answers of all inputs.

    Files are scored, each in a resumable run of its own; finished runs are read.

    Raises:
        UsageError: an input is not usable: a run without claims, an unfinished run, or answers of
            which only some name their model.
    """
    answers = Answers()
    for name, path in inputs:
        finished = path.is_dir() and options.suite is None
        if finished:
            if options.limit is not None or options.mapping or options.reader:
                raise UsageError(f"{display(path)} is a run: options of reading do not apply to it")
            results = reopen(path)
            key = _key(results, options, path)
        else:
            bound = scorer_of(options)
            key = bound.key
            job = Job(
                _records(path, options.suite) if options.suite else [str(path)],
                [bound],
                limit=options.limit,
                mapping=options.mapping,
                reader=options.reader,
                out=(RUNS if options.out is None else Path(options.out)) / AUTO,
                retry_failed=options.retry_failed,
                engine=engine,
            )
            if watch is not None:
                watch(path.name, job)
            results = job.wait()
        if answers.scorer and answers.scorer != key:
            raise UsageError(
                f"the inputs were judged by different scorers: {answers.scorer} and {key}; "
                "choose one (--scorers)"
            )
        answers.scorer = key
        answers.runs.append(str(results.path))
        answers.row_errors += sum(n for _, n in results.error_causes())
        answers.answers += _answers(
            results, key, name or _stem(path, finished), options, answers, path
        )
    return answers


def read_labelled(inputs: Sequence[Input], options: RankOptions) -> Answers:
    """Read the answers of all inputs with human unit labels, without scoring.

    Raises:
        UsageError: an input is not usable.
    """
    answers = Answers(scorer=PEOPLE)
    for name, path in inputs:
        model = name or _stem(path, path.is_dir() and options.suite is None)
        for record in _labelled(path, options):
            if isinstance(record, RowError):
                answers.row_errors += 1
                continue
            answers.answers.append(
                _labelled_answer(record, _model(record, options.by) or model, options.split_by)
            )
    if all(a.shares is None for a in answers.answers):
        raise UsageError(f"--scorers {PEOPLE} requires unit_labels, and no answer has any")
    return answers


def _labelled(path: Path, options: RankOptions) -> Iterable[Record | RowError]:
    if options.suite:
        return islice(_records(path, options.suite), options.limit)
    if path.is_dir():
        return (record for record, _ in reopen(path).records())
    source = open_source(path, mapping=options.mapping, reader=options.reader)
    return islice(source.rows(), options.limit)


def _labelled_answer(record: Record, model: str, split_by: str | None) -> RankedAnswer:
    """Convert a labelled record.

    An empty list of claims, or of labelled units, is an answer without claims.
    """
    units = None if record.unit_labels is None else tuple(u.label for u in record.unit_labels)
    silent = units == () or (not units and record.meta.get("claims") == [])
    shares = (0.0, 0.0, 0.0) if silent else None
    if units:
        grades = [sum(low <= u < high for u in units) / len(units) for low, high in _GRADES]
        shares = (grades[0], grades[1], grades[2])
    return RankedAnswer(
        model=model,
        part=_part(record, split_by),
        prompt=_digest(record, []),
        asked=_digest(record, contexts_of(record)),
        id=str(record.id),
        status="not_applicable" if shares is None else "scored",
        reason="no unit_labels" if shares is None else "",
        shares=shares,
        claims=len(units or ()),
        abstained=silent,
        label=record.label,
        units=units,
    )


def _key(results: Results, options: RankOptions, path: Path) -> str:
    """Return the score to read of a finished run."""
    keys = [s.key for s in results.scorers if s.scorer.name == "claims"]
    if options.scorer is not None:
        key = scorer_of(options).key
        if key not in keys:
            raise UsageError(
                f"{display(path)}: the run has no score {key}; it has "
                f"{', '.join(keys) or 'none of claims'}"
            )
        return key
    if not keys:
        raise UsageError(f"{display(path)}: the run has no claims; make one with check --claims")
    if len(keys) > 1:
        raise UsageError(
            f"{display(path)}: name the score to rank by (--scorers), one of {'; '.join(keys)}"
        )
    return keys[0]


def _records(path: Path, name: str) -> list[Record]:
    """Read the answers of a suite's data, with facets and part in ``meta``.

    Answers that annotators excluded are left out.
    """
    suite = find_suite(name)
    records = []
    for item in suite.load(locate(suite, path)):
        set_aside = isinstance(item, Item) and item.unusable and item.record.label is None
        if isinstance(item, Item) and not set_aside:
            meta = {**item.record.meta, **item.facets, "part": item.part}
            records.append(item.record.model_copy(update={"meta": meta}))
    return records


def _stem(path: Path, finished: bool) -> str:
    """Return the default model name of a file: its name without endings.

    For a run, that is the name of its only input.
    """
    if finished:
        inputs = RunFiles(path).manifest().get("request", {}).get("inputs", [])
        path = Path(str(inputs[0]["path"])) if len(inputs) == 1 else path
    return path.name.partition(".")[0] or path.name


def _answers(
    results: Results, key: str, fallback: str, options: RankOptions, answers: Answers, path: Path
) -> Iterator[RankedAnswer]:
    missing = 0
    unnamed_row: int | None = None
    named_row: int | None = None
    for record, line in results.records():
        if line is None:
            missing += 1
            continue
        model = _model(record, options.by)
        if model is None:
            unnamed_row = record.row if unnamed_row is None else unnamed_row
        else:
            named_row = record.row if named_row is None else named_row
        if unnamed_row is not None and named_row is not None:
            raise UsageError(
                f"{display(path)}: row {named_row} names its model ({options.by}), row "
                f"{unnamed_row} does not"
            )
        score = json.loads(line)["scores"][key]
        if score["signature"]:
            before = answers.signatures.setdefault(key, score["signature"])
            if before != score["signature"]:
                raise UsageError(
                    f"the inputs were judged in different ways: {before} and {score['signature']}"
                )
        yield _answer(record, score, model or fallback, options.split_by)
    if missing:
        raise UsageError(
            f"{display(path)}: the run has not ended, {missing:,} records are not judged; run its "
            "command again"
        )


def _answer(
    record: Record, score: dict[str, Any], model: str, split_by: str | None
) -> RankedAnswer:
    raw = score["raw"]
    scored = score["status"] == "scored"
    if scored and not (isinstance(raw, dict) and all(label in raw for label in LABELS)):
        raise UsageError(f"row {record.row}: the score has no shares of claims")
    units = record.unit_labels
    return RankedAnswer(
        model=model,
        part=_part(record, split_by),
        prompt=_digest(record, []),
        asked=_digest(record, contexts_of(record)),
        id=str(record.id),
        status=score["status"],
        reason=score["reason"] or "",
        shares=tuple(float(raw[label]) for label in LABELS) if scored else None,  # type: ignore[arg-type]
        claims=len(score["units"]),
        abstained=scored and not score["units"],
        label=record.label,
        units=None if units is None else tuple(u.label for u in units),
    )


def _part(record: Record, split_by: str | None) -> str:
    if split_by is None:
        return _ALL
    part = _text(record.meta.get(split_by))
    if not part:
        raise UsageError(f"row {record.row} has no {split_by!r} to tell its part by")
    return part


def _model(record: Record, by: str) -> str | None:
    if by == MODEL:
        from veridical.report.claim_rates import model_of

        return model_of(record) or _text(record.meta.get(by))
    return _text(record.meta.get(by))


def _text(value: Any) -> str | None:
    """Return a name, from a text or a whole number."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        if value is not None and not isinstance(value, (str, int, float)):
            raise UsageError(f"a name must be text, got {shown(value)}")
        return None
    return str(value).strip() or None


def _digest(record: Record, contexts: Sequence[str]) -> str | None:
    """Return a short name of the prompt with some contexts; None where there is no prompt."""
    if not record.prompt:
        return None
    text = json.dumps([record.prompt, contexts], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
