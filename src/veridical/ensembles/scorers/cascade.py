"""Cascade scorer: tiers of scorers until the risk is certain enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from veridical.core.records import Record
from veridical.core.registry import BoundScorer, scorer
from veridical.core.scores import Score
from veridical.core.verdict_cuts import Cuts, Strictness
from veridical.ensembles.apply import risk_of
from veridical.ensembles.cascade_file import CascadeFile, read
from veridical.ensembles.graded import DIGITS
from veridical.ensembles.scorers.components import missing, scores_of, unscored, verify
from veridical.ensembles.scorers.tuned import tuned_cuts, weighted_units
from veridical.errors import UsageError

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence


def _parts(file: str | None) -> Iterable[Iterable[BoundScorer]]:
    if file is None:
        return ()
    cascade, _ = read(file)
    by_call = cascade.ensembles[-1].scorers
    return [[by_call[c.scorer] for c in tier.components] for tier in cascade.tiers]


def _stages(file: str | None) -> tuple[str, ...]:
    return () if file is None else read(file)[0].names


def _check(file: str | None) -> None:
    if file is None:
        raise UsageError(
            "cascade requires the file written by veridical tune --cascade: cascade(file=PATH)"
        )


def _cuts(raw: Mapping[str, Any], strictness: Strictness, *, file: str | None) -> Cuts | None:
    return None if file is None else tuned_cuts(read(file)[0].ensembles[-1], None, strictness)


@scorer(
    "cascade",
    level="response",
    source="veridical tune --cascade (docs/tuning.md)",
    cost="llm",
    uses={"embed", "tokens", "nli", "probabilities", "seq2seq"},
    raw_is="risk",
    raw_key="risk",
    check=_check,
    parts=_parts,
    stages=_stages,
    cuts=_cuts,
)
async def cascade(record: Record, evidence: Evidence, *, file: CascadeFile | None = None) -> Score:
    """Combine as few scorers as necessary into one risk, cheap ones first.

    Args:
        file: file written by ``veridical tune --cascade``.

    The scorers of a tier run concurrently. They and those of earlier tiers form a calibrated
    ensemble. A record stops if its risk is at most the tier's ``low``, or at least its ``high``;
    later tiers are then not run. A component that is not scored is left out of its ensemble. If no
    component with a weight is scored, the next tier is run.

    ``raw`` has the ``risk``, the ``tier`` at which the record stopped, the risk ``after`` each
    tier, and the file's version (``file``). It also has the ``components``' risks, the ``weights``
    used, and the reasons for ``missing`` ones. Units are sentences, by the weights of the last
    tier.

    Raises:
        UsageError: no file is named, it is not a cascade or has changed, or its components differ
            from those it was learned with.
        NotApplicable: no component of any tier applies.
        ModelError: no component is scored, and some failed.
    """
    _check(file)
    learned, version = read(str(file))
    scores: dict[str, Score] = {}
    after: dict[str, float | None] = {}
    risk: float | None = None
    for tier, ensemble in zip(learned.tiers, learned.ensembles, strict=True):
        members = {c.scorer: ensemble.scorers[c.scorer] for c in tier.components}
        scores |= await scores_of(evidence, members)
        verify(ensemble, scores)
        combined = risk_of(ensemble, {call: s.risk for call, s in scores.items()})
        here = after[tier.name] = None if combined.risk is None else round(combined.risk, DIGITS)
        risk, weights = (risk, None) if here is None else (here, combined.weights)
        if here is not None and tier.stops(here):
            break
    if risk is None:
        raise unscored("no component that has a weight is scored", scores)
    raw: dict[str, Any] = {
        "risk": risk,
        "tier": tier.name,
        "after": after,
        "file": version,
        "components": {call: s.risk for call, s in scores.items()},
        "weights": weights,
        "missing": missing(scores),
    }
    return Score.of(risk, raw=raw, units=weighted_units(ensemble, record, scores, ""))
