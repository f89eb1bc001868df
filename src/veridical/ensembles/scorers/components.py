"""What the ensembles share: their components asked at once, and read as risks."""

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
    """Every scorer's score, by its call, whether it is scored or not."""
    replies = await asyncio.gather(
        *(evidence.score(b.scorer.name, **b.arguments) for b in members.values())
    )
    return dict(zip(members, replies, strict=True))


async def ask(evidence: Evidence, members: Mapping[str, BoundScorer]) -> dict[str, Score]:
    """Every scorer's score, by its call.

    Raises:
        NotApplicable: none applies.
        ModelError: none is scored, and some failed.
    """
    scores = await scores_of(evidence, members)
    if all(s.status != "scored" for s in scores.values()):
        raise unscored("no component is scored", scores)
    return scores


def unscored(what: str, scores: Mapping[str, Score]) -> ModelError | NotApplicable:
    """What to raise where nothing can be said: a failure where some component failed."""
    for status, error in (("failed", ModelError), ("not_applicable", NotApplicable)):
        for call, score in scores.items():
            if score.status == status:
                return error(f"{what}; {call}: {score.reason}")
    return NotApplicable(what)


def verify(ensemble: Ensemble, scores: Mapping[str, Score]) -> None:
    """
    Raises:
        UsageError: a component is not what the ensemble was tuned with: another model, another
            version, other parameters.
    """
    for component in ensemble.components:
        score = scores[component.scorer]
        if score.status == "scored" and score.signature != component.signature:
            raise UsageError(
                f"the ensemble was tuned with {component.signature}, and this run has "
                f"{score.signature}: use the same models, or tune again"
            )


def missing(scores: Mapping[str, Score]) -> dict[str, str]:
    """Why components are not scored, by call."""
    return {c: f"{s.status}: {s.reason}" for c, s in scores.items() if s.status != "scored"}


def sentences(scores: Mapping[str, Score]) -> dict[Span, dict[str, Unit]]:
    """The sentences of the response, each with its unit by every component that scores it. Where
    ``support`` finds nothing to look up it says 0, which is no evidence: that is left out."""
    by_sentence: dict[Span, dict[str, Unit]] = {}
    for call, score in scores.items():
        for unit in score.units:
            if unit.level == "sentence" and unit.risk is not None and unit.label != NO_ITEMS:
                by_sentence.setdefault(Span(unit.start, unit.end, unit.text), {})[call] = unit
    return by_sentence


def as_mapping(score: Score) -> dict[str, Any]:
    """A score as :func:`veridical.ensembles.graded.risk_at` reads it."""
    units = [
        {"level": u.level, "start": u.start, "end": u.end, "risk": u.risk, "label": u.label}
        for u in score.units
    ]
    return {"status": score.status, "risk": score.risk, "units": units}


def unit(span: Span, risk: float, parts: Mapping[str, Unit], weights: Mapping[str, float]) -> Unit:
    """A sentence of the ensemble, with the evidence of the component that adds most to its risk
    among those that show any."""
    with_evidence: Sequence[tuple[float, Unit]] = [
        (weights.get(call, 0.0) * (u.risk or 0.0), u) for call, u in parts.items() if u.evidence
    ]
    evidence = max(with_evidence, key=lambda pair: pair[0])[1].evidence if with_evidence else ()
    return Unit.of(span, risk, raw=risk, evidence=evidence)
