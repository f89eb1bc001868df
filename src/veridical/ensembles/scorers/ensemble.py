"""Ensemble scorer: the fitted default, or a tuned ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

from veridical.core.records import Record
from veridical.core.registry import BoundScorer, scorer
from veridical.core.scores import Score
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.ensembles.ensemble_file import EnsembleFile, read
from veridical.ensembles.scorers import default_score, default_set, off_the_shelf
from veridical.ensembles.scorers.components import (
    ask,
    missing,
    sentences,
    unit,
)
from veridical.ensembles.scorers.off_the_shelf import Comparison
from veridical.errors import NotApplicable, UsageError, unknown_name

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence


LABEL_FREE = "label_free"
EVEN = 0.5
_DEFAULT = "default"


def _pinned(weights: str) -> str:
    """Return the default's weights with the version of their file.

    Raises:
        UsageError: there are no such weights.
    """
    if weights == LABEL_FREE:
        return weights
    name, _, version = weights.partition("@")
    if name != _DEFAULT:
        raise unknown_name("weights", weights, (_DEFAULT, LABEL_FREE))
    if version and version != default_set.version():
        raise UsageError(f"the default's weights are {default_set.version()} here, not {version}")
    return f"{_DEFAULT}@{default_set.version()}"


Weights = Annotated[str, AfterValidator(_pinned)]
Prior = Annotated[float, Field(gt=0, lt=1)]


def _parts(
    file: str | None,
    against: Comparison,
    claims: bool,
    weights: str,
    judge: bool,
    language_model: str | None,
    prior: float,
) -> Iterable[Iterable[BoundScorer]]:
    if file is not None:
        return [read(file)[0].scorers.values()]
    if weights == LABEL_FREE:
        return [off_the_shelf.members(against, claims, language_model)]
    return [default_set.members(against, judge, language_model)]


def _check(
    file: str | None,
    against: Comparison,
    claims: bool,
    weights: str,
    judge: bool,
    language_model: str | None,
    prior: float,
) -> None:
    if claims and (file is not None or weights != LABEL_FREE):
        raise UsageError(
            "claims=true requires weights=label_free; a tuned ensemble has its own components, and "
            "the default includes claims"
        )
    fitted = file is None and weights != LABEL_FREE
    if judge and not fitted:
        raise UsageError("judge=true requires weights=default")
    if language_model is not None and file is not None:
        raise UsageError(
            "language_model=MODEL requires shipped weights; a tuned ensemble has its own"
        )
    if prior != EVEN and not fitted:
        raise UsageError(
            "prior=P requires weights=default; label-free weights give no "
            "probability, and a tuned ensemble has the share of its graded answers"
        )


def _cuts(
    raw: Mapping[str, Any],
    strictness: Strictness,
    *,
    file: str | None,
    weights: str,
    **_: Any,
) -> Cuts | None:
    """Return the risks at which the verdict changes: the default's fitted ones, or a file's tuned
    threshold; None for label-free weights."""
    if file is not None:
        from veridical.ensembles.scorers.tuned import tuned_cuts

        return tuned_cuts(read(file)[0], raw.get("stratum"), strictness)
    if weights == LABEL_FREE:
        return None
    lead = next(iter(raw.get("sets") or ()), "contexts")  # a judge alone leads by contexts
    return default_set.cuts(lead, raw.get("nli") or default_set.MINI, strictness)


@scorer(
    "ensemble",
    level="response",
    source="Veridical: fitted on public labels (docs/risk.md); tuned: Bouchard & Chauhan 2025, 3.4",
    cost="llm",
    uses={"embed", "tokens", "nli", "probabilities", "seq2seq"},
    presets={"all", "auto"},
    raw_is="risk",
    raw_key="risk",
    version=4,
    tuned_on={  # the default's weights; for the label-free sets, those with contexts
        "begin": ("file",),
        "halueval": ("file",),
        "truthfulqa": ("file", "weights"),
        "qa": ("file", "weights"),
    },
    check=_check,
    parts=_parts,
    cuts=_cuts,
)
async def ensemble(
    record: Record,
    evidence: Evidence,
    *,
    file: EnsembleFile | None = None,
    against: Comparison = "auto",
    claims: bool = False,
    weights: Weights = _pinned(_DEFAULT),  # noqa: B008 (pins the file's content)
    judge: bool = False,
    language_model: str | None = None,
    prior: Prior = EVEN,
) -> Score:
    """Combine several scorers' risks into one calibrated risk (fitted default or tuned).

    Args:
        file: file written by ``veridical tune``. None uses ``weights``.
        against: the only field to check by; ``auto`` uses all fields of the record.
        weights: ``default``, fitted on public labels, or ``label_free``, weighted means of
            quantiles in shipped tables.
        claims: include the scorer ``claims`` among those of contexts; for ``label_free`` only.
        judge: also ask the run's LLM about each sentence (``statement_judge``); for ``default``
            only.
        language_model: a model that reads the answer without and with its sources
            (``explained_surprisal``). The default uses it for all fields, ``label_free`` for
            samples of longer responses.
        prior: expected share of wrong answers, in (0, 1); for ``default`` only. It shifts risks
            by odds, and changes no label.

    The default is a logistic regression of the log-odds of few scorers' risks, for each field of
    the record: contexts, reference, samples, log-probabilities. The first of these with anything
    scored leads. The others adjust its log-odds by a share, and reverse them only if it has lexical
    scorers alone. At ``prior=0.5`` a risk is calibrated to equal numbers of right and wrong
    answers. If members are not scored, a fit without them is used.

    With a judge, its log-odds lead; those of the other scorers, at a quarter, adjust them without
    reversing them. With a reference, both have full weight.

    With contexts or reference, the response's risk is that of its worst sentence, and a sentence's
    risk that of the members. The fitted cuts (at the prior 0.5) label it ``entailment``,
    ``unclear`` or ``neutral``. The label is ``contradiction`` if a source contradicts it and so
    does most of the evidence against it. ``probabilities`` are those of entailment, neutral and
    contradiction, and ``evidence`` begins with that of the deciding scorer. With samples or
    log-probabilities, the response's risk is the members' risk of the whole response. With samples,
    a response of over 400 characters uses the label-free set for long ones. A logistic regression
    converts its mean quantile to a probability. A sentence's risk is then the mean of its own and
    the whole.

    ``raw`` has the ``risk`` and the one at equal numbers (``even_risk``), and the ``nli`` model
    whose fits apply. ``judged`` is the basis: ``sources``, ``samples``, ``logprobs``, ``llm``, or
    ``lexical`` if only words were compared. ``sets`` are the fields used, the leading
    one first. ``components`` are their risks, ``weights`` their weights (for long responses, shares
    of the mean), ``missing`` the reasons for missing ones. If the response ``abstained``, the risk
    is 0 and no scorer is run. The label-free sets and tuned ensembles have ``risk``,
    ``components``, ``weights`` and ``missing``. The former also have ``sets``, the latter the
    version of the ``file`` and the record's ``stratum``. If tuned on sentences, the latter have the
    components' risks of each (``sentences``). An
    ensemble tuned on sentences returns their risks as tuned, and their mean for the response. A
    weighted one tuned on responses combines the components' sentences, uncalibrated; others have no
    sentences.

    Raises:
        UsageError: the file is not an ensemble, or has changed, or its components differ from
            those it was tuned with.
        NotApplicable: no component applies.
        ModelError: no component is scored, and some failed.
    """
    if file is not None:
        from veridical.ensembles.scorers.tuned import tuned

        return await tuned(record, evidence, *read(file))
    if weights == LABEL_FREE:
        return await _label_free(record, evidence, against, claims, language_model)
    return await default_score.score(record, evidence, against, judge, language_model, prior)


async def _label_free(
    record: Record,
    evidence: Evidence,
    against: Comparison,
    claims: bool,
    language_model: str | None,
) -> Score:
    choice = off_the_shelf.choose(record, against, claims, language_model)
    if not choice.weights:
        what = "contexts, samples or reference" if against == "auto" else against
        raise NotApplicable(f"the record has no {what}")
    members = off_the_shelf.members(against, claims, language_model)
    by_key = {b.key: b for b in members if b.key in choice.weights}
    scores = await ask(evidence, by_key)
    risks = {call: s.risk for call, s in scores.items()}
    count = len(record.samples)
    risk = choice.risk(risks, count)
    assert risk is not None  # at least one is scored, and every member has a table
    units = []
    by_sentence = sentences(scores)
    for span in record.sentences if by_sentence else ():
        parts = by_sentence.get(span, {})
        alone = choice.risk({call: u.risk for call, u in parts.items()}, count)
        near = risk if alone is None else (alone + risk) / 2
        units.append(unit(span, near, parts, choice.weights))
    used = {call: choice.weights[call] for call, r in risks.items() if r is not None}
    raw = {
        "risk": risk,
        "sets": list(choice.sets),
        "components": risks,
        "weights": {call: w / sum(used.values()) for call, w in used.items()},
        "missing": missing(scores),
    }
    return Score.of(risk, raw=raw, units=units)
