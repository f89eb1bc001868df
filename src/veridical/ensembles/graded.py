"""Graded answers: risks of each scorer with labels, the input of tuning."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats, Ints
from veridical.core.dependence import unit_of
from veridical.errors import UsageError, option_named
from veridical.scorers.grounding.support import NO_ITEMS

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.engine.results import RunResults

Level = Literal["response", "sentence"]
Part = Literal["response", "unit"]

#: Decimals of a risk; smaller differences are ties (contract section 7.5).
DIGITS = 6
#: Suffix of a component's name for its risk of a sentence.
UNIT = "/unit"
_UNLABELLED: dict[Level, str] = {"response": "no label", "sentence": "no unit_labels"}


@dataclass(frozen=True, eq=False)
class Graded:
    """Labelled targets (responses, or labelled units of them) and their risks by each scorer.

    Attributes:
        scorers: (k,) calls as text, such as ``ngram(n=2)``. At level ``sentence`` it is the risk of
            the whole response, or with the suffix ``/unit`` that of the sentence.
        risks: (n, k) from 0 to 1, 1 worst; NaN if not scored.
        labels: (n,) 1 hallucinated, 0 right.
        groups: (n,) number of the independent unit: targets of one unit are never separated.
        strata: (n,) value of the field named by ``by``, "" if a record lacks it; None without
            ``by``.
        rows: (n,) row of the input.
        level: kind of the targets.
        signatures: (k,) signatures of the scores, "" if a scorer gave no score.
        degrees: (n,) the original labels from 0 to 1, such as the share of an answer that is
            wrong; None if they equal ``labels``.
        untuned: (n,) risks of the default ensemble, for comparison; None if it was not run.
    """

    scorers: tuple[str, ...]
    risks: Floats
    labels: Floats
    groups: Ints
    strata: tuple[str, ...] | None
    rows: Ints
    level: Level
    signatures: tuple[str, ...]
    degrees: Floats | None = None
    untuned: Floats | None = None

    def __post_init__(self) -> None:
        n, k = len(self.labels), len(self.scorers)
        if self.risks.shape != (n, k) or len(self.groups) != n or len(self.rows) != n:
            raise ValueError(f"risks {self.risks.shape}, groups and rows must be of {n} targets")
        if len(self.signatures) != k or (self.strata is not None and len(self.strata) != n):
            raise ValueError(f"signatures must be of {k} scorers and strata of {n} targets")

    @classmethod
    def of(
        cls,
        risks: Mapping[str, Sequence[float] | Floats],
        labels: Sequence[float] | Floats,
        *,
        groups: Sequence[int] | Ints | None = None,
        strata: Sequence[str] | None = None,
        level: Level = "response",
    ) -> Graded:
        """Make a table from columns: scorer -> (n,) risks; a label of at least 0.5 counts as 1.

        Without ``groups`` every target is independent. Signatures are the scorers' calls.
        """
        truth = np.asarray(labels, dtype=np.float64)
        rows = np.arange(len(truth), dtype=np.int64)
        table = np.array([risks[name] for name in risks], dtype=np.float64).T
        return cls(
            tuple(risks),
            table.reshape(len(truth), len(risks)),
            (truth >= 0.5).astype(np.float64),
            rows if groups is None else np.asarray(groups, dtype=np.int64),
            None if strata is None else tuple(strata),
            rows,
            level,
            tuple(risks),
            _degrees(truth),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def positives(self) -> int:
        """Number of hallucinated targets."""
        return int(self.labels.sum())

    def take(self, which: NDArray[Any]) -> Graded:
        """Return the targets of a mask, or of positions."""
        where = np.flatnonzero(which) if which.dtype == np.bool_ else which
        strata = None if self.strata is None else tuple(self.strata[i] for i in where.tolist())
        return replace(
            self,
            risks=self.risks[where],
            labels=self.labels[where],
            groups=self.groups[where],
            strata=strata,
            rows=self.rows[where],
            degrees=None if self.degrees is None else self.degrees[where],
            untuned=None if self.untuned is None else self.untuned[where],
        )

    def with_untuned(self, name: str) -> Graded:
        """Return the table with the scorer ``name`` moved to ``untuned``, for comparison.

        Raises:
            ValueError: there is no such scorer.
        """
        part = name + UNIT if self.level == "sentence" and name + UNIT in self.scorers else name
        others = [s for s in self.scorers if s not in (name, name + UNIT)]
        untuned = self.risks[:, self.scorers.index(part)]
        return replace(self.select(others), untuned=untuned)

    def select(self, scorers: Sequence[str]) -> Graded:
        """Return a table of these scorers only, in this order.

        Raises:
            ValueError: there is no such scorer.
        """
        at = [self.scorers.index(name) for name in scorers]
        return replace(
            self,
            scorers=tuple(scorers),
            risks=self.risks[:, at],
            signatures=tuple(self.signatures[i] for i in at),
        )


def gather(
    results: RunResults,
    *,
    level: Level = "response",
    by: str | None = None,
    labels: Mapping[int, float | None] | None = None,
) -> tuple[Graded, dict[str, int]]:
    """Collect the graded answers of a finished run, and the reasons for left-out records.

    Targets at level ``sentence`` are the records' ``unit_labels``. For each, a scorer has its risk
    of the whole response. If it has units, it also has the risk of the unit with the same
    boundaries. Without such a unit, it has the highest risk of overlapping units (contract
    section 6).

    Args:
        by: field of ``meta`` with each record's stratum.
        labels: row -> label, instead of the records' own; None without a label.

    Returns:
        The targets in input order, and reason -> number of records left out, bad rows included.

    Raises:
        UsageError: the field ``by`` is not a text or number, or no record has it.
    """
    columns = _columns(results, level)
    risks: list[list[float]] = []
    truth: list[float] = []
    units: list[str] = []
    strata: list[str] = []
    rows: list[int] = []
    signatures = {key: "" for key, _, _ in columns}
    missing: Counter[str] = Counter()
    for record, line in results.records():
        if line is None:
            missing["no result"] += 1
            continue
        label = record.label if labels is None else labels.get(record.row)
        targets = _targets(record, level, label)
        if not targets:
            missing[_UNLABELLED[level] if labels is None else "no grade"] += 1
            continue
        scores = json.loads(line)["scores"]
        for key in signatures:
            if scores[key]["status"] == "scored":
                signatures[key] = signatures[key] or scores[key]["signature"]
        stratum = "" if by is None else stratum_of(record, by)
        unit = unit_of(record)
        for start, end, value in targets:
            risks.append(_risks_at(scores, columns, start, end))
            truth.append(float(value))
            units.append(unit)
            strata.append(stratum)
            rows.append(record.row)
    for cause, n in results.error_causes():
        missing[f"bad row: {cause}"] += n
    if by is not None and rows and not any(strata):
        raise UsageError(f"{option_named('by', by)}: no graded record has a field {by!r}")
    degrees = np.array(truth, dtype=np.float64)
    graded = Graded(
        tuple(name for _, name, _ in columns),
        np.array(risks, dtype=np.float64).reshape(len(rows), len(columns)),
        (degrees >= 0.5).astype(np.float64),
        numbered(units),
        None if by is None else tuple(strata),
        np.array(rows, dtype=np.int64),
        level,
        tuple(signatures[key] for key, _, _ in columns),
        _degrees(degrees),
    )
    return graded, dict(missing.most_common())


def every_sentence(results: RunResults, graded: Graded) -> Graded:
    """Return all sentences of the records of ``graded``, labelled or not; the labels are NaN.

    Risks are those of the same scorers, as in ``check``.
    """
    at = dict(zip(graded.rows.tolist(), range(len(graded)), strict=True))
    by_name = {column[1]: column for column in _columns(results, "sentence")}
    columns = [by_name[name] for name in graded.scorers]
    risks: list[list[float]] = []
    first: list[int] = []
    for record, line in results.records():
        if line is None or record.row not in at:
            continue
        scores = json.loads(line)["scores"]
        for span in record.sentences:
            risks.append(_risks_at(scores, columns, span.start, span.end))
            first.append(at[record.row])
    plain = graded.take(np.array(first, dtype=np.int64))
    table = np.array(risks, dtype=np.float64).reshape(len(first), len(columns))
    return replace(plain, risks=table, labels=np.full(len(first), np.nan), degrees=None)


def _degrees(truth: Floats) -> Floats | None:
    return None if np.isin(truth, (0.0, 1.0)).all() else truth


def _columns(results: RunResults, level: Level) -> list[tuple[str, str, Part]]:
    """Return key, name and kind of risk of every column; units for scorers that scored any."""
    columns: list[tuple[str, str, Part]] = [(s.key, s.call, "response") for s in results.scorers]
    if level == "sentence":
        pointing = {
            key
            for line in results.lines()
            for key, score in json.loads(line)["scores"].items()
            if any(u["risk"] is not None for u in score["units"])
        }
        columns += [(s.key, s.call + UNIT, "unit") for s in results.scorers if s.key in pointing]
    return columns


def stratum_of(record: Record, by: str) -> str:
    """Return the value of the field ``by`` of a record's ``meta`` as text, "" without it.

    Raises:
        UsageError: it is not a text, number or bool.
    """
    value = record.meta.get(by)
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise UsageError(
        f"row {record.row}: field {by!r} is the group, so it must be text or a number, not "
        f"{type(value).__name__}"
    )


def _targets(record: Record, level: Level, label: float | None) -> list[tuple[int, int, float]]:
    """Return start, end and label of the labelled parts of a record."""
    if level == "sentence":
        return [(u.start, u.end, u.label) for u in record.unit_labels or ()]
    return [] if label is None else [(0, len(record.response), label)]


def risk_at(score: Mapping[str, Any], part: Part, start: int, end: int) -> float | None:
    """Return a score's risk of the response, or of the sentence at [start, end).

    That is the risk of the unit with these boundaries, or else the highest of overlapping units;
    None if there are none of them. A sentence in which ``support`` found nothing to look up is not
    scored.
    """
    if score["status"] != "scored":
        return None
    if part == "response":
        return float(score["risk"])
    units = [u for u in score["units"] if u["level"] == "sentence"] or score["units"]
    same = [u for u in units if (u["start"], u["end"]) == (start, end)]
    over = same or [u for u in units if u["start"] < end and start < u["end"]]
    said_risks = [u["risk"] for u in over if u["label"] != NO_ITEMS]
    return max((float(risk) for risk in said_risks if risk is not None), default=None)


def _risks_at(
    scores: Mapping[str, Any], columns: Sequence[tuple[str, str, Part]], start: int, end: int
) -> list[float]:
    """Return the rounded risk at [start, end) in every column; NaN if not scored."""
    risks = (risk_at(scores[key], part, start, end) for key, _, part in columns)
    return [np.nan if r is None else round(r, DIGITS) for r in risks]


def numbered(units: Sequence[str]) -> Ints:
    """Return the numbers of units, from 0 in their order."""
    number = {name: i for i, name in enumerate(dict.fromkeys(units))}
    return np.array([number[name] for name in units], dtype=np.int64)
