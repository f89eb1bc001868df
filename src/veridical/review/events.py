"""Labels that people gave, as a file that only grows: ``labels.jsonl`` in the run directory.

Each line is a :class:`ReviewEvent`. Nothing is ever altered: a change of mind, an undo, a comment
are further lines, and the newest of a person on a unit counts. A line is on the disk before the
page hears that it was taken, so that a killed server loses none. The files of several people of the
same run can be put together by ``cat``.
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
#: What a person says of a unit, by the sources beside it.
Label = Literal["supported", "says_nothing", "contradicted", "not_a_claim"]
#: The label as a number, 0 right .. 1 hallucinated; None is no statement, and counts for nothing.
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
    """A slice of a source: ``text`` is ``[start:end]`` of the source of this kind and index."""

    model_config = _FROZEN
    kind: Literal["context", "sample", "reference"]
    index: Offset
    start: Offset
    end: Offset
    text: Annotated[str, Field(max_length=100_000)] = ""


class UnitPlace(BaseModel):
    """A unit of an answer: ``text`` is what it says, ``[start:end]`` where in the answer,
    ``triplet`` its head, relation and tail where it is one, and ``again`` how many units alike come
    before it."""

    model_config = _FROZEN
    level: Literal["response", "sentence", "claim", "span"]
    start: Offset
    end: Offset
    text: Annotated[str, Field(max_length=100_000)] = ""
    triplet: tuple[str, str, str] | None = None
    again: Annotated[int, Field(ge=0, le=10_000)] = 0

    @property
    def key(self) -> tuple[str, int, int, str, int]:
        """What tells it from the other units of the answer."""
        return self.level, self.start, self.end, self.text, self.again


class Draw(BaseModel):
    """How an answer came to be looked at.

    Attributes:
        order: random, neyman, risk, uncertain, disagree, or chosen (by the person).
        p: the probability with which the draw took this answer from those that were left; None
            where it was not drawn but chosen.
        stratum: of ``neyman``, from 0.
    """

    model_config = _FROZEN
    order: Literal["random", "neyman", "risk", "uncertain", "disagree", "chosen"]
    p: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    stratum: Annotated[int, Field(ge=0)] | None = None


class ReviewEvent(BaseModel):
    """A line of the file.

    Attributes:
        event: ``label`` a unit, ``done`` with an answer (what was said before it was blind),
            ``comment`` on an answer, ``adjudicated``: decided where people disagreed.
        at: UTC, ISO 8601.
        who: the person's name.
        row: of the record.
        record: its digest, so that labels of another input are not taken for labels of this one.
        unit: of ``label`` and ``adjudicated``.
        label: None takes an earlier one back.
        missed: the person found the unit; it was not among those asked about.
        evidence: slices of sources that the person marked.
        seconds: that the person took.
        blind: whether scores were hidden from the person.
        draw: how the answer came to be looked at.
        comment: of the person.
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
            raise ValueError("must be a name that prints")
        return value

    def line(self) -> bytes:
        """The line of the file, without its newline."""
        return json.dumps(
            self.model_dump(mode="json", exclude_none=True),
            ensure_ascii=True,
            separators=(",", ":"),
        ).encode("ascii")


def now() -> str:
    """The time as an event has it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="microseconds")


def read_events(path: Path) -> Iterator[ReviewEvent]:
    """The events of a file, in its order; none where it is not there. A last line without an end
    is what a killed process left half written, and is no event.

    Raises:
        UsageError: a line is no event; the message names the line and the field.
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
    """The file of labels, open for appending.

    Raises:
        UsageError: it cannot be written, or a line of it is no event.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        mend(path)
        self.events = list(read_events(path))
        self._file: int | None = append_to(path)

    def append(self, *events: ReviewEvent) -> None:
        """Add events. They are on the disk when this returns."""
        assert self._file is not None
        write_all(self._file, b"".join(event.line() + b"\n" for event in events))
        os.fsync(self._file)
        self.events += events

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def in_order(events: Iterable[ReviewEvent]) -> list[ReviewEvent]:
    """Events by their time, those of the same line once; files of several people may be put
    together in any order."""
    unique = dict.fromkeys(events)
    return sorted(unique, key=lambda event: event.at)
