"""Review events: the append-only file ``labels.jsonl`` in the run directory.

Each line is a :class:`ReviewEvent`. Lines are never altered: a correction, an undo or a comment is
a further line, and a reviewer's newest event on a unit counts. A line is on disk before the page is
notified, so a killed server loses none. Files of several reviewers of one run can be concatenated.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from veridical.errors import UsageError
from veridical.files.rowlog import append_to, mend, whole_lines, write_all
from veridical.text.display import display, shown

#: Name of the file in a run directory.
LABELS = "labels.jsonl"
#: Labels of a unit with regard to its sources.
Label = Literal["supported", "says_nothing", "contradicted", "not_a_claim"]
#: Labels as numbers, 0 right .. 1 hallucinated; None is not a statement, and does not count.
NUMBERS: dict[str, float | None] = {
    "supported": 0.0,
    "says_nothing": 1.0,
    "contradicted": 1.0,
    "not_a_claim": None,
}
LONGEST_NAME = 80
_FROZEN = ConfigDict(frozen=True, extra="forbid")

Offset = Annotated[int, Field(ge=0, le=2**31)]


class SourceMark(BaseModel):
    """Slice of a source: ``text`` equals ``[start:end]`` of the source of this kind and index."""

    model_config = _FROZEN
    kind: Literal["context", "sample", "reference"]
    index: Offset
    start: Offset
    end: Offset
    text: Annotated[str, Field(max_length=100_000)] = ""


class UnitPlace(BaseModel):
    """Unit of an answer: its ``text`` and offsets ``[start:end]``.

    ``triplet`` is its head, relation and tail if it is a triplet; ``again`` counts earlier equal
    units.
    """

    model_config = _FROZEN
    level: Literal["response", "sentence", "claim", "span"]
    start: Offset
    end: Offset
    text: Annotated[str, Field(max_length=100_000)] = ""
    triplet: tuple[str, str, str] | None = None
    again: Annotated[int, Field(ge=0, le=10_000)] = 0

    @property
    def key(self) -> tuple[str, int, int, str, int]:
        """Return the key that identifies it within the answer."""
        return self.level, self.start, self.end, self.text, self.again


class Draw(BaseModel):
    """Selection of an answer for review.

    Attributes:
        order: random, neyman, risk, uncertain, disagree, or chosen (by the reviewer).
        p: probability of drawing this answer from the remaining ones; None if it was chosen.
        stratum: of ``neyman``, from 0.
    """

    model_config = _FROZEN
    order: Literal["random", "neyman", "risk", "uncertain", "disagree", "chosen"]
    p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    stratum: Annotated[int, Field(ge=0)] | None = None


class ReviewEvent(BaseModel):
    """Line of the file.

    Attributes:
        event: ``label`` of a unit, ``done`` with an answer (earlier labels were blind), ``comment``
            on an answer, ``adjudicated``: a disagreement was resolved.
        at: UTC, ISO 8601.
        who: the reviewer's name.
        row: of the record.
        record: its digest, so that labels of another input are not applied to this one.
        unit: of ``label`` and ``adjudicated``.
        label: None withdraws an earlier one.
        missed: the reviewer added the unit; it was not in the list.
        evidence: slices of sources that the reviewer marked.
        seconds: that the reviewer took.
        blind: whether scores were hidden.
        draw: selection of the answer.
        comment: of the reviewer.
    """

    model_config = _FROZEN
    event: Literal["label", "done", "comment", "adjudicated"]
    at: Annotated[str, Field(max_length=40)]
    who: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
    row: Annotated[int, Field(ge=0, le=2**62)]
    record: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    unit: UnitPlace | None = None
    label: Label | None = None
    missed: bool = False
    evidence: Annotated[tuple[SourceMark, ...], Field(max_length=100)] = ()
    seconds: Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)] | None = None
    blind: bool = True
    draw: Draw | None = None
    comment: Annotated[str, Field(max_length=20_000)] | None = None

    @field_validator("who")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not value.isprintable() or not value.strip():
            raise ValueError("must be a printable name")
        return value

    def line(self) -> bytes:
        """Return the line of the file, without its newline."""
        return json.dumps(
            self.model_dump(mode="json", exclude_none=True),
            ensure_ascii=True,
            separators=(",", ":"),
        ).encode("ascii")


def now() -> str:
    """Return the current time in the form of events."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds")


def read_events(path: Path) -> Iterator[ReviewEvent]:
    """Yield the events of a file, in order; no events if it does not exist.

    An incomplete last line, which a killed process left, is ignored.

    Raises:
        UsageError: a line is not an event; the message names the line and the field.
    """
    for number, line in enumerate(whole_lines(path), 1):
        if not line.strip():
            continue
        try:
            yield ReviewEvent.model_validate_json(line)
        except ValidationError as e:
            first = e.errors()[0]
            field = ".".join(map(str, first["loc"])) or "line"
            raise UsageError(
                f"{display(path)}, line {number}: {field}: {first['msg']} "
                f"({shown(line[:60].decode('utf-8', 'replace'))})"
            ) from None


class LabelLog:
    """File of labels, open for appending.

    Raises:
        UsageError: it cannot be written, or a line of it is not an event.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        mend(path)
        self.events = list(read_events(path))
        self._file: int | None = append_to(path)

    def append(self, *events: ReviewEvent) -> None:
        """Append events. They are on disk when this returns."""
        assert self._file is not None
        write_all(self._file, b"".join(event.line() + b"\n" for event in events))
        os.fsync(self._file)
        self.events += events

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def in_order(events: Iterable[ReviewEvent]) -> list[ReviewEvent]:
    """Sort events by time and remove duplicate lines.

    Files of several reviewers may be concatenated in any order.
    """
    unique = dict.fromkeys(events)
    return sorted(unique, key=lambda event: event.at)
