"""Components of ensembles: concurrent scoring, and risks of sentences."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veridical.core.scores import Score, Unit
from veridical.ensembles.ensemble_file import Ensemble
from veridical.errors import ModelError, NotApplicable, UsageError
from veridical.scorers.grounding.support import NO_ITEMS
from veridical.text.spans import Span

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.registry import BoundScorer


async def scores_of(evidence: Evidence, members: Mapping[str, BoundScorer]) -> dict[str, Score]:
    """Return every scorer's score, by its call, whatever its status."""
    replies = await asyncio.gather(
        *(evidence.score(b.scorer.name, **b.arguments) for b in members.values())
    )
    return dict(zip(members, replies, strict=True))


async def ask(evidence: Evidence, members: Mapping[str, BoundScorer]) -> dict[str, Score]:
    """Return every scorer's score, by its call.

    Raises:
        NotApplicable: no scorer applies.
        ModelError: no scorer is scored, and some failed.
    """
    scores = await scores_of(evidence, members)
    if all(s.status != "scored" for s in scores.values()):
        raise unscored("no component is scored", scores)
    return scores


def unscored(what: str, scores: Mapping[str, Score]) -> ModelError | NotApplicable:
    """Return the error if nothing is scored: a failure if some component failed."""
    for status, error in (("failed", ModelError), ("not_applicable", NotApplicable)):
        for call, score in scores.items():
            if score.status == status:
                return error(f"{what}; {call}: {score.reason}")
    return NotApplicable(what)


def verify(ensemble: Ensemble, scores: Mapping[str, Score]) -> None:
    """Check that the components are those of tuning.

    Raises:
        UsageError: a component has another model, version or parameters than in tuning.
    """
    for component in ensemble.components:
        score = scores[component.scorer]
        if score.status == "scored" and score.signature != component.signature:
            raise UsageError(
                f"the ensemble was tuned with {component.signature}, and this run has "
                f"{score.signature}; use the same models, or tune again"
            )


def missing(scores: Mapping[str, Score]) -> dict[str, str]:
    """Return the reasons why components are not scored, by call."""
    return {c: f"{s.status}: {s.reason}" for c, s in scores.items() if s.status != "scored"}


def sentences(scores: Mapping[str, Score]) -> dict[Span, dict[str, Unit]]:
    """Return the sentences of the response with their units by every component that scores them. A
    sentence in which ``support`` finds nothing to look up has no evidence, and is left out."""
    by_sentence: dict[Span, dict[str, Unit]] = {}
    for call, score in scores.items():
        for unit in score.units:
            if unit.level == "sentence" and unit.risk is not None and unit.label != NO_ITEMS:
                by_sentence.setdefault(Span(unit.start, unit.end, unit.text), {})[call] = unit
    return by_sentence


def as_mapping(score: Score) -> dict[str, Any]:
    """Return a score in the form of :func:`veridical.ensembles.graded.risk_at`."""
    units = [
        {"level": u.level, "start": u.start, "end": u.end, "risk": u.risk, "label": u.label}
        for u in score.units
    ]
    return {"status": score.status, "risk": score.risk, "units": units}


def unit(span: Span, risk: float, parts: Mapping[str, Unit], weights: Mapping[str, float]) -> Unit:
    """Return a sentence of the ensemble, with the evidence of the component that contributes most
    to its risk."""
    with_evidence: Sequence[tuple[float, Unit]] = [
        (weights.get(call, 0.0) * (u.risk or 0.0), u) for call, u in parts.items() if u.evidence
    ]
    evidence = max(with_evidence, key=lambda pair: pair[0])[1].evidence if with_evidence else ()
    return Unit.of(span, risk, raw=risk, evidence=evidence)
