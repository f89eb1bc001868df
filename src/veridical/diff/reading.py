"""Sides of a comparison: run directories, or files of result lines.

A side is read twice. The first reading yields the compared data, which is held (about a kilobyte
per record). The second yields the texts of the few shown records.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from sys import intern
from typing import Any, BinaryIO, NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from veridical.api import reopen
from veridical.core.dependence import unit_of
from veridical.core.prompt_text import question_text
from veridical.core.records import Record
from veridical.core.scores import Decision, Result, Status, Unit
from veridical.core.verdict_cuts import Unchecked, Verdict
from veridical.errors import UsageError
from veridical.files.decisions import decided, decisions_log
from veridical.files.rundir import RunFiles
from veridical.io.files import buffered, open_raw
from veridical.io.lines import read_lines
from veridical.io.names import ALIASES, FALLBACKS
from veridical.io.problems import RowProblem
from veridical.report.results import Results
from veridical.text.display import display, reason, shown

#: Compared rates of a response's claims (Hu et al. 2024, RefChecker, appendix A.4).
CLAIM_RATES = ("hallucination", "contradiction", "abstain")
_GZIP = b"\x1f\x8b"
_NAME = 80


class ComparedScore(NamedTuple):
    """A score of a record: its risk, its signature, and the rates of its claims.

    Rates are NaN-free and in the order of :data:`CLAIM_RATES`, if it judged claims; a response
    without claims has only the last one.
    """

    risk: float | None
    signature: str
    claims: tuple[float | None, ...] | None


class ComparedAnswer(NamedTuple):
    """The compared parts of a record.

    ``place`` counts the lines of its side from 0. ``prompt`` and ``unit`` (see
    :func:`~veridical.core.dependence.unit_of`) are digests, None if unknown. ``stratum`` is the
    value of the field to split by.
    """

    place: int
    id: str
    row: int
    prompt: str | None
    unit: str | None
    stratum: str | None
    verdict: Verdict
    reason: Unchecked | None
    decision: Decision | None
    risk: float | None
    by: str | None
    scores: Mapping[str, ComparedScore]


class ShownText(NamedTuple):
    """The shown texts of a record.

    ``whole`` is False if the answer is composed of the judged sentences, as result lines do not
    contain it. ``file`` and ``line`` (from 1) are its location in the input of a run, or in the
    file of results.
    """

    question: str | None
    answer: str
    whole: bool
    worst: Unit | None
    file: str
    line: int | None


class LoadedRun(NamedTuple):
    """A run that is read already: its records with their result lines, in input order."""

    results: Results
    records: Iterable[tuple[Record, bytes]]


class _Score(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    risk: float | None
    status: Status
    raw: Any = None
    signature: str = ""


class _Line(BaseModel):
    """A result line without units."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str | int
    row: int
    risk: float | None
    by: str | None
    verdict: Verdict = "unchecked"
    reason: Unchecked | None = None
    decision: Decision | None = None
    scores: dict[str, _Score]


class Side:
    """One side of a comparison.

    Args:
        path: a run directory or a file of result lines, gzipped or not.
        split_by: field of the records' meta.
        read: the run, if it is read already.

    Attributes:
        name: the path, printable.
        kind: ``run`` or ``file``.
        answers: answers in the order of the side.
        row_errors: invalid rows of the run; 0 if unknown.
        notes: remarks on the side.

    Raises:
        UsageError: it is neither, has not ended, contains no result, or lacks the field to split
            by.
    """

    def __init__(
        self, path: Path, split_by: str | None = None, read: LoadedRun | None = None
    ) -> None:
        self.path, self.name = path, display(path)
        self.kind = "run" if path.is_dir() else "file"
        self.row_errors = 0
        self.notes: list[str] = []
        self._copy: BinaryIO | None = None
        self._results: Results | None = None
        self._files: RunFiles | None = None
        self._read = read
        if self.kind == "run":
            self._open_run()
        if split_by is not None and self._results is None:
            raise UsageError(
                f"{self.name}: its records are unknown, so there is no {shown(split_by)} to "
                "split by; name the run directories of both (with their input files in "
                "place)"
            )
        self.answers = list(self._answers(split_by))
        if not self.answers:
            raise UsageError(f"{self.name} contains no result")

    @property
    def results(self) -> Results | None:
        """The run with its records; None for a file, or if the input is missing."""
        return self._results

    def texts(self, places: Set[int]) -> dict[int, ShownText]:
        """Return the shown texts of the answers at ``places``."""
        if self._results is not None:
            rows = {a.row: a.place for a in self.answers if a.place in places}
            where = {p.row: p for p in self._results.given.places() if p.row in rows}
            return {
                rows[result.row]: ShownText(
                    question_text(record.prompt) or None,
                    record.response,
                    True,
                    result.worst,
                    where[result.row].file,
                    where[result.row].line,
                )
                for record, result in self._results.pairs(set(rows))
            }
        found = {}
        for place, (number, line) in enumerate(self._lines()):
            if place in places:
                result = _checked(Result, line, self.name, number)
                found[place] = ShownText(
                    None, _answer_of(result), False, result.worst, self.name, number
                )
        return found

    def _open_run(self) -> None:
        try:
            self._results = reopen(self.path) if self._read is None else self._read.results
        except UsageError as e:
            self._files = files = RunFiles(self.path)
            files.manifest()
            files.check_seals()
            self.row_errors = sum(1 for _ in files.errors()) + files.more_errors().total()
            self.notes.append(
                f"{self.name}: only its results are read, not its records ({reason(e)})"
            )
            return
        self.row_errors = sum(n for _, n in self._results.error_causes())

    def _answers(self, split_by: str | None) -> Iterator[ComparedAnswer]:
        if self._results is not None:
            yield from self._of_records(self._results, split_by)
            return
        for place, (number, line) in enumerate(self._lines()):
            yield _answer(place, _checked(_Line, line, self.name, number), None, None, None)

    def _of_records(self, results: Results, split_by: str | None) -> Iterator[ComparedAnswer]:
        missing = place = 0
        records: Iterable[tuple[Record, bytes | None]] = results.records()
        if self._read is not None:
            records = self._read.records
        has_field = split_by is None
        for record, line in records:
            if line is None:
                missing += 1
                continue
            value = None
            if split_by is not None and split_by in record.meta:
                has_field = True
                value = _text(record.meta[split_by])
            parsed = _checked(_Line, line, self.name, place + 1)
            yield _answer(place, parsed, _prompt(record), _digest(unit_of(record)), value)
            place += 1
        if missing:
            raise UsageError(
                f"{self.name}: the run has not ended: {missing:,} records have no result; run its "
                "command again"
            )
        if not has_field:
            raise UsageError(f"{self.name}: no record has a field {shown(split_by)} to split by")

    @property
    def strictness(self) -> str | None:
        """Operating point of a run's verdicts; None for a file, and for an earlier version."""
        if self._results is not None:
            identity = self._results.identity
        elif self._files is not None:
            identity = self._files.manifest()["identity"]
        else:
            return None
        parameters = identity.get("parameters")
        known = parameters.get("strictness") if isinstance(parameters, dict) else None
        return known if isinstance(known, str) else None

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield result lines with their numbers from 1."""
        if self._files is not None:
            log = decisions_log(self._files.path, self._files.key)
            log.unsealed = self._files.unsealed
            stored = decided(self._files.stored(), log)
            yield from ((i + 1, line.line) for i, line in enumerate(stored))
            return
        with self._stream() as stream:
            for number, line in read_lines(stream):
                if isinstance(line, RowProblem):
                    raise UsageError(f"{self.name}:{number}: {line.error}")
                if line.strip():
                    yield number, line

    @contextmanager
    def _stream(self) -> Iterator[BinaryIO]:
        if self._copy is None and not _regular(self.path, self.name):
            # a pipe can be read only once
            self._copy = tempfile.TemporaryFile()  # noqa: SIM115  (it is closed with this object)
            with open_raw(str(self.path), self.name) as raw:
                shutil.copyfileobj(raw, self._copy)
        if self._copy is not None:
            self._copy.flush()
            raw = io.FileIO(os.dup(self._copy.fileno()), "rb")
        else:
            raw = open_raw(str(self.path), self.name)
        with raw:
            raw.seek(0)
            compressed = raw.read(2) == _GZIP
            raw.seek(0)
            yield buffered(raw, compressed)


def _prompt(record: Record) -> str | None:
    """Return a digest of a record's prompt; None without a prompt."""
    return _digest(json.dumps(record.prompt, sort_keys=True)) if record.prompt else None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _regular(path: Path, name: str) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError) as e:
        raise UsageError(f"{name}: {reason(e)}") from None


def _checked(model: type[Any], line: bytes, name: str, number: int) -> Any:
    try:
        return model.model_validate_json(line)
    except ValidationError as e:
        first = e.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{name}:{number}: not a result line of veridical: "
            f"{display(f'{where}: ' if where else '')}{display(first['msg'])}"
            f"{_hint(line)}"
        ) from None


def _hint(line: bytes) -> str:
    """Return advice on a file of answers."""
    try:
        row = json.loads(line)
    except ValueError:
        return ""
    names = {"response", *ALIASES["response"], *FALLBACKS["response"]}
    if isinstance(row, dict) and "scores" not in row and not names.isdisjoint(row):
        return "; these are answers, so check them first (veridical check FILE --json RESULTS)"
    return ""


def _answer(
    place: int, line: _Line, prompt: str | None, unit: str | None, stratum: str | None
) -> ComparedAnswer:
    scores = {
        intern(key): ComparedScore(
            score.risk if score.status == "scored" else None,
            intern(score.signature),
            _claims(score.raw) if score.status == "scored" else None,
        )
        for key, score in line.scores.items()
    }
    return ComparedAnswer(
        place=place,
        id=str(line.id),
        row=line.row,
        prompt=prompt,
        unit=unit,
        stratum=stratum,
        verdict=line.verdict,
        reason=line.reason,
        decision=line.decision,
        risk=line.risk,
        by=line.by,
        scores=scores,
    )


def _claims(raw: Any) -> tuple[float | None, ...] | None:
    if not isinstance(raw, dict) or not all(_is_share(raw.get(name)) for name in CLAIM_RATES):
        return None
    if raw["abstain"] >= 1:
        return (*(None for _ in CLAIM_RATES[:-1]), 1.0)
    return tuple(float(raw[name]) for name in CLAIM_RATES)


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, (dict, list)):
        return None
    text = str(value).strip()
    return intern(text[:_NAME]) or None


def _answer_of(result: Result) -> str:
    """Join the judged sentences of the answer, in order."""
    end, parts = 0, []
    for unit in sorted(result.spans, key=lambda u: (u.start, -u.end)):
        if unit.level != "span" and unit.start >= end:
            parts.append(unit.text)
            end = unit.end
    return " ".join(parts)
