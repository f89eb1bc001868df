"""Scores, units, evidence and results; ``risk`` in [0, 1], 1 is worst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar, get_args

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
#: Basis of the risk of a statement. ``values`` are figures, dates, names and negations. ``rules``
#: need no model: verbatim or opposite words. A model may read the ``first_passages``, which entail
#: it, those that can matter (``near_passages``), or all. ``words`` are shared words alone.
DecidedBy = Literal[
    "values", "rules", "first_passages", "near_passages", "all_passages", "judge", "words"
]
#: Version of the result line. It rises when a field is removed, or changes its type or meaning. New
#: fields do not raise it: readers ignore unknown fields.
RESULT_VERSION = 2

#: Risk at or above which an unlabelled sentence counts as unsupported.
_EVEN = 0.5
#: Maximum sources shown as evidence of a sentence.
SHOWN = 3

_FROZEN = ConfigDict(frozen=True, extra="forbid")
_M = TypeVar("_M", bound=BaseModel)
_S = TypeVar("_S", "Score", "ScoreSummary")


def _absent(value: Any) -> bool:
    return value is None


def _validated(model: type[_M], fields: dict[str, Any]) -> _M:
    """Return ``model(**fields)`` through pydantic's own validator, which is faster: scorers make
    dozens of these per record."""
    validated: _M = model.__pydantic_validator__.validate_python(fields)
    return validated


class EvidenceItem(BaseModel):
    """A piece of evidence. ``text`` is exactly the slice ``[start:end]`` of the source.

    For kind ``token``, ``index`` is the token's position in its list (the record's ``logprobs``, or
    the proxy's tokens). ``[start:end]`` is a slice of the response, and ``probability`` is that of
    the token. Tokens that share a character all have the whole character as their slice.
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
        """Make evidence from the slice ``[start:end]`` of ``source``."""
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
    """A piece of the response with its own risk. ``raw`` is the method's own value for it.

    ``kind`` is the kind of error in a flagged unit, where known. ``reason`` explains a missing
    risk: ``language`` if no model of the run reads the unit's language.
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
        """Make a unit over ``span`` of the response."""
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
        """Return the verdict on this piece of an answer whose verdict is ``answer``.

        It follows the piece's label or, in results of earlier versions, its risk.
        """
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
    """A scorer's result on one record.

    ``risk`` is null unless ``status`` is ``scored``. ``raw`` is the paper's own value, in the
    paper's own orientation (see ``raw_is`` of the scorer). Never NaN. ``statements`` counts the
    judged statements by the basis of their risk, where known.
    """

    model_config = _FROZEN
    risk: Risk | None
    raw: Annotated[float, Field(allow_inf_nan=False)] | dict[str, Any] | None = None
    status: Status = "scored"
    reason: str | None = None
    statements: dict[DecidedBy, int] | None = Field(default=None, exclude_if=_absent)
    units: tuple[Unit, ...] = ()
    signature: str = ""

    @classmethod
    def of(
        cls,
        risk: float,
        *,
        raw: float | dict[str, Any] | None = None,
        units: Sequence[Unit] = (),
        decided: Sequence[DecidedBy] = (),
    ) -> Score:
        """Make a scored result; ``raw`` defaults to the risk.

        Args:
            decided: basis of each statement, in any order.
        """
        return cls(
            risk=risk,
            raw=risk if raw is None else raw,
            statements=_counted(decided) if decided else None,
            units=tuple(units),
        )

    @classmethod
    def not_applicable(cls, reason: str) -> Score:
        return cls(risk=None, status="not_applicable", reason=reason)

    @classmethod
    def failed(cls, reason: str) -> Score:
        return cls(risk=None, status="failed", reason=reason)


def _counted(decided: Sequence[DecidedBy]) -> dict[DecidedBy, int]:
    count = Counter(decided)
    return {by: count[by] for by in get_args(DecidedBy) if by in count}


_DUMP = Score.__pydantic_serializer__.to_json


class ScoreJson(NamedTuple):
    """A finished score: its risk, and its JSON text for a result line."""

    risk: float | None
    text: bytes

    @classmethod
    def of(cls, score: Score) -> ScoreJson:
        return cls(score.risk, _DUMP(score))

    @property
    def score(self) -> Score:
        return Score.model_validate_json(self.text)


class Selected(BaseModel):
    """The selected answer among a response and its samples.

    It is the least risky, or the one that represents the most probable meaning.

    Attributes:
        kind, index: the ``response`` (index 0), or one of the samples; null if none was scored.
        risk, by: as in the result of the selected answer.
        risks: of all answers, the response first, then the samples in order; null if not scored.
        decision: the policy's decision on the selected answer.
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
    """A replaced piece of an answer. ``text`` is exactly the slice ``[start:end]`` of the answer;
    ``unsupported`` are the statements that caused the change."""

    model_config = _FROZEN
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str
    new: str
    unsupported: tuple[str, ...] = ()


class Repair(BaseModel):
    """A repaired answer, without unsupported statements, and its new score.

    Attributes:
        of: the repaired text: the ``response``, or the text ``selected`` (``Result.selected``).
        scorer: scorer whose units were unsupported; null if no scorer could judge them.
        text: the repaired answer; null without a repair, for the ``reason`` given.
        changes: in order; applied to the answer, they yield ``text``.
        risk, by: as in a result of the repaired answer.
        remaining: its unsupported units, by the same scorer; null if it was not scored again.
        decision: the policy's decision on the repaired answer.
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


def _deciding(scores: Mapping[str, _S], by: str | None) -> _S | None:
    """Return the score of a result whose risk is that of the scorer ``by``."""
    named = (s for key, s in scores.items() if key.partition("(")[0] == by)
    return next((s for s in named if s.status == "scored"), None)


class FieldResult(BaseModel):
    """Verdict on a value of a structured answer.

    Attributes:
        path: such as ``invoice.total``, ``items[0].name`` or, in a table, ``row[2].Price``; names
            with other characters are ``["a.b"]``.
        value: its text, unescaped; located at ``[start:end]`` of the answer.
        verdict: ``unchecked`` if it states nothing, such as null.
    """

    model_config = _FROZEN
    path: str
    value: str
    verdict: Verdict
    risk: Risk | None
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    evidence: tuple[EvidenceItem, ...] = ()


class Result(BaseModel):
    """The result of one valid record: one line of ``--json``.

    ``verdict`` rests on the score ``by``; ``reason`` explains ``unchecked`` (also in lines of an
    earlier version). ``decision`` is null unless the run has a policy. ``why``, ``selected`` and
    ``repair`` exist only with a policy, a selection or a repair. ``fields`` exists only if the
    answer is or contains JSON, YAML, XML or a table. ``invisible`` counts the invisible characters
    of the answer, which were not judged.
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
        """The score on which ``risk`` and ``verdict`` rest; None if there is no risk."""
        return _deciding(self.scores, self.by)

    @property
    def spans(self) -> tuple[Unit, ...]:
        """Pieces of the answer judged by the deciding score, in its order.

        They are mostly sentences. A wrong sentence is followed by its wrong words where known
        (level ``span``). Each has ``start``, ``end``, ``text``, ``risk``, ``label`` and
        ``evidence``. Evidence that a mean of scores lacks is taken from a score that judged the
        same piece. If the deciding score has no units, those of a score that judged statements are
        used, else of the first that has some.
        """
        scored = [s for s in self.scores.values() if s.status == "scored" and s.units]
        deciding = self.deciding
        if deciding is None or not deciding.units:
            judging = [s for s in scored if any(u.label for u in s.units)]
            return next((s.units for s in [*judging, *scored]), ())
        others = [s.units for s in scored if s is not deciding]
        return tuple(_completed(unit, others) for unit in deciding.units)

    @property
    def worst(self) -> Unit | None:
        """The riskiest sentence or claim of :attr:`spans`, preferably one with the result's
        verdict; None if none has a risk."""
        return self._worst(self.spans)

    def _worst(self, spans: Sequence[Unit]) -> Unit | None:
        known = [unit for unit in spans if unit.risk is not None]
        sentences = [unit for unit in known if unit.level != "span"] or known
        deciding = [unit for unit in sentences if verdict_of_label(unit.label) == self.verdict]
        return max(deciding or sentences, key=lambda unit: unit.risk or 0.0, default=None)

    @property
    def why_unchecked(self) -> str | None:
        """Reason why there is no verdict, as a sentence; None if there is one."""
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
        """Return the result in the form that outputs show.

        Args:
            sources: ids of the record's contexts, in order, if there are any.
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
        """Return the share of wrong answers to which the risk is calibrated; None unless the risk
        is the default's."""
        from veridical.core.bands import EVEN
        from veridical.core.identity import Identity

        for key, score in self.scores.items():
            if score is self.deciding and isinstance(score.raw, dict) and "even_risk" in score.raw:
                named = dict(Identity.read(key).parameters).get("prior", EVEN)
                try:
                    prior = float(named)
                except ValueError:  # a line written by another program
                    return None
                return prior if 0 < prior < 1 else None
        return None

    def explain(self) -> str:
        """Return an explanation for humans, in lines of at most 80 columns.

        It has verdict and risk, the sentences of the answer with the worst one marked, and the
        evidence with its location (counted from 1). For an unchecked answer it gives the reason and
        advice.
        """
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
        """Return the JSON text of a result whose scores are JSON text already."""
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
    """Return a unit without evidence with that of another unit on the same piece.

    A unit without a label takes the other's label too. Evidence for support or contradiction is
    only taken from a unit with the same verdict.
    """
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
    statements: dict[str, int] | None = None


class SelectionSummary(BaseModel):
    """Kind of the selected answer."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    kind: str | None


class RepairSummary(BaseModel):
    """Status of a repair."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    status: str


class FieldSummary(BaseModel):
    """Verdict on a field."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    path: str
    verdict: Verdict


class ResultSummary(BaseModel):
    """A result line without units, for passes over millions of lines."""

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

    @property
    def deciding(self) -> ScoreSummary | None:
        """The score on which ``risk`` and ``verdict`` rest; None if there is no risk."""
        return _deciding(self.scores, self.by)
