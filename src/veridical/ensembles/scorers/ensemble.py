"""One risk of several scorers' risks: the fitted default, or a tuned ensemble."""

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
    """The default's weights with the version of their file.

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
            "claims=true is for weights=label_free: a tuned ensemble has its own components, and "
            "the default has claims among them"
        )
    fitted = file is None and weights != LABEL_FREE
    if judge and not fitted:
        raise UsageError("judge=true is for the default's own weights")
    if language_model is not None and file is not None:
        raise UsageError(
            "language_model=MODEL is for shipped weights; a tuned ensemble has its own"
        )
    if prior != EVEN and not fitted:
        raise UsageError(
            "prior=P is for the default's calibrated risk: label-free weights give no "
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
    """Return the risks at which the verdict changes: fitted ones of the default, the tuned
    threshold of a file; none of label-free weights."""
    if file is not None:
        from veridical.ensembles.scorers.tuned import tuned_cuts

        return tuned_cuts(read(file)[0], raw.get("stratum"), strictness)
    if weights == LABEL_FREE:
        return None
    lead = next(iter(raw.get("sets") or ()), "contexts")  # a judge alone leads by these
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
    tuned_on={  # the weights of the default; of the label-free sets those of contexts
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
    """One calibrated risk of several scorers': the fitted default, or a tuned ensemble.

    Args:
        file: what ``veridical tune`` wrote. None takes ``weights``.
        against: the one field to check by; ``auto`` takes all that the record has.
        weights: ``default``, fitted on public labels, or ``label_free``, weighted means of
            quantiles in shipped tables.
        claims: count the scorer ``claims`` among those of contexts; of ``label_free`` only.
        judge: ask the run's LLM about each sentence too (``statement_judge``); of ``default``
            only.
        language_model: a model by which the answer is read without and with its sources
            (``explained_surprisal``): by all that the default checks by, of ``label_free`` by
            samples of longer responses.
        prior: the share of wrong answers where it is used, in (0, 1); of ``default`` only.
            It shifts risks by odds, and changes no label.

    The default is a logistic regression of the log-odds of few scorers' risks, for each field of
    the record: contexts, reference, samples, log-probabilities. The first of these that has
    anything scored leads; the others move its log-odds by a share, and over 0 only where it has
    but lexical scores. At ``prior=0.5`` a risk is calibrated to equal numbers of right and wrong
    answers. Members that are not scored leave a fit without them.

    With a judge, its log-odds lead, and those of the other scorers, at a quarter, move them
    without turning what it says; by a reference both count whole.

    By contexts or reference, the response's risk is that of its worst sentence. A sentence's is
    what the members say of it. It is labelled by the fitted cuts (at the prior 0.5)
    ``entailment``, ``unclear`` or ``neutral``, or ``contradiction`` where a source contradicts it
    and most of what speaks against it does. ``probabilities`` are of entailment, neutral and
    contradiction, and ``evidence`` begins with that of the scorer that decided. By samples or
    log-probabilities, the response's risk is that of what the members say of the whole. By samples,
    a response of over 400 characters takes the label-free set of long ones, whose mean quantile a
    logistic regression makes a probability; a sentence's is half by its own and half by the whole.

    ``raw`` has the ``risk`` and the one at equal numbers (``even_risk``); the ``nli`` model whose
    fits hold; what was ``judged``
    (``sources``, ``samples``, ``logprobs``, ``llm``, or ``lexical`` where words alone were
    compared); the fields used (``sets``, the leading first), the ``components``' risks, their
    ``weights`` (of long responses, shares of the mean), why others are ``missing``; and whether
    the response ``abstained``: then the risk is 0 and no scorer is asked. The label-free sets and
    tuned ensembles have ``risk``, ``components``, ``weights`` and ``missing``; the former also
    ``sets``, the latter the version of the ``file``, the record's ``stratum`` and, tuned on
    sentences, the components' risks of each (``sentences``). An ensemble tuned on sentences gives
    their risks as tuned and the response their mean; a weighted one tuned on responses combines
    the components' sentences, uncalibrated, and others have none.

    Raises:
        UsageError: the file is none of an ensemble, or has changed, or its components are not
            what it was tuned with.
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
    assert risk is not None  # one is scored, and every member has a table
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
