"""Scores: what a scorer says of a record. ``risk`` is in [0, 1] and 1 is always worst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from veridical.core.records import Source
from veridical.core.verdict_cuts import WORST_FIRST, Unchecked, Verdict, verdict_of_label
from veridical.text.spans import FindingKind, Span

if TYPE_CHECKING:
    from veridical.core.explain import ShownResult

Risk = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Level = Literal["response", "sentence", "claim", "span", "token"]
Status = Literal["scored", "not_applicable", "failed"]
Decision = Literal["accept", "review", "reject"]
#: Of the shape of a result line: it rises when a field goes, or changes its type or meaning. New
#: fields do not raise it: readers pass over what they do not know.
RESULT_VERSION = 2

#: A risk from here on speaks against a sentence of which no label says more.
_EVEN = 0.5
#: Sources that a sentence's evidence shows where many take part.
SHOWN = 3

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_M = TypeVar("_M", bound=BaseModel)


def _validated(model: type[_M], fields: dict[str, Any]) -> _M:
    """``model(**fields)`` by pydantic's own validator, without the call's cost: scorers make
    dozens of these a record."""
    validated: _M = model.__pydantic_validator__.validate_python(fields)
    return validated


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
    computed: str | None = Field(default=None, exclude_if=lambda v: v is None)

    @classmethod
    def at(
        cls,
        source: Source,
        start: int,
        end: int,
        probability: float | None = None,
        computed: str | None = None,
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
            "computed": computed,
        }
        return _validated(cls, fields)


class Unit(BaseModel):
    """A piece of the response with its own risk. ``raw`` is the method's own number for it.

    ``kind`` is what is wrong with a flagged unit, where that is known. ``reason`` is why a unit has
    no risk: ``language`` where no model of the run reads it.
    """

    model_config = _FROZEN
    level: Level
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    risk: Risk | None
    raw: float | None = Field(default=None, allow_inf_nan=False)
    label: str | None = None
    kind: FindingKind | None = Field(default=None, exclude_if=lambda v: v is None)
    reason: Literal["language"] | None = Field(default=None, exclude_if=lambda v: v is None)
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
        kind: FindingKind | None = None,
        reason: Literal["language"] | None = None,
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
            "kind": kind,
            "reason": reason,
            "probabilities": probabilities,
            "evidence": tuple(evidence),
        }
        return _validated(cls, fields)

    def verdict(self, answer: Verdict) -> Verdict:
        """Return the verdict on this piece of an answer with a verdict: that of its label, else, as
        in results of earlier versions, by its risk."""
        labelled = verdict_of_label(self.label)
        if labelled is not None:
            return labelled
        if self.risk is None or answer == "unchecked":
            return "unchecked"
        if answer in ("consistent", "inconsistent"):
            return "inconsistent" if self.risk >= _EVEN else "consistent"
        if self.risk < _EVEN:
            return "supported"
        return "unclear" if answer == "unclear" else "unsupported"


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


class ScoreJson(NamedTuple):
    """A finished score on its way to a result line: its risk, and its JSON text."""

    risk: float | None
    text: bytes

    @classmethod
    def of(cls, score: Score) -> ScoreJson:
        return cls(score.risk, _DUMP(score))

    @property
    def score(self) -> Score:
        return Score.model_validate_json(self.text)


class Selected(BaseModel):
    """The least risky of a response and its samples, each judged by the others, or the one that
    stands for the most probable meaning.

    Attributes:
        kind, index: the ``response`` (index 0), or which of the samples; null where none of them
            was scored.
        risk, by: of that answer as a result has them.
        risks: of all, the response first, then the samples in order; null where not scored.
        decision: the policy's, of that answer.
    """

    model_config = _FROZEN
    kind: Literal["response", "sample"] | None
    index: int | None = Field(ge=0)
    text: str | None
    risk: Risk | None
    by: str | None
    risks: tuple[Risk | None, ...]
    decision: Decision | None = None


class Change(BaseModel):
    """A piece of an answer and what took its place. ``text`` is exactly the slice
    ``[start:end]`` of the answer; ``unsupported`` are the statements of it that were why."""

    model_config = _FROZEN
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    new: str
    unsupported: tuple[str, ...] = ()


class Repair(BaseModel):
    """An answer without what nothing supports, and what it scores.

    Attributes:
        of: what was repaired: the ``response``, or the text ``selected`` (``Result.selected``).
        scorer: whose units told what is unsupported; null where no scorer could.
        text: the repaired answer; null where there is none, as ``reason`` says.
        changes: in order; applied to the answer they give ``text``.
        risk, by: of the repaired answer as a result has them.
        remaining: unsupported units of it, by the same scorer; null where it was not scored again.
        decision: the policy's, of the repaired answer.
    """

    model_config = _FROZEN
    how: Literal["drop", "rewrite"]
    of: Literal["response", "selected"] = "response"
    status: Literal["changed", "unchanged", "not_applicable", "failed"]
    reason: str | None = None
    scorer: str | None = None
    text: str | None = None
    changes: tuple[Change, ...] = ()
    risk: Risk | None = None
    by: str | None = None
    remaining: int | None = Field(default=None, ge=0)
    decision: Decision | None = None


class FieldResult(BaseModel):
    """The verdict on a value of a structured answer.

    Attributes:
        path: as ``invoice.total``, ``items[0].name``, or of a table ``row[2].Price``; names with
            other signs as ``["a.b"]``.
        value: its text, unescaped; it stands at ``[start:end]`` of the answer.
        verdict: ``unchecked`` where it states nothing, such as null.
    """

    model_config = _FROZEN
    path: str
    value: str
    verdict: Verdict
    risk: Risk | None
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    evidence: tuple[EvidenceItem, ...] = ()


def _absent(value: Any) -> bool:
    return value is None


class Result(BaseModel):
    """One line of ``--json``: everything said of one valid record.

    ``verdict`` rests on the score ``by``, and ``reason`` says why it is ``unchecked``; of a line
    of an earlier version it is that. ``decision`` is null unless the run has a policy; ``why``,
    ``selected`` and ``repair`` are there only where a policy, a selection or a repair was asked
    for, ``fields`` only where the answer is JSON, YAML, XML or a table, or holds such.
    ``invisible`` counts the characters of the answer that cannot be seen and were not judged.
    """

    model_config = _FROZEN
    id: str | int
    row: int = Field(ge=0)
    risk: Risk | None
    by: str | None
    verdict: Verdict = "unchecked"
    reason: Unchecked | None = "earlier_version"
    decision: Decision | None = None
    why: tuple[str, ...] | None = Field(default=None, exclude_if=_absent)
    selected: Selected | None = Field(default=None, exclude_if=_absent)
    repair: Repair | None = Field(default=None, exclude_if=_absent)
    fields: tuple[FieldResult, ...] | None = Field(default=None, exclude_if=_absent)
    invisible: int | None = Field(default=None, ge=1, exclude_if=_absent)
    scores: dict[str, Score]

    @property
    def deciding(self) -> Score | None:
        """The score that ``risk`` and ``verdict`` rest on; None where there is no risk."""
        named = (s for key, s in self.scores.items() if key.partition("(")[0] == self.by)
        return next((s for s in named if s.status == "scored"), None)

    @property
    def spans(self) -> tuple[Unit, ...]:
        """The pieces of the answer that the deciding score judged, in its order: mostly sentences,
        and after a wrong one its wrong words where these are known (level ``span``). Each has
        ``start``, ``end``, ``text``, ``risk``, ``label`` and ``evidence``. What a mean of
        scores lacks, such as evidence, is that of a score that judged the same piece. Where the
        deciding score has none, those of a score that judged statements, else of the first that
        has some."""
        scored = [s for s in self.scores.values() if s.status == "scored" and s.units]
        deciding = self.deciding
        if deciding is None or not deciding.units:
            judging = [s for s in scored if any(u.label for u in s.units)]
            return next((s.units for s in [*judging, *scored]), ())
        others = [s.units for s in scored if s is not deciding]
        return tuple(_completed(unit, others) for unit in deciding.units)

    @property
    def worst(self) -> Unit | None:
        """The riskiest sentence or claim of :attr:`spans`, where there are any of those that the
        verdict is of; None where none has a risk."""
        return self._worst(self.spans)

    def _worst(self, spans: Sequence[Unit]) -> Unit | None:
        known = [unit for unit in spans if unit.risk is not None]
        sentences = [unit for unit in known if unit.level != "span"] or known
        deciding = [unit for unit in sentences if verdict_of_label(unit.label) == self.verdict]
        return max(deciding or sentences, key=lambda unit: unit.risk or 0.0, default=None)

    @property
    def why_unchecked(self) -> str | None:
        """Return the reason why there is no verdict, as a sentence; None where there is one."""
        from veridical.core.explain import WHY
        from veridical.text.wrap import harmless

        if self.reason is None:
            return None
        causes = [
            f"{key}: {harmless(score.reason or 'no reason given')}"
            for key, score in self.scores.items()
            if score.status == "failed" and self.reason == "failed"
        ]
        return " ".join(filter(None, (WHY[self.reason][0], "; ".join(causes))))

    def shown(self, sources: Sequence[str | int | None] = ()) -> ShownResult:
        """The result as outputs show it.

        Args:
            sources: the ids of the record's contexts, in order, where it has some.
        """
        from veridical.core.explain import ShownPiece, ShownResult, ShownSource

        paths = {field.start: field.path for field in self.fields or ()}

        def source(e: EvidenceItem, closest: bool) -> ShownSource:
            known = e.kind == "context" and e.index < len(sources)
            name = sources[e.index] if known else None
            closest = closest and e.kind != "token"
            return ShownSource(e.kind, e.index, e.start, e.end, e.text, e.computed, closest, name)

        def piece(unit: Unit) -> ShownPiece:
            verdict = unit.verdict(self.verdict)
            closest = verdict in ("unsupported", "unclear")
            return ShownPiece(
                unit.start,
                unit.end,
                unit.text,
                verdict,
                unit.risk,
                unit.kind,
                paths.get(unit.start),
                tuple(source(e, closest) for e in unit.evidence),
            )

        spans = self.spans
        worst = self._worst(spans)
        return ShownResult(
            self.verdict,
            self.risk,
            self.by,
            self._prior(),
            self.reason,
            self.why_unchecked,
            self.invisible,
            tuple(piece(unit) for unit in spans if unit.level != "span"),
            tuple(piece(unit) for unit in spans if unit.level == "span"),
            None if worst is None else piece(worst),
        )

    def _prior(self) -> float | None:
        """The share of wrong answers that the risk is calibrated to; None where it is not the
        default's, which is."""
        from veridical.core.bands import EVEN
        from veridical.core.identity import Identity

        for key, score in self.scores.items():
            if score is self.deciding and isinstance(score.raw, dict) and "even_risk" in score.raw:
                named = dict(Identity.read(key).parameters).get("prior", EVEN)
                try:
                    prior = float(named)
                except ValueError:  # a line that something else has written
                    return None
                return prior if 0 < prior < 1 else None
        return None

    def explain(self) -> str:
        """What was found out, for people to read: verdict and risk, the answer's sentences with
        the worst one marked, and the evidence with its place (counted from 1). Lines have at most
        80 columns; an unchecked answer comes with the reason and what to do."""
        from veridical.core.explain import pieces, plain

        return plain(pieces(self.shown()))

    def __repr__(self) -> str:
        risk = "None" if self.risk is None else f"{self.risk:.2f}"
        return f"Result(id={self.id!r}, row={self.row}, verdict={self.verdict!r}, risk={risk})"

    def _repr_html_(self) -> str:
        from veridical.core.explain import as_html, pieces

        return as_html(pieces(self.shown()))

    @staticmethod
    def line(
        id: str | int,
        row: int,
        risk: float | None,
        by: str | None,
        verdict: tuple[Verdict, Unchecked | None],
        scores: Mapping[str, ScoreJson],
        fields: Sequence[Mapping[str, Any]] | None = None,
        *,
        invisible: int | None = None,
    ) -> bytes:
        """The JSON text of a result whose scores are JSON text already."""
        first: dict[str, Any] = {"id": id, "row": row, "risk": risk, "by": by}
        first |= {"verdict": verdict[0], "reason": verdict[1], "decision": None}
        if fields is not None:
            first["fields"] = fields
        if invisible is not None:
            first["invisible"] = invisible
        head = to_json(first)
        body = b",".join(to_json(name) + b":" + s.text for name, s in scores.items())
        return head[:-1] + b',"scores":{' + body + b"}}"


def _completed(unit: Unit, others: Sequence[Sequence[Unit]]) -> Unit:
    """Return a unit without evidence with that of another on the same piece, and its label where
    the unit has none. What shows support or contradiction is only taken from such a unit."""
    if unit.evidence:
        return unit
    verdict = verdict_of_label(unit.label)
    same = [u for units in others for u in units if (u.start, u.end) == (unit.start, unit.end)]
    if verdict in ("supported", "contradicted"):
        same = [u for u in same if verdict_of_label(u.label) == verdict]
    if verdict is not None:
        same = [u for u in same if u.evidence]
    labelled = [u for u in same if u.label is not None]
    known = [(v, u) for u in labelled if (v := verdict_of_label(u.label)) is not None]
    ranked = [u for _, u in sorted(known, key=lambda pair: WORST_FIRST.index(pair[0]))]
    chosen = next(iter([*ranked, *labelled, *(u for u in same if u.evidence)]), None)
    if chosen is None:
        return unit
    label = chosen.label if unit.label is None else unit.label
    return unit.model_copy(update={"label": label, "evidence": chosen.evidence})


class ScoreSummary(BaseModel):
    """A score without its units and raw value."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    risk: float | None
    status: Status
    reason: str | None


class SelectionSummary(BaseModel):
    """Which answer was selected."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    kind: str | None


class RepairSummary(BaseModel):
    """What became of a repair."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    status: str


class FieldSummary(BaseModel):
    """The verdict on a field."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    path: str
    verdict: Verdict


class ResultSummary(BaseModel):
    """A result line without units: what a pass over millions of them needs."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    id: str | int
    row: int
    risk: float | None
    by: str | None
    verdict: Verdict = "unchecked"
    reason: Unchecked | None = "earlier_version"
    decision: Decision | None = None
    why: tuple[str, ...] | None = None
    selected: SelectionSummary | None = None
    repair: RepairSummary | None = None
    fields: tuple[FieldSummary, ...] = ()
    invisible: int | None = None
    scores: dict[str, ScoreSummary]
