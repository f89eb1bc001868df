"""One risk of many scorers' risks: the shipped sets, or an ensemble tuned on graded answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veridical.decide.apply import risk_of
from veridical.decide.ensemble_file import Ensemble, EnsembleFile, read
from veridical.decide.graded import risk_at, stratum_of
from veridical.errors import NotApplicable, UsageError
from veridical.records import Record
from veridical.registry import BoundScorer, scorer
from veridical.scorers.ensembles import off_the_shelf
from veridical.scorers.ensembles.components import (
    ask,
    missing,
    sentences,
    told,
    unit,
    unscored,
    verify,
)
from veridical.scorers.ensembles.off_the_shelf import Comparison
from veridical.scores import Score, Unit

if TYPE_CHECKING:
    from veridical.evidence import Evidence


def _parts(file: str | None, against: Comparison, claims: bool) -> Iterable[Iterable[BoundScorer]]:
    if file is None:
        return [off_the_shelf.members(against, claims)]
    return [read(file).ensemble.scorers.values()]


def _check(file: str | None, against: Comparison, claims: bool) -> None:
    if file is not None and claims:
        raise UsageError("claims is for the shipped sets: a tuned ensemble has its own components")


@scorer(
    "ensemble",
    level="response",
    source="Bouchard & Chauhan 2025, section 3.4",
    cost="llm",
    uses={"embed", "tokens", "nli", "probabilities", "seq2seq"},
    presets={"auto"},
    raw_is="risk",
    raw_key="risk",
    tuned_on={"begin": ("file",), "halueval": ("file",)},  # the grounded set's weights
    check=_check,
    parts=_parts,
)
async def ensemble(
    record: Record,
    evidence: Evidence,
    *,
    file: EnsembleFile | None = None,
    against: Comparison = "auto",
    claims: bool = False,
) -> Score:
    """One risk of several scorers': a shipped set, or an ensemble tuned on graded answers.

    Args:
        file: what ``veridical tune`` wrote. None takes the shipped sets: those for contexts, for
            samples (closed or open answers, by the response's length) and for references, as far
            as the record has these.
        claims: count the scorer ``claims`` among those of contexts; of the shipped sets only.

    The shipped sets are weighted means of quantiles in shipped tables and use no labels: 0.5 is
    the middle of what is usual, no probability. A tuned ensemble gives what it was tuned for,
    calibrated if it was. Components that are not scored are left out, and the weights of the
    others made to add up to 1.

    ``raw`` has the ``risk``, the ``components``' risks, the ``weights`` used, and why others are
    ``missing``; of the shipped sets their names (``sets``), of a file its version (``file``) and
    the record's ``stratum``; of one tuned on sentences also the components' risks of each
    (``sentences``). Units are sentences. In the shipped sets a sentence's risk is the mean
    of what its own scores say, combined in the same way, and of the response's risk. An ensemble
    tuned on sentences gives their risks as tuned and the response their mean; a weighted one
    tuned on responses combines the components' sentences, uncalibrated, and others have none.

    Raises:
        UsageError: the file is none of an ensemble, or has changed, or its components are not
            what it was tuned with.
        NotApplicable: no component applies.
        ModelError: no component is scored, and some failed.
    """
    if file is None:
        return await _shipped(record, evidence, against, claims)
    return await tuned(record, evidence, *read(file))


async def _shipped(record: Record, evidence: Evidence, against: Comparison, claims: bool) -> Score:
    choice = off_the_shelf.choose(record, against, claims)
    if not choice.weights:
        what = "contexts, samples or reference" if against == "auto" else against
        raise NotApplicable(f"the record has no {what}")
    members = off_the_shelf.members(against, claims)
    asked = {b.key: b for b in members if b.key in choice.weights}
    scores = await ask(evidence, asked)
    risks = {call: s.risk for call, s in scores.items()}
    count = len(record.samples)
    risk = choice.risk(risks, count)
    assert risk is not None  # one is scored, and every member has a table
    units = []
    known = sentences(scores)
    for span in record.sentences if known else ():
        parts = known.get(span, {})
        own = choice.risk({call: u.risk for call, u in parts.items()}, count)
        near = risk if own is None else (own + risk) / 2
        units.append(unit(span, near, parts, choice.weights))
    kept = {call: choice.weights[call] for call, r in risks.items() if r is not None}
    raw = {
        "risk": risk,
        "sets": list(choice.sets),
        "components": risks,
        "weights": {call: w / sum(kept.values()) for call, w in kept.items()},
        "missing": missing(scores),
    }
    return Score.of(risk, raw=raw, units=units)


async def tuned(record: Record, evidence: Evidence, ensemble: Ensemble, version: str) -> Score:
    """The score of ``record`` by an ensemble whose file has that version."""
    scores = await ask(evidence, ensemble.scorers)
    verify(ensemble, scores)
    by = ensemble.strata.by if ensemble.strata else None
    stratum = stratum_of(record, by) if by else ""
    risks = {call: s.risk for call, s in scores.items()}
    each = None
    if ensemble.level == "sentence":
        each = _risks_of_sentences(ensemble, record, scores)
        units = _fitted_units(ensemble, record, scores, stratum, each)
        found = [u.risk for u in units if u.risk is not None]
        risk = sum(found) / len(found) if found else None
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
        own = [c.name for c in ensemble.components if c.part == "unit"]
        raw["sentences"] = {name: [risks[name] for risks in each] for name in own}
    return Score.of(risk, raw=raw, units=units)


def _risks_of_sentences(
    ensemble: Ensemble, record: Record, scores: Mapping[str, Score]
) -> list[dict[str, float | None]]:
    """The components' risks of each sentence, by their names."""
    read = {call: told(score) for call, score in scores.items()}
    return [
        {c.name: risk_at(read[c.scorer], c.part, span.start, span.end) for c in ensemble.components}
        for span in record.sentences
    ]


def _fitted_units(
    ensemble: Ensemble,
    record: Record,
    scores: Mapping[str, Score],
    stratum: str,
    each: Sequence[Mapping[str, float | None]],
) -> list[Unit]:
    """The response's sentences by an ensemble that was tuned on sentences."""
    fit = ensemble.fit_of(stratum)
    weights = fit.weights or dict.fromkeys(ensemble.names, 1.0)  # of what evidence to show
    own = {c.scorer: weights[c.name] for c in ensemble.components if c.part == "unit"}
    known = sentences(scores)
    units = []
    for span, risks in zip(record.sentences, each, strict=True):
        risk = risk_of(ensemble, risks, stratum).risk
        if risk is not None:
            units.append(unit(span, risk, known.get(span, {}), own))
    return units


def weighted_units(
    ensemble: Ensemble, record: Record, scores: Mapping[str, Score], stratum: str
) -> list[Unit]:
    """Sentences by the weights that responses have; a fit of another method says nothing of
    them."""
    weights = ensemble.fit_of(stratum).weights
    if weights is None:
        return []
    known = sentences(scores)
    units = []
    for span in record.sentences:
        parts = known.get(span, {})
        total = sum(weights[call] for call in parts)
        if total > 0:
            risk = sum(weights[call] * (u.risk or 0.0) for call, u in parts.items()) / total
            units.append(unit(span, min(risk, 1.0), parts, weights))
    return units
