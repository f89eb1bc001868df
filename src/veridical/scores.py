"""Scores: what a scorer says of a record. ``risk`` is in [0, 1] and 1 is always worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from veridical.records import Source, Span

Risk = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Level = Literal["response", "sentence", "claim", "span", "token"]
Status = Literal["scored", "not_applicable", "failed"]

#: Sources that a sentence's evidence shows where many take part.
SHOWN = 3

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_M = TypeVar("_M", bound=BaseModel)


def _validated(model: type[_M], fields: dict[str, Any]) -> _M:
    """``model(**fields)`` by pydantic's own validator, without the call's cost: scorers make
    dozens of these a record."""
    made: _M = model.__pydantic_validator__.validate_python(fields)
    return made


class EvidenceItem(BaseModel):
    """What a score rests on. ``text`` is exactly the slice ``[start:end]`` of the source.

    Of kind ``token``, ``index`` is the token's position in the list it comes from (the record's
    ``logprobs``, or the proxy's tokens), ``[start:end]`` is a slice of the response, and
    ``probability`` that of the token. The tokens of a character that is split over several all
    have the whole of it as their slice.
    """

    model_config = _FROZEN
    kind: Literal["context", "sample", "reference", "token"]
    index: int = Field(ge=0)
    context: int | None = Field(default=None, exclude_if=lambda v: v is None)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    probability: Risk | None = None

    @classmethod
    def at(
        cls, source: Source, start: int, end: int, probability: float | None = None
    ) -> EvidenceItem:
        """The slice ``[start:end]`` of ``source``."""
        fields = {
            "kind": source.kind,
            "index": source.index,
            "context": source.index if source.kind == "context" else None,
            "start": start,
            "end": end,
            "text": source.text[start:end],
            "probability": probability,
        }
        return _validated(cls, fields)


class Unit(BaseModel):
    """A piece of the response with its own risk. ``raw`` is the method's own number for it."""

    model_config = _FROZEN
    level: Level
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    risk: Risk | None
    raw: float | None = Field(default=None, allow_inf_nan=False)
    label: str | None = None
    probabilities: dict[str, Risk] | None = None
    evidence: tuple[EvidenceItem, ...] = ()

    @classmethod
    def of(
        cls,
        span: Span,
        risk: float | None,
        *,
        raw: float | None = None,
        level: Level = "sentence",
        label: str | None = None,
        probabilities: dict[str, float] | None = None,
        evidence: Sequence[EvidenceItem] = (),
    ) -> Unit:
        """A unit over ``span`` of the response."""
        fields = {
            "level": level,
            "start": span.start,
            "end": span.end,
            "text": span.text,
            "risk": risk,
            "raw": raw,
            "label": label,
            "probabilities": probabilities,
            "evidence": tuple(evidence),
        }
        return _validated(cls, fields)


class Score(BaseModel):
    """A method's verdict on one record.

    ``risk`` is null unless ``status`` is ``scored``; ``raw`` is the paper's own value, in the
    paper's own orientation (the registry says which). Never NaN.
    """

    model_config = _FROZEN
    risk: Risk | None
    raw: Annotated[float, Field(allow_inf_nan=False)] | dict[str, Any] | None = None
    status: Status = "scored"
    reason: str | None = None
    units: tuple[Unit, ...] = ()
    signature: str = ""

    @classmethod
    def of(
        cls, risk: float, *, raw: float | dict[str, Any] | None = None, units: Sequence[Unit] = ()
    ) -> Score:
        """A scored result; ``raw`` defaults to the risk itself."""
        return cls(risk=risk, raw=risk if raw is None else raw, units=tuple(units))

    @classmethod
    def not_applicable(cls, reason: str) -> Score:
        return cls(risk=None, status="not_applicable", reason=reason)

    @classmethod
    def failed(cls, reason: str) -> Score:
        return cls(risk=None, status="failed", reason=reason)


_DUMP = Score.__pydantic_serializer__.to_json


class Scored(NamedTuple):
    """A finished score on its way to a result line: its risk, and its JSON text."""

    risk: float | None
    text: bytes

    @classmethod
    def of(cls, score: Score) -> Scored:
        return cls(score.risk, _DUMP(score))

    @property
    def score(self) -> Score:
        return Score.model_validate_json(self.text)


class Result(BaseModel):
    """One line of ``--json``: everything said of one valid record."""

    model_config = _FROZEN
    id: str | int
    row: int = Field(ge=0)
    risk: Risk | None
    by: str | None
    decision: Literal["accept", "review", "reject"] | None = None
    scores: dict[str, Score]

    @staticmethod
    def line(
        id: str | int, row: int, risk: float | None, by: str | None, scores: Mapping[str, Scored]
    ) -> bytes:
        """The JSON text of a result whose scores are JSON text already."""
        head = to_json({"id": id, "row": row, "risk": risk, "by": by, "decision": None})
        body = b",".join(to_json(name) + b":" + s.text for name, s in scores.items())
        return head[:-1] + b',"scores":{' + body + b"}}"


class ScoreHeadline(BaseModel):
    """A score without its units and raw value."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    risk: float | None
    status: Status
    reason: str | None


class Headline(BaseModel):
    """A result line without units: what a pass over millions of them needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str | int
    row: int
    risk: float | None
    by: str | None
    scores: dict[str, ScoreHeadline]
