"""Scores of tuned ensembles: risk, sentences and verdict cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.core.scores import Score, Unit
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.ensembles.apply import risk_of
from veridical.ensembles.ensemble_file import Ensemble
from veridical.ensembles.graded import risk_at, stratum_of
from veridical.ensembles.scorers.components import (
    as_mapping,
    ask,
    missing,
    sentences,
    unit,
    unscored,
    verify,
)

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence

#: Factor on the odds of a tuned threshold: a false alarm weighs twice or half as much.
_ODDS: Mapping[Strictness, float] = {"low": 2.0, "balanced": 1.0, "high": 0.5}


def tuned_cuts(ensemble: Ensemble, stratum: str | None, strictness: Strictness) -> Cuts | None:
    """Return the cuts of a tuned ensemble: its threshold, and those of the other strictnesses.

    ``low`` has the threshold for twice the cost of a false alarm, ``high`` that for half of it.
    Risks that only ``low`` accepts are unclear.
    """
    threshold = ensemble.fit_of(stratum).threshold
    if threshold is None:
        return None
    odds = _ODDS[strictness]
    flagged = odds * threshold / (odds * threshold + 1 - threshold)
    sentences = ensemble.level == "sentence"
    return Cuts(min(threshold, flagged), flagged, of_units=sentences)


async def tuned(record: Record, evidence: Evidence, ensemble: Ensemble, version: str) -> Score:
    """Score ``record`` by an ensemble whose file has that version."""
    scores = await ask(evidence, ensemble.scorers)
    verify(ensemble, scores)
    by = ensemble.strata.by if ensemble.strata else None
    stratum = stratum_of(record, by) if by else ""
    risks = {call: s.risk for call, s in scores.items()}
    each = None
    if ensemble.level == "sentence":
        each = _risks_of_sentences(ensemble, record, scores)
        units = _fitted_units(ensemble, record, scores, stratum, each)
        sentence_risks = [u.risk for u in units if u.risk is not None]
        risk = sum(sentence_risks) / len(sentence_risks) if sentence_risks else None
        weights = ensemble.fit_of(stratum).weights
    else:
        risk, _, weights = risk_of(ensemble, risks, stratum)
        units = weighted_units(ensemble, record, scores, stratum)
    if risk is None:
        raise unscored("no component that has a weight is scored", scores)
    raw: dict[str, Any] = {
        "risk": risk,
        "file": version,
        "stratum": stratum or None,
        "components": risks,
        "weights": weights,
        "missing": missing(scores),
    }
    if each is not None:
        unit_names = [c.name for c in ensemble.components if c.part == "unit"]
        raw["sentences"] = {name: [risks[name] for risks in each] for name in unit_names}
    return Score.of(risk, raw=raw, units=units)


def _risks_of_sentences(
    ensemble: Ensemble, record: Record, scores: Mapping[str, Score]
) -> list[dict[str, float | None]]:
    """Return the components' risks of each sentence, by their names."""
    by_call = {call: as_mapping(score) for call, score in scores.items()}
    return [
        {
            c.name: risk_at(by_call[c.scorer], c.part, span.start, span.end)
            for c in ensemble.components
        }
        for span in record.sentences
    ]


def _fitted_units(
    ensemble: Ensemble,
    record: Record,
    scores: Mapping[str, Score],
    stratum: str,
    each: Sequence[Mapping[str, float | None]],
) -> list[Unit]:
    """Return the response's sentences by an ensemble tuned on sentences."""
    fit = ensemble.fit_of(stratum)
    # weights for the choice of evidence
    weights = fit.weights or dict.fromkeys(ensemble.names, 1.0)
    unit_weights = {c.scorer: weights[c.name] for c in ensemble.components if c.part == "unit"}
    by_sentence = sentences(scores)
    units = []
    for span, risks in zip(record.sentences, each, strict=True):
        risk = risk_of(ensemble, risks, stratum).risk
        if risk is not None:
            units.append(unit(span, risk, by_sentence.get(span, {}), unit_weights))
    return units


def weighted_units(
    ensemble: Ensemble, record: Record, scores: Mapping[str, Score], stratum: str
) -> list[Unit]:
    """Return sentences by the weights of responses; empty for fits of other methods."""
    weights = ensemble.fit_of(stratum).weights
    if weights is None:
        return []
    by_sentence = sentences(scores)
    units = []
    for span in record.sentences:
        parts = by_sentence.get(span, {})
        total = sum(weights[call] for call in parts)
        if total > 0:
            risk = sum(weights[call] * (u.risk or 0.0) for call, u in parts.items()) / total
            units.append(unit(span, min(risk, 1.0), parts, weights))
    return units
