"""Answers of a run with random access."""

from __future__ import annotations

import math
import tempfile
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic_core import to_json

from veridical.core.prompt_text import question_text
from veridical.core.records import Record
from veridical.core.scores import Result, ResultSummary, Unit
from veridical.errors import UsageError
from veridical.review.events import SourceMark, UnitPlace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from veridical.arrays import Floats
    from veridical.core.verdict_cuts import Verdict
    from veridical.report.results import Results

Units = Literal["auto", "claim", "sentence", "span"]
#: Maximum units of one answer that are shown; the first are used.
MOST_UNITS = 500
_LONGEST = 100_000


class AskedUnit(NamedTuple):
    """Unit of an answer to be labelled.

    Attributes:
        deciding: the source passage that the scorers used for it; None if unknown.
    """

    unit: UnitPlace
    deciding: SourceMark | None


class Items:
    """Answers of a run that have a result.

    They are stored in a temporary file, with a few numbers for each in memory.

    Args:
        results: of the run, read once.
        units: units to be labelled: claims if the run made any, else sentences; or one of these.
        fields: of ``meta``, whose values are kept as groups.

    Attributes:
        rows: (n,) row of the input of each.
        risks: (n,) the record's risk, NaN without one.
        spreads: (n,) standard deviation of the risks of its scorers, 0 for fewer than two.
        verdicts: (n,) verdict of each.
        groups: field -> value of each answer, "" without one.
    """

    def __init__(
        self, results: Results, *, units: Units = "auto", fields: Sequence[str] = ()
    ) -> None:
        self.results = results
        self._units = units
        self.rows = array("q")
        self._starts = array("q", [0])
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  (it lives as long as this)
        risks, spreads = array("d"), array("d")
        self.groups: dict[str, list[str]] = {field: [] for field in fields}
        self.digests: list[str] = []
        self.verdicts: list[Verdict] = []
        names: dict[str, str] = {}
        size = 0
        for record, line, result_summary in results.records_with_summaries():
            self.rows.append(record.row)
            self.digests.append(record.digest())
            self.verdicts.append(result_summary.verdict)
            risks.append(float("nan") if result_summary.risk is None else result_summary.risk)
            spreads.append(_spread(result_summary))
            for field, values in self.groups.items():
                value = record.meta.get(field)
                text = "" if value is None or isinstance(value, (dict, list)) else str(value)
                values.append(names.setdefault(text, text))
            whole = _as_json(record)
            self._file.write(b"%s\n%s" % (whole, line))
            size += len(whole) + 1 + len(line)
            self._starts.append(size)
        self._file.flush()
        self.risks: Floats = np.frombuffer(risks, dtype=np.float64) if risks else np.zeros(0)
        self.spreads: Floats = np.frombuffer(spreads, dtype=np.float64) if spreads else np.zeros(0)
        self._places = {row: place for place, row in enumerate(self.rows)}

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int) -> int | None:
        """Return the position from 0 of a row; None if it has no result."""
        return self._places.get(row)

    def get(self, place: int) -> tuple[Record, Result]:
        """Return the answer at a position, and its result."""
        record, line = self.line(place)
        return record, Result.model_validate_json(line)

    def line(self, place: int) -> tuple[Record, bytes]:
        """Return the answer at a position, and its result line."""
        start, end = self._starts[place], self._starts[place + 1]
        self._file.seek(start)
        record, _, line = self._file.read(end - start).partition(b"\n")
        return Record.model_validate_json(record), line

    def holding(self, text: str) -> list[int]:
        """Return the positions of the answers that contain ``text``, ignoring case.

        Searches answers, questions, ids, sources, references and samples.
        """
        wanted = text.casefold()
        quoted = to_json(wanted)[1:-1].decode("utf-8")
        found = []
        self._file.seek(0)
        for place in range(len(self)):
            size = self._starts[place + 1] - self._starts[place]
            line = self._file.read(size).partition(b"\n")[0].decode("utf-8")
            if quoted in line.casefold() and _holds(Record.model_validate_json(line), wanted):
                found.append(place)
        return found

    def asked(self, record: Record, result: Result) -> list[AskedUnit]:
        """Return the units of an answer to be labelled, in their order in the answer."""
        found = self._of(result)
        if found:
            asked = found
        elif self._units == "span":
            asked = []
        else:
            looked = _looked(result)
            asked = [
                AskedUnit(
                    UnitPlace(level="sentence", start=s.start, end=s.end, text=s.text),
                    looked.get((s.start, s.end)),
                )
                for s in record.sentences
                if s.text.strip()
            ]
        if not asked:
            n = len(record.response)
            whole = UnitPlace(level="response", start=0, end=n, text=record.response[:_LONGEST])
            asked = [AskedUnit(whole, None)]
        return asked[:MOST_UNITS]

    def _of(self, result: Result) -> list[AskedUnit]:
        """Return the units of a score to be labelled, if they are not the sentences."""
        levels = {"auto": ("claim",), "claim": ("claim",), "span": ("span",)}.get(self._units, ())
        for score in result.scores.values():
            raw = score.raw if isinstance(score.raw, dict) else {}
            facts = raw.get("claims")
            facts = facts if isinstance(facts, list) and len(facts) == len(score.units) else []
            asked = [
                AskedUnit(_unit(unit, fact), _deciding(unit))
                for unit, fact in zip_longest(score.units, facts)
                if unit.level in levels and unit.end > unit.start
            ]
            if asked:
                return _told_apart(sorted(asked, key=lambda a: (a.unit.start, a.unit.end)))
        return []

    def check_digest(self, row: int, digests: set[str]) -> None:
        """Check that labels of the row belong to its record.

        Raises:
            UsageError: they belong to another record.
        """
        place = self.place(row)
        if place is None:
            raise UsageError(f"there are labels of row {row}, for which the run has no result")
        if digests - {self.digests[place]}:
            raise UsageError(f"the labels of row {row} belong to another record than the run's")


def _holds(record: Record, wanted: str) -> bool:
    texts = [record.response, question_text(record.prompt) or "", str(record.id)]
    texts += [c.text for c in record.contexts]
    texts += [*record.reference, *(s.text for s in record.samples if s.text)]
    return any(wanted in text.casefold() for text in texts)


def _spread(result_summary: ResultSummary) -> float:
    risks = [s.risk for s in result_summary.scores.values() if s.risk is not None]
    if len(risks) < 2:
        return 0.0
    mean = sum(risks) / len(risks)
    return math.sqrt(sum((risk - mean) ** 2 for risk in risks) / len(risks))


def _as_json(record: Record) -> bytes:
    """Return the record on one line; values without a JSON form, as in data frames, become
    texts.
    """
    try:
        return to_json(record, by_alias=True, inf_nan_mode="constants", fallback=str)
    except ValueError:  # bytes that are not a text
        plain = record.model_dump(by_alias=True)
        return to_json(plain, inf_nan_mode="constants", bytes_mode="base64", fallback=str)


def _unit(unit: Unit, fact: Any) -> UnitPlace:
    level: Any = unit.level if unit.level in ("sentence", "claim", "span") else "span"
    parts = fact.get("triplet") if isinstance(fact, dict) else None
    is_triplet = isinstance(parts, (list, tuple)) and len(parts) == 3
    return UnitPlace(
        level=level,
        start=unit.start,
        end=unit.end,
        text=unit.text[:_LONGEST],
        triplet=tuple(str(part) for part in parts) if parts and is_triplet else None,
    )


def _told_apart(asked: list[AskedUnit]) -> list[AskedUnit]:
    """Count earlier equal units of each unit."""
    seen: Counter[UnitPlace] = Counter()
    out = []
    for unit, deciding in asked:
        out.append(AskedUnit(unit.model_copy(update={"again": seen[unit]}), deciding))
        seen[unit] += 1
    return out


def _looked(result: Result) -> Mapping[tuple[int, int], SourceMark]:
    """Return the source passage of each sentence: first from the scorer of the risk."""
    found: dict[tuple[int, int], SourceMark] = {}
    first = [result.by] if result.by is not None else []
    names = [*(n for n in result.scores if n.split("(")[0] in first), *result.scores]
    for name in names:
        for unit in result.scores[name].units:
            place = _deciding(unit) if unit.level == "sentence" else None
            if place is not None:
                found.setdefault((unit.start, unit.end), place)
    return found


def _deciding(unit: Unit) -> SourceMark | None:
    items = [e for e in unit.evidence if e.kind != "token"]
    if not items:
        return None
    e = max(items, key=lambda item: item.probability or 0.0)
    kind: Any = e.kind
    return SourceMark(kind=kind, index=e.index, start=e.start, end=e.end, text=e.text[:_LONGEST])
