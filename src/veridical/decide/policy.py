"""Policies: rules that accept, review or reject each record by its scores.

Each record is decided independently of the others, by its result and the value of one field of its
``meta``. Records that are not scored, or that no threshold decides, are reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from veridical.core.scores import Decision, Score
from veridical.decide.policy_file import PolicyFile, Rule, Thresholds, read_policy
from veridical.errors import UsageError, unknown_name
from veridical.text.display import display, shown, visible

if TYPE_CHECKING:
    from veridical.core.records import Record
    from veridical.core.registry import BoundScorer
    from veridical.core.scores import Result, ResultSummary, ScoreSummary, Unit
    from veridical.core.verdict_cuts import Strictness
    from veridical.decide.guarantees import PolicyGuarantees
    from veridical.ensembles.ensemble_file import Ensemble, Fit

#: From mildest to most severe: of several that apply, the most severe counts.
DECISIONS: tuple[Decision, ...] = ("accept", "review", "reject")
#: Decimals of a risk in comparisons with a threshold; smaller differences are ties.
DIGITS = 6


class Ruling(NamedTuple):
    """A decision and its causes, in words that are the same for every record."""

    decision: Decision
    why: tuple[str, ...]


class Cut(NamedTuple):
    """The thresholds of a stratum. ``missing`` is the reason why nothing is accepted."""

    accept: float | None
    reject: float | None
    missing: str = "there is no accept threshold"


@dataclass(frozen=True)
class Policy:
    """A policy for runs with certain scorers; made by :meth:`read` or :meth:`of`.

    Attributes:
        on: key of the scorer whose risk is compared; None for the record's own risk.
        by: field of ``meta`` with the stratum; None without strata.
        cut: thresholds of records in none of the ``strata``.
        rules: the rules, with the keys of their scorers.
        unscored: the decision if the compared risk is null.
        guarantees: the guarantee of its ensemble; None without one.
        strictness: strictness of a run that does not set it; None if not set.
    """

    cut: Cut
    on: str | None = None
    by: str | None = None
    strata: Mapping[str, Cut] | None = None
    rules: tuple[Rule, ...] = ()
    unscored: Decision = "review"
    guarantees: PolicyGuarantees | None = None
    strictness: Strictness | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The guarantees as text for humans."""
        return () if self.guarantees is None else self.guarantees.lines

    @classmethod
    def read(
        cls, path: str | Path, scorers: Sequence[BoundScorer]
    ) -> tuple[Policy, list[BoundScorer]]:
        """Read a policy file, and add its ensemble to the ``scorers`` of a run if necessary.

        Raises:
            UsageError: the file is not a policy, requires scores that the run lacks, or has an
                ensemble without a guarantee. The message names the field.
        """
        file = read_policy(path)
        where = f"policy {display(path)}"
        run = list(scorers)
        if file.ensemble is None:
            return cls.of(file, run, where=where), run
        from veridical.ensembles.ensemble_file import read

        place = Path(path).parent / file.ensemble
        try:
            ensemble, version = read(str(place))
        except UsageError as e:
            raise UsageError(f"{where}: ensemble: {e}") from None
        bound = _scorer_of(place, ensemble, version, run)
        if bound not in run:
            run.append(bound)
        return cls.of(file, run, where=where, ensemble=(bound.key, ensemble)), run

    @classmethod
    def of(
        cls,
        file: PolicyFile,
        scorers: Sequence[BoundScorer],
        *,
        where: str = "policy",
        ensemble: tuple[str, Ensemble] | None = None,
    ) -> Policy:
        """Make the policy of ``file`` for a run with ``scorers``.

        Args:
            where: name of the file in messages.
            ensemble: the ensemble that the file names, with its key in the run.

        Raises:
            UsageError: see :meth:`read`.
        """
        keys = [s.key for s in scorers]
        strata = {
            n: _merged(file, t, f"{where}: strata.{visible(n)}") for n, t in file.strata.items()
        }
        on = None if file.on in (None, "risk") else _key(file.on, keys, f"{where}: on")
        rules = tuple(
            rule
            if rule.scorer is None
            else rule.model_copy(
                update={"scorer": _key(rule.scorer, keys, f"{where}: rules[{i}].scorer")}
            )
            for i, rule in enumerate(file.rules)
        )
        cut, by = Cut(file.accept, file.reject), file.by
        guarantees = None
        if ensemble is not None:
            on, tuned = ensemble
            cut, by, strata, guarantees = _guaranteed(file, tuned, f"{where}: ensemble")
        return cls(cut, on, by, strata or None, rules, file.unscored, guarantees, file.strictness)

    @property
    def reads_units(self) -> bool:
        """True if a rule reads units or raw values, which a
        :class:`~veridical.core.scores.ResultSummary` lacks."""
        return any(rule.unit is not None or rule.rule is not None for rule in self.rules)

    @cached_property
    def _causes(self) -> tuple[str, ...]:
        return tuple(_describe(i, rule) for i, rule in enumerate(self.rules))

    def stratum(self, record: Record) -> str | None:
        """Return the record's stratum; None if its field is missing or names no stratum."""
        from veridical.ensembles.graded import stratum_of

        if self.by is None:
            return None
        try:
            return stratum_of(record, self.by) or None
        except UsageError:
            return None

    def decide(self, result: Result | ResultSummary, stratum: str | None = None) -> Ruling:
        """Return the most severe decision of the thresholds and rules, with its causes. An unclear
        answer is at least reviewed, unless a guarantee determines which answers are accepted.

        Args:
            result: a whole result if :attr:`reads_units`.
            stratum: see :meth:`stratum`.
        """
        findings = [self._by_threshold(result, stratum)]
        findings += [
            (rule.then, cause)
            for rule, cause in zip(self.rules, self._causes, strict=True)
            if _holds(rule, result)
        ]
        if result.verdict == "unclear" and self.guarantees is None:
            findings.append(("review", "the verdict is unclear"))
        worst = max((d for d, _ in findings), key=DECISIONS.index)
        return Ruling(worst, tuple(cause for d, cause in findings if d == worst))

    def _by_threshold(
        self, result: Result | ResultSummary, stratum: str | None
    ) -> tuple[Decision, str]:
        risk = result.risk if self.on is None else result.scores[self.on].risk
        name = self.on or "risk"
        if risk is None:
            return self.unscored, f"{name} is null"
        cut, where = self.cut, ""
        if self.strata and stratum is not None and stratum in self.strata:
            cut, where = self.strata[stratum], f" ({self.by} = {visible(stratum)})"
        risk = round(risk, DIGITS)
        if cut.reject is not None and risk >= round(cut.reject, DIGITS):
            return "reject", f"{name} at least {cut.reject:g}{where}"
        if cut.accept is None:
            return "review", f"{cut.missing}{where}"
        if risk <= round(cut.accept, DIGITS):
            return "accept", f"{name} at most {cut.accept:g}{where}"
        return "review", f"{name} over {cut.accept:g}{where}"


def _merged(file: PolicyFile, thresholds: Thresholds, where: str) -> Cut:
    accept = file.accept if thresholds.accept is None else thresholds.accept
    reject = file.reject if thresholds.reject is None else thresholds.reject
    return _cut(accept, reject, where)


def _cut(accept: float | None, reject: float | None, where: str, **more: str) -> Cut:
    if accept is not None and reject is not None and accept > reject:
        raise UsageError(f"{where}: accept ({accept:g}) must not exceed reject ({reject:g})")
    return Cut(accept, reject, **more)


def _key(text: str | None, keys: Sequence[str], where: str) -> str:
    """Return the key of the single scorer named by ``text``, which must be among ``keys``."""
    from veridical.core.registry import REGISTRY

    try:
        bound = REGISTRY.parse(text or "")
    except UsageError as e:
        raise UsageError(f"{where}: {e}") from None
    if len(bound) != 1:
        raise UsageError(f"{where}: must name one scorer, not {shown(text or '')}")
    if bound[0].key not in keys:
        missing = unknown_name("scorer", bound[0].key, keys)
        raise UsageError(f"{where}: the run does not score it; add it to --scorers: {missing}")
    return bound[0].key


def _scorer_of(
    place: Path, ensemble: Ensemble, version: str, run: Sequence[BoundScorer]
) -> BoundScorer:
    """Return the scorer with the same file: that of the run, under any name, or else a new one."""
    from veridical.core.registry import REGISTRY

    name = "famd" if ensemble.method == "famd" else "ensemble"
    for bound in run:
        file = bound.values.get("file") if bound.scorer.name == name else None
        if isinstance(file, str) and file.endswith(f"@{version}"):
            return bound
    return REGISTRY.bind(name, {"file": str(place)})


def _guaranteed(
    file: PolicyFile, ensemble: Ensemble, where: str
) -> tuple[Cut, str | None, dict[str, Cut], PolicyGuarantees]:
    """Return thresholds, field of the strata, their thresholds and the guarantees of ``ensemble``.
    Without a guarantee, nothing is accepted."""
    from veridical.decide.guarantees import PolicyGuarantees

    if ensemble.level != "response":
        raise UsageError(f"{where}: its guarantee applies to {ensemble.level}s, not to responses")
    tuned_strata = ensemble.strata
    by = file.by if tuned_strata is None else tuned_strata.by
    if tuned_strata is not None and file.by not in (None, by):
        raise UsageError(
            f"{where}: its strata are by {by!r}, but those of the policy are by {file.by!r}"
        )
    if file.strata and by is None:
        raise UsageError(f"{where}: it has no strata, so the policy's strata require by")
    fits = {} if tuned_strata is None else tuned_strata.of
    if not any(f.guarantee for f in (ensemble.fit, *fits.values())):
        raise UsageError(f"{where}: it has no guarantee; tune with --alpha and --delta")
    strata = {}
    for name in dict.fromkeys([*fits, *file.strata]):
        thresholds = file.strata.get(name, Thresholds())
        reject = file.reject if thresholds.reject is None else thresholds.reject
        fit = fits.get(name) if fits else ensemble.fit
        strata[name] = _guaranteed_cut(fit, reject, f"{where}: strata.{visible(name)}")
    cut = _guaranteed_cut(ensemble.fit, file.reject, where)
    guarantees = PolicyGuarantees.from_ensemble(ensemble, rules=bool(file.rules))
    if fits:  # a guarantee on the whole mix does not apply to a stratum without a fit
        cut = Cut(None, file.reject, f"no guarantee for this {by}")
    if all(c.accept is None for c in (cut, *strata.values())):
        raise UsageError(f"{where}: it guarantees nothing: {guarantees.lines[0]}")
    return cut, by, strata, guarantees


def _guaranteed_cut(fit: Fit | None, reject: float | None, where: str) -> Cut:
    """Refuse a ``reject`` below the guarantee's threshold: the guarantee covers all answers up to
    that threshold, not a subset."""
    guarantee = None if fit is None else fit.guarantee
    if guarantee is None or guarantee.threshold is None:
        return Cut(None, reject, "no guarantee")
    return _cut(guarantee.threshold, reject, where)


def _holds(rule: Rule, result: Result | ResultSummary) -> bool:
    if rule.verdict is not None:
        return result.verdict == rule.verdict
    if rule.over is not None:
        risk = result.risk if rule.scorer is None else result.scores[rule.scorer].risk
        return _over(risk, rule.over)
    scores = result.scores
    looked_at = scores.values() if rule.scorer is None else [scores[rule.scorer]]
    if rule.rule is not None:
        raws = (_whole(s).raw for s in looked_at)
        return any(isinstance(raw, dict) and raw.get("rule") is rule.rule for raw in raws)
    if rule.status is not None:
        return any(s.status == rule.status for s in looked_at)
    return any(_unit_holds(rule, unit) for s in looked_at for unit in _whole(s).units)


def _whole(score: Score | ScoreSummary) -> Score:
    if not isinstance(score, Score):
        raise TypeError("a rule on units or raw values needs a whole result")
    return score


def _unit_holds(rule: Rule, unit: Unit) -> bool:
    condition = rule.unit
    return condition is not None and (
        (condition.label is None or unit.label == condition.label)
        and (condition.level is None or unit.level == condition.level)
        and (condition.over is None or _over(unit.risk, condition.over))
    )


def _over(risk: float | None, limit: float) -> bool:
    return risk is not None and round(risk, DIGITS) > round(limit, DIGITS)


def _describe(i: int, rule: Rule) -> str:
    """Describe the finding of a rule for humans."""
    whose = rule.scorer
    if rule.verdict is not None:
        text = f"the verdict is {rule.verdict}"
    elif rule.over is not None:
        text = f"{whose or 'risk'} over {rule.over:g}"
    elif rule.rule is not None:
        text = f"{whose}'s rule {'holds' if rule.rule else 'does not hold'}"
    elif rule.status is not None:
        text = f"{whose or 'a score'} {rule.status.replace('_', ' ')}"
    else:
        assert rule.unit is not None
        text = f"a {rule.unit.level or 'unit'} of {whose or 'a score'}"
        text += f" labelled {visible(rule.unit.label)}" if rule.unit.label else ""
        text += f" over {rule.unit.over:g}" if rule.unit.over is not None else ""
    return f"rules[{i}]: {text}"
