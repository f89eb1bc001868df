"""The answers of models with their claims as judged, read from runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from veridical.api import AUTO, Job, reopen
from veridical.engine import Engine
from veridical.errors import UsageError
from veridical.evaluate.datasets import find_suite, locate
from veridical.evaluate.datasets.suite import Item, Options
from veridical.evidence.rundir import RunFiles
from veridical.io.problems import display, shown
from veridical.models.protocols import LABELS
from veridical.records import Record
from veridical.registry import REGISTRY, BoundScorer
from veridical.results import Results

#: Of a record's meta, which names the model, unless another column is named.
MODEL = "model"
_ALL = "all"

Watch = Callable[[str, Job], Any]


class Answer(NamedTuple):
    """One answer. ``shares`` of its claims are in the order of :data:`LABELS`, None where it was
    not judged; ``status`` says why. ``label`` and ``units`` are people's."""

    model: str
    part: str
    prompt: str | None
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

    answers: list[Answer] = field(default_factory=list)
    signatures: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    row_errors: int = 0
    scorer: str = ""


class Named(NamedTuple):
    """An input, and the model its answers are from where they do not say."""

    name: str
    path: Path


def named(given: Sequence[str | Path]) -> list[Named]:
    """Inputs of ``PATH`` or ``NAME=PATH``; what is there as it stands is a path.

    Raises:
        UsageError: one is not there, none is given, or one is given twice.
    """
    found = []
    for text in map(str, given):
        name, sep, path = text.partition("=")
        if Path(text).exists() or not (sep and name and path):
            name, path = "", text
        if not Path(path).exists():
            raise UsageError(f"{display(path)}: no such file or run directory")
        found.append(Named(name, Path(path)))
    if not found:
        raise UsageError("name files of answers, or run directories")
    paths = [n.path.resolve() for n in found]
    for n in found:
        if paths.count(n.path.resolve()) > 1:
            raise UsageError(f"{display(n.path)} is given twice")
    return found


@dataclass(frozen=True)
class Asked:
    """How answers are read.

    Attributes:
        by: the column of ``meta`` that names the model.
        split_by: the column that tells the parts; None for one part.
        scorer: the scorer ``claims`` with its parameters; None for its defaults, or of a finished
            run the only one it has.
        suite: the inputs are data of this benchmark suite.
        limit, mapping, reader: as :func:`veridical.check` takes them; for files.
        three_way: labels of units are 0 entailed, 0.5 neutral, 1 contradicted.
    """

    by: str = MODEL
    split_by: str | None = None
    scorer: str | None = None
    suite: str | None = None
    limit: int | None = None
    mapping: dict[str, str] = field(default_factory=dict)
    reader: str | None = None
    three_way: bool = False

    def bound(self) -> BoundScorer:
        """The scorer to run.

        Raises:
            UsageError: it is another than ``claims``, or more than one.
        """
        found = REGISTRY.parse(self.scorer or "claims")
        if [b.scorer.name for b in found] != ["claims"]:
            raise UsageError(f"models are ranked by one scorer 'claims', not by {self.scorer!r}")
        return found[0]


def read(
    inputs: Sequence[Named],
    asked: Asked,
    engine: Engine,
    *,
    out: Path | None = None,
    retry_failed: bool = False,
    watch: Watch | None = None,
) -> Answers:
    """The answers of all inputs. Files are scored, each in a run of its own, which resumes; runs
    that are finished are read.

    Raises:
        UsageError: an input that cannot be used: no run with claims, one that has not ended,
            answers of which some name their model and some do not.
    """
    made = Answers()
    for name, path in inputs:
        finished = path.is_dir() and asked.suite is None
        if finished:
            if asked.limit is not None or asked.mapping or asked.reader:
                raise UsageError(f"{display(path)} is a run: options of reading do not apply to it")
            results = reopen(path)
            key = _key(results, asked, path)
        else:
            bound = asked.bound()
            key = bound.key
            job = Job(
                _records(path, asked.suite) if asked.suite else [str(path)],
                [bound],
                limit=asked.limit,
                mapping=asked.mapping,
                reader=asked.reader,
                out=None if out is None else out / AUTO,
                retry_failed=retry_failed,
                engine=engine,
            )
            if watch is not None:
                watch(path.name, job)
            results = job.wait()
        if made.scorer and made.scorer != key:
            raise UsageError(
                f"the inputs were judged by different scorers: {made.scorer} and {key}; "
                "name one (--scorers)"
            )
        made.scorer = key
        made.runs.append(str(results.path))
        made.row_errors += sum(1 for _ in results.errors())
        made.answers += _answers(results, key, name or _stem(path, finished), asked, made, path)
    return made


def _key(results: Results, asked: Asked, path: Path) -> str:
    """The score to read of a finished run."""
    there = [s.key for s in results.scorers if s.scorer.name == "claims"]
    if asked.scorer is not None:
        wanted = asked.bound().key
        if wanted not in there:
            raise UsageError(
                f"{display(path)}: the run has no score {wanted}; it has "
                f"{', '.join(there) or 'none of claims'}"
            )
        return wanted
    if not there:
        raise UsageError(f"{display(path)}: the run has no claims; make one with check --claims")
    if len(there) > 1:
        raise UsageError(
            f"{display(path)}: name the score to rank by (--scorers), one of {'; '.join(there)}"
        )
    return there[0]


def _records(path: Path, name: str) -> list[Record]:
    """The answers of a suite's data, the facets and the part of each in its meta. Those that
    people set aside whole are no answers."""
    suite = find_suite(name)
    found = []
    for item in suite.load(locate(suite, path), Options()):
        set_aside = isinstance(item, Item) and item.unusable and item.record.label is None
        if isinstance(item, Item) and not set_aside:
            meta = {**item.record.meta, **item.facets, "part": item.part}
            found.append(item.record.model_copy(update={"meta": meta}))
    return found


def _stem(path: Path, finished: bool) -> str:
    """What a file's answers are called where they do not say: the file's name without endings; of
    a run, that of its only input."""
    if finished:
        inputs = RunFiles(path).manifest().get("request", {}).get("inputs", [])
        path = Path(str(inputs[0]["path"])) if len(inputs) == 1 else path
    return path.name.partition(".")[0] or path.name


def _answers(
    results: Results, key: str, fallback: str, asked: Asked, made: Answers, path: Path
) -> Iterator[Answer]:
    missing = 0
    unnamed: int | None = None
    is_named: int | None = None
    for record, line in results.records():
        if line is None:
            missing += 1
            continue
        model = _model(record, asked.by)
        if model is None:
            unnamed = record.row if unnamed is None else unnamed
        else:
            is_named = record.row if is_named is None else is_named
        if unnamed is not None and is_named is not None:
            raise UsageError(
                f"{display(path)}: row {is_named} names its model ({asked.by}), row {unnamed} does "
                "not"
            )
        score = json.loads(line)["scores"][key]
        if score["signature"]:
            before = made.signatures.setdefault(key, score["signature"])
            if before != score["signature"]:
                raise UsageError(
                    f"the inputs were judged in different ways: {before} and {score['signature']}"
                )
        yield _answer(record, score, model or fallback, asked.split_by)
    if missing:
        raise UsageError(
            f"{display(path)}: the run has not ended, {missing:,} records are not judged; run its "
            "command again"
        )


def _answer(record: Record, score: dict[str, Any], model: str, split_by: str | None) -> Answer:
    raw = score["raw"]
    scored = score["status"] == "scored"
    if scored and not (isinstance(raw, dict) and all(label in raw for label in LABELS)):
        raise UsageError(f"row {record.row}: the score holds no shares of claims")
    part = _ALL
    if split_by is not None:
        part = _text(record.meta.get(split_by)) or ""
        if not part:
            raise UsageError(f"row {record.row} has no {split_by!r} to tell its part by")
    units = record.unit_labels
    return Answer(
        model=model,
        part=part,
        prompt=_prompt(record),
        id=str(record.id),
        status=score["status"],
        reason=score["reason"] or "",
        shares=tuple(float(raw[label]) for label in LABELS) if scored else None,  # type: ignore[arg-type]
        claims=len(score["units"]),
        abstained=scored and not score["units"],
        label=record.label,
        units=None if units is None else tuple(u.label for u in units),
    )


def _model(record: Record, by: str) -> str | None:
    if by == MODEL:
        from veridical.report.claim_rates import model_of

        return model_of(record) or _text(record.meta.get(by))
    return _text(record.meta.get(by))


def _text(value: Any) -> str | None:
    """A name, of a text or a whole number."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        if value is not None and not isinstance(value, (str, int, float)):
            raise UsageError(f"a name must be text, got {shown(value)}")
        return None
    return str(value).strip() or None


def _prompt(record: Record) -> str | None:
    """A short name of the prompt, the same for the same prompt."""
    if record.prompt is None or not record.prompt:
        return None
    text = json.dumps(record.prompt, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
