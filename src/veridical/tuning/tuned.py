"""Tuned ensembles: fit, evaluation, guarantees and file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.ensembles.ensemble_file import (
    Component,
    Ensemble,
    Fit,
    FittedOn,
    Honest,
    Reference,
    StoredFigure,
    StoredGuarantee,
    StoredObjective,
    Strata,
)
from veridical.ensembles.fitting import Fits, Recipe, fit, folds
from veridical.ensembles.graded import UNIT, Graded
from veridical.errors import UsageError
from veridical.files.trained_files import write_trained
from veridical.tuning.draws import Drawn, parted, unweighed_counts, weighed
from veridical.tuning.nested import (
    ALARMS,
    NOT_HELPING,
    AtPrecision,
    Caught,
    Nested,
    Tell,
    check_enough,
    nested,
)
from veridical.tuning.nested import NestedFigure as Found
from veridical.version import __version__

if TYPE_CHECKING:
    import pandas

    from veridical.ensembles.cascade_file import Cascade
    from veridical.report.results import Results
    from veridical.stats.conformal import Guarantee
    from veridical.tuning.options import TuneOptions


#: Minimum share of the targets that a component must have scored.
LEAST_SCORED = 0.5
#: Maximum scorers listed by name among those that scored no answer.
_NAMED_SCORERS = 5


@dataclass(frozen=True)
class Origin:
    """Origin of graded answers, for the file.

    Attributes:
        labels: source of the labels.
        models, prompts: models and prompts of the components.
    """

    file: str = ""
    fingerprint: str = ""
    labels: str = "label"
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Tuned:
    """A tuned ensemble with all figures of its tuning.

    Attributes:
        ensemble: content of the file.
        nested: unbiased figures.
        notes: remarks: components and records left out, strata without a fit.
        missing: reason why records are not graded -> their number.
        results: results of the scoring; None if risks were given.
        cascade: cascade of the same scorers, if requested.
        file: file of the ensemble.
    """

    ensemble: Ensemble
    nested: Nested
    recipe: Recipe
    notes: list[str]
    missing: Mapping[str, int] = field(default_factory=dict)
    results: Results | None = None
    cascade: Cascade | None = None
    file: Path | None = None

    def __str__(self) -> str:
        from veridical.tuning.tune_view import verdict

        answer = verdict(self)
        return "\n".join([f"{answer.sentence}.", *answer.meaning])

    def __repr__(self) -> str:
        honest = self.nested
        value = honest.ensemble.value
        return (
            f"<Tuned {self.recipe.method} ensemble of {len(self.ensemble.components)} scorers: "
            f"{honest.metric} {'undefined' if value is None else f'{value:.3f}'} on {honest.n:,} "
            f"answers, {honest.folds} folds>"
        )

    def _repr_markdown_(self) -> str:
        from veridical.tuning.tune_text import tuned_markdown

        return tuned_markdown(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the figures of the ensemble, the default and each component, one row each.

        Raises:
            UsageError: pandas is not installed.
        """
        from veridical.report.frames import frame_of

        return frame_of(self.figures())

    def figures(self) -> list[dict[str, Any]]:
        """Return the rows of :meth:`to_pandas`."""
        honest = self.nested
        untuned = [] if honest.untuned is None else [honest.untuned]
        return [
            _row("ensemble", honest.n, honest.metric, honest.ensemble),
            *(
                _row(row.name, row.n, honest.metric, row.alone)
                | {
                    "ensemble_better_by": row.gain.value,
                    "p": row.p,
                    "weight": None if row.weight is None else row.weight.value,
                }
                for row in (*untuned, *honest.rows)
            ),
        ]

    def save(self, path: str | Path) -> Path:
        """Write the ensemble's JSON file atomically."""
        write_trained(path, self.ensemble)
        return Path(path)

    def as_dict(self) -> dict[str, Any]:
        """Return the ensemble and its figures in JSON form."""
        nested = self.nested
        return {
            "veridical": __version__,
            "ensemble": self.ensemble.model_dump(mode="json"),
            "cascade": None if self.cascade is None else self.cascade.model_dump(mode="json"),
            "honest": {
                "metric": nested.metric,
                "positive": self.recipe.positive,
                "folds": nested.folds,
                "n": nested.n,
                "n_total": nested.total,
                "ensemble": _plain(nested.ensemble),
                "without_strata": None
                if nested.without_strata is None
                else _plain(nested.without_strata),
                "strata": {
                    name: {"n": of.n, "own": _plain(of.own_fit), "one_fit": _plain(of.one_fit)}
                    for name, of in nested.of_strata.items()
                },
                "best": None if nested.best is None else nested.best.name,
                "false_alarms": ALARMS,
                "caught": _caught(nested.caught),
                "untuned": None
                if nested.untuned is None
                else {
                    "n": nested.untuned.n,
                    "alone": _plain(nested.untuned.alone),
                    "gain": _plain(nested.untuned.gain),
                    "p": nested.untuned.p,
                    "caught": _caught(nested.untuned.caught),
                },
                "at_precision": _at_precision(nested.at_precision),
                "components": [
                    {
                        "name": r.name,
                        "n": r.n,
                        "alone": _plain(r.alone),
                        "gain": _plain(r.gain),
                        "p": r.p,
                        "p_holm": r.p_holm,
                        "weight": None if r.weight is None else _plain(r.weight),
                        "needed": None if r.needed is None else _plain(r.needed),
                        "caught": _caught(r.caught),
                    }
                    for r in nested.rows
                ],
            },
            "calibration": {"before": nested.before, "after": nested.after},
            "missing": dict(self.missing),
            "notes": self.notes,
        }


def tune_graded(
    graded: Graded,
    options: TuneOptions,
    *,
    origin: Origin | None = None,
    spread: Graded | None = None,
    draws: Mapping[int, Drawn] | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Tune an ensemble on given risks.

    Args:
        spread: targets with the usual risks for the drift check; default: ``graded``.
        draws: row -> draw of its answer, where known. A guarantee rests on random draws only, and
            a fit weights answers by the probability of their draw.

    Raises:
        UsageError: there are too few targets, or no component scored enough of them.
    """
    recipe, alpha, delta = options.recipe, options.alpha, options.delta
    origin = origin or Origin()
    whole, notes = usable(graded)
    fitting = reserved = whole
    if alpha is not None:
        half = folds(whole, 2, recipe.seed) == 1
        to_fit, to_reserved = parted(whole, draws or {}, half)
        fitting, reserved = whole.take(to_fit), whole.take(to_reserved)
        notes.append(
            f"{len(reserved)} of {len(whole)} graded {_what(whole)} are reserved for the "
            "guarantee: nothing is fitted to them"
        )
    check_enough(fitting, options.cv)
    copies = weighed(fitting, draws or {})
    fits = fit(fitting if copies is None else copies, recipe)
    honest = nested(
        fitting if copies is None else copies,
        recipe,
        cv=options.cv,
        bootstrap=options.bootstrap,
        final=fits,
        tell=tell,
    )
    if copies is not None:
        honest = unweighed_counts(honest, fitting)
        notes.append("answers count by the inverse of the probability with which they were drawn")
    used = _used(fits, whole)
    names = tuple(whole.scorers[i] for i in used)
    guarantees = {} if alpha is None else _guarantees(fits, reserved, alpha, options)
    ensemble = Ensemble(
        version=__version__,
        level=whole.level,
        method=recipe.method,
        components=tuple(
            Component(
                scorer=name.removesuffix(UNIT),
                part="unit" if name.endswith(UNIT) else "response",
                signature=whole.signatures[i],
            )
            for i, name in zip(used, names, strict=True)
        ),
        fit=_part(fits, None, used, names, guarantees, fitting),
        strata=None
        if options.by is None
        else Strata(
            by=options.by,
            of={
                name: _part(fits, name, used, names, guarantees, fitting)
                for name in sorted({*fits.of, *(n for n in guarantees if n is not None)})
            },
            simultaneous=delta if options.simultaneous else None,
        ),
        objective=StoredObjective(
            name=recipe.objective, joint=recipe.joint, beta=recipe.beta, positive=recipe.positive
        ),
        fitted_on=FittedOn(
            file=origin.file,
            fingerprint=origin.fingerprint,
            n=len(fitting),
            positive=fitting.positives,
            groups=len(np.unique(fitting.groups)),
            labels=origin.labels,
        ),
        honest=_honest(honest, recipe),
        reference=_reference(
            fits, whole if spread is None else spread.select(whole.scorers), used, names
        ),
        models=origin.models,
        prompts=origin.prompts,
    )
    return Tuned(ensemble, honest, recipe, [*notes, *_notes(fits, whole, honest)])


def usable(graded: Graded) -> tuple[Graded, list[str]]:
    """Return the targets without uninformative components, and remarks on these."""
    share = 1 - np.isnan(graded.risks).mean(axis=0) if len(graded) else np.zeros(0)
    names, unfit, silent, flat = [], [], [], []
    for i, name in enumerate(graded.scorers):
        column = graded.risks[:, i]
        if len(graded) and not share[i]:
            unfit.append(name)
        elif len(graded) and share[i] < LEAST_SCORED:
            silent.append(f"{name} {100 * share[i]:.0f} %")
        elif len(graded) and np.nanmax(column) == np.nanmin(column):
            flat.append(name)
        else:
            names.append(name)
    reasons = []
    if unfit:
        more = len(unfit) - _NAMED_SCORERS
        listed = ", ".join(unfit[:_NAMED_SCORERS]) + (f" and {more} more" if more > 0 else "")
        reasons.append(f"scored no {_what(graded)}: {listed}")
    if silent:
        listed = ", ".join(silent)
        reasons.append(f"scored under {LEAST_SCORED:.0%} of the {_what(graded)}: {listed}")
    if flat:
        reasons.append(f"the same risk for all: {', '.join(flat)}")
    notes = [f"left out: {'; '.join(reasons)}"] if reasons else []
    if not names:
        raise UsageError(f"there is no component to tune ({'; '.join(reasons) or 'none is named'})")
    return graded.select(names), notes


def _used(fits: Fits, graded: Graded) -> list[int]:
    """Return the positions of the components with non-zero weight, which the file needs."""
    each = [fits.overall, *fits.of.values()]
    k = len(graded.scorers)
    if any(f.weights is None for f in each):
        return list(range(k))
    total = sum((f.weights for f in each if f.weights is not None), np.zeros(k))
    return [i for i in range(k) if total[i] > 0]


def _part(
    fits: Fits,
    stratum: str | None,
    used: list[int],
    names: tuple[str, ...],
    guarantees: Mapping[str | None, StoredGuarantee],
    graded: Graded,
) -> Fit:
    """Return the fit of a stratum (None: of all) for the file, with its guarantee."""
    fitted = fits.of.get(stratum or "", fits.overall)
    if fitted.weights is not None:
        fitted = replace(fitted, weights=fitted.weights[used])
    return fitted.as_fit(names, guarantees.get(stratum))


def _guarantees(
    fits: Fits, graded: Graded, alpha: float, options: TuneOptions
) -> dict[str | None, StoredGuarantee]:
    """Return the guarantees on all targets (None), and on each stratum."""
    from veridical.stats.conformal import by_stratum, guarantee

    risk, labels, groups = fits.risk(graded), graded.labels, graded.groups
    guarantees: dict[str | None, Guarantee] = {
        None: guarantee(risk, labels, alpha, options.delta, groups=groups)
    }
    if graded.strata is not None:
        in_stratum = np.array([bool(name) for name in graded.strata])
        strata = [name for name in graded.strata if name]
        for name, made in by_stratum(
            *(risk[in_stratum], labels[in_stratum], strata, alpha, options.delta),
            groups=groups[in_stratum],
            simultaneous=options.simultaneous,
        ).items():
            guarantees[name] = made
    return {name: StoredGuarantee(**made.as_dict()) for name, made in guarantees.items()}


def _honest(honest: Nested, recipe: Recipe) -> Honest | None:
    if honest.ensemble.value is None:
        return None
    best = honest.best
    weights = {r.name: figure for r in honest.rows if (figure := _figure(r.weight)) is not None}
    return Honest(
        metric=honest.metric,
        folds=honest.folds,
        seed=recipe.seed,
        ensemble=StoredFigure(**asdict(honest.ensemble)),
        components={r.name: f for r in honest.rows if (f := _figure(r.alone)) is not None},
        weights=weights or None,
        not_helping=honest.not_helping,
        p_best=None if best is None else best.p,
    )


def _figure(measured: Found | None) -> StoredFigure | None:
    return None if measured is None or measured.value is None else StoredFigure(**asdict(measured))


def _row(name: str, n: int, metric: str, figure: Found) -> dict[str, Any]:
    return {
        "name": name,
        "n": n,
        "metric": metric,
        "value": figure.value,
        "ci_low": figure.low,
        "ci_high": figure.high,
    }


def _plain(measured: Found) -> dict[str, float | None]:
    return {"value": measured.value, "ci_low": measured.low, "ci_high": measured.high}


def _caught(found: Caught | None) -> dict[str, int] | None:
    return None if found is None else {"caught": found.caught, "wrong": found.wrong}


def _at_precision(found: AtPrecision | None) -> dict[str, Any] | None:
    if found is None:
        return None
    figures = {"precision": _plain(found.precision), "recall": _plain(found.recall)}
    return {**found._asdict(), **figures}


def _reference(fits: Fits, graded: Graded, used: list[int], names: tuple[str, ...]) -> Reference:
    """Return the distribution of risks, for the drift check."""
    from veridical.decide.drift import reference

    columns = {name: graded.risks[:, i] for i, name in zip(used, names, strict=True)}
    return reference({**columns, "ensemble": fits.risk(graded)}, graded.groups)


def _what(graded: Graded) -> str:
    return "answers" if graded.level == "response" else "sentences"


def _notes(fits: Fits, graded: Graded, honest: Nested) -> list[str]:
    notes = []
    if honest.n < honest.total:
        notes.append(f"{honest.total - honest.n} of {honest.total} have no risk of any component")
    if graded.strata is not None:
        others = sorted(set(graded.strata) - set(fits.of) - {""})
        if others:
            listed = ", ".join(others[:5]) + (" ..." if len(others) > 5 else "")
            notes.append(f"too few graded for a fit of their own, so the overall one: {listed}")
    if honest.not_helping:
        notes.append(
            f"{NOT_HELPING} could be left out, and the figure would be no worse: "
            + ", ".join(honest.not_helping)
        )
    return notes
