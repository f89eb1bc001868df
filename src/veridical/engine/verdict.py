"""Verdict and combined risk of a record, from its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic_core import from_json, to_json

from veridical.core.scores import Score, ScoreJson, Unit
from veridical.core.stated import states_nothing
from veridical.core.verdict_cuts import FLAGGED, verdict_of_label
from veridical.engine.cut_units import Judged, Voter, cut, voted
from veridical.engine.fields import fields_of
from veridical.engine.risk import NAME, VERSION, combine
from veridical.engine.thresholds import cuts_of
from veridical.text.scripts import UNREAD

if TYPE_CHECKING:
    from veridical.core.identity import Identity
    from veridical.core.records import Record
    from veridical.core.registry import Basis, BoundScorer
    from veridical.core.verdict_cuts import Strictness, Unchecked, Verdict
    from veridical.text.spans import FindingKind, Span

#: Verdict if only words were compared.
_WORDS_ONLY: tuple[Verdict, Unchecked | None] = ("unchecked", "not_judged")


class RecordVerdict(NamedTuple):
    """Fields of a result line before its scores, and the scores, possibly with their mean added."""

    risk: float | None
    by: str | None
    verdict: tuple[Verdict, Unchecked | None]
    scores: dict[str, ScoreJson]
    fields: list[dict[str, Any]] | None = None


class _Parsed(dict[str, Any]):
    """Scores as Python objects, parsed from JSON on access."""

    def __init__(self, scores: Mapping[str, ScoreJson]) -> None:
        self._scores = scores

    def __missing__(self, key: str) -> Any:
        self[key] = from_json(self._scores[key].text)
        return self[key]


def judge_record(
    record: Record,
    scorers: Sequence[BoundScorer],
    scores: Mapping[str, ScoreJson],
    strictness: Strictness = "balanced",
) -> RecordVerdict:
    """Return the record's risk, its source and its verdict.

    The risk may be a mean of several scorers (see :func:`~veridical.engine.risk.combine`). That
    mean is then a score of its own, with the sentences' means as units. The units of the deciding
    score are labelled by its cuts, so that both agree.

    Args:
        scores: scores by the keys of ``scorers``.
        strictness: selects the fitted thresholds. It changes verdicts, not risks.
    """
    count = len(record.samples)
    # auxiliary scorers determine the risk only if there are no others
    scorers = [s for s in scorers if not s.scorer.auxiliary] or scorers
    risk, by = combine({s.identity: scores[s.key].risk for s in scorers}, count)
    parts = _Parsed(scores)
    lines = dict(scores)
    if by == NAME:
        lines[NAME] = ScoreJson.of(_mean(record, scorers, parts, risk))
    verdict = _verdict(record, scorers, parts, risk, by, strictness, lines)
    if verdict == _WORDS_ONLY and _unread_by_models(scorers, parts):
        unread: tuple[Verdict, Unchecked | None] = ("unchecked", "language")
        return RecordVerdict(
            None, None, unread, dict(scores), fields_of(record, None, (), "unchecked")
        )
    return RecordVerdict(risk, by, verdict, lines, _fields(record, lines, by, verdict[0]))


def _fields(
    record: Record, lines: Mapping[str, ScoreJson], by: str | None, verdict: Verdict
) -> list[dict[str, Any]] | None:
    """Return the verdicts on the fields of a structured response."""
    if fields_of(record, None, (), verdict) is None:
        return None
    parsed = {key: from_json(scored.text) for key, scored in lines.items()}
    named = by.partition("(")[0] if by else None
    deciding = next(
        (s for key, s in parsed.items() if key.partition("(")[0] == named and s["units"]), None
    )
    return fields_of(record, deciding, list(parsed.values()), verdict)


def _verdict(
    record: Record,
    scorers: Sequence[BoundScorer],
    parts: Mapping[str, Any],
    risk: float | None,
    by: str | None,
    strictness: Strictness,
    lines: dict[str, ScoreJson],
) -> tuple[Verdict, Unchecked | None]:
    """Return the verdict, and label the units on which it rests in ``lines``."""
    if states_nothing(record):
        missed = any(_missed_answer(parts[s.key]) for s in scorers)
        return "unchecked", "missed_answer" if missed else "no_statement"
    if risk is None:
        return "unchecked", _why_unscored(record, scorers, parts)
    named = by.partition("(")[0] if by else None
    makers = [s for s in scorers if by == NAME or s.scorer.name == named]
    makers = [s for s in makers if parts[s.key]["status"] == "scored"]
    voters: dict[Judged, dict[str, Voter]] = {"sources": {}, "agreement": {}}
    for bound in makers:
        basis = _basis(bound, record, parts[bound.key])
        cuts = None if basis == "words" else cuts_of(bound, parts[bound.key], strictness)
        if cuts is not None and basis != "words":
            voters[basis][bound.key] = Voter(parts[bound.key], cuts)
    judged: Judged = "sources" if voters["sources"] else "agreement"
    cast = voters[judged]
    if not cast:
        return _WORDS_ONLY
    if by == NAME:
        key, score = NAME, from_json(lines[NAME].text)
        found = voted(score, list(cast.values()), judged)
    else:
        key, voter = next(iter(cast.items()))
        score = voter.score
        found = cut(score, voter.cuts, judged)
    lines[key] = _labelled(record, lines[key], score, found.labels, judged)
    if found.verdict == "supported" and any(_unread(voter.score) for voter in cast.values()):
        return "unchecked", "language"
    return found.verdict, None


def _labelled(
    record: Record,
    scored: ScoreJson,
    score: dict[str, Any],
    labels: Sequence[str | None],
    judged: Judged,
) -> ScoreJson:
    """Return the score with these unit labels, and with the kind of each flagged unit."""
    units = []
    for unit, label in zip(score["units"], labels, strict=True):
        kept = {key: value for key, value in unit.items() if key != "kind"} | {"label": label}
        verdict = verdict_of_label(label)
        if verdict in FLAGGED:
            kept["kind"] = unit.get("kind") or _kind(record, unit, verdict, judged)
        units.append(kept)
    if units == score["units"]:
        return scored
    return ScoreJson(scored.risk, to_json({**score, "units": units}))


def _kind(
    record: Record, unit: Mapping[str, Any], verdict: Verdict | None, judged: Judged
) -> FindingKind | None:
    """Return the kind of error of a flagged unit; None if only samples contradict it."""
    if judged != "sources":
        return None
    from veridical.text.finding_kinds import finding_kind  # loads what few answers need

    fields: list[Literal["contexts", "reference"]] = ["contexts", "reference"]
    sources = [s.text for field in fields if record.has(field) for s in record.against(field)]
    return finding_kind(unit["text"], verdict == "contradicted", sources)


def _missed_answer(score: Mapping[str, Any]) -> bool:
    """Return True if a score found that a source has the answer that the response says is
    missing."""
    raw = score["raw"]
    return isinstance(raw, dict) and "missed_answer" in raw


def _basis(bound: BoundScorer, record: Record, score: Mapping[str, Any]) -> Basis:
    """Return the basis of a score; for a scorer over scores, the best basis among its parts."""
    if bound.scorer.parts is None:
        return bound.basis(record)
    raw = score["raw"] if isinstance(score["raw"], dict) else {}
    if raw.get("judged") == "figures":  # sentences that no model reads
        return "sources"
    risks = raw.get("components")
    bases = {
        part.basis(record)
        for part in bound.parts
        if risks is None or risks.get(part.key) is not None
    }
    return next((b for b in ("sources", "agreement") if b in bases), "words")


def _unread_by_models(scorers: Sequence[BoundScorer], parts: Mapping[str, Any]) -> bool:
    """Return True if a scorer did not apply because its model does not read the record's
    language."""
    return any((parts[s.key]["reason"] or "").endswith(UNREAD) for s in scorers)


def _unread(score: Mapping[str, Any]) -> bool:
    """Return True if a statement was not judged because no model reads its language."""
    return any(u.get("reason") == "language" for u in score["units"])


def _why_unscored(
    record: Record, scorers: Sequence[BoundScorer], parts: Mapping[str, Any]
) -> Unchecked:
    if any(parts[s.key]["status"] == "failed" for s in scorers):
        return "failed"
    if _unread_by_models(scorers, parts):
        return "language"
    available = {f for f in ("contexts", "reference", "samples", "logprobs") if record.has(f)}
    able = (s for s in scorers if s.needs and s.needs <= available)
    if not all(s.scorer.auxiliary for s in able):
        return "not_judged"  # it had its required fields, and still did not apply
    return "nothing_to_check"


def _mean(
    record: Record,
    scorers: Sequence[BoundScorer],
    parts: Mapping[str, Any],
    risk: float | None,
) -> Score:
    """Return the mean of several scorers as a score, with a risk for each sentence where known."""
    by_place: dict[tuple[int, int], dict[Identity, float | None]] = {}
    for bound in scorers:
        for unit in parts[bound.key]["units"]:
            place = by_place.setdefault((unit["start"], unit["end"]), {})
            place[bound.identity] = unit["risk"]
    units = [
        Unit.of(sentence, combine(risks, len(record.samples))[0])
        for sentence, risks in _of_sentences(record, by_place)
    ]
    raw = {
        "risk": risk,
        "components": {s.key: parts[s.key]["risk"] for s in scorers},
    }
    assert risk is not None
    return Score.of(risk, raw=raw, units=units).model_copy(
        update={"signature": f"{NAME}|v{VERSION}"}
    )


def _of_sentences(
    record: Record, by_place: Mapping[tuple[int, int], dict[Identity, float | None]]
) -> Iterator[tuple[Span, dict[Identity, float | None]]]:
    if not by_place:
        return
    for sentence in record.sentences:
        risks = by_place.get((sentence.start, sentence.end))
        if risks:
            yield sentence, risks
