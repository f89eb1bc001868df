"""From graded risks to a tuned ensemble: fitted, judged, promised, and put into its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veridical.decide.ensemble_file import (
    Component,
    Ensemble,
    Figure,
    Fit,
    FittedOn,
    Honest,
    Objective,
    Promise,
    Reference,
    Strata,
    save,
)
from veridical.decide.fitting import Fits, Recipe, fit, folds
from veridical.decide.graded import UNIT, Graded
from veridical.decide.nested import Figure as Found
from veridical.decide.nested import Nested, Tell, check_enough, nested
from veridical.errors import UsageError
from veridical.version import __version__

if TYPE_CHECKING:
    from veridical.decide.cascade_file import Cascade
    from veridical.decide.conformal import Guarantee
    from veridical.results import Results

Floats = NDArray[np.float64]

#: Share of the targets that a component must have scored.
LEAST_SCORED = 0.5


@dataclass(frozen=True)
class Origin:
    """Where graded answers came from, for the file.

    Attributes:
        labels: what graded them.
        models, prompts: of the components.
    """

    file: str = ""
    fingerprint: str = ""
    labels: str = "label"
    models: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Tuned:
    """A tuned ensemble with all that was found on the way.

    Attributes:
        ensemble: what the file holds.
        nested: honest figures.
        notes: what one should know: components and records left out, strata without a fit.
        missing: why records are not among the graded ones -> how many.
        results: of the scoring; None where risks were given.
        cascade: of the same scorers, where one was asked for.
    """

    ensemble: Ensemble
    nested: Nested
    recipe: Recipe
    notes: list[str]
    missing: Mapping[str, int] = field(default_factory=dict)
    results: Results | None = None
    cascade: Cascade | None = None

    def save(self, path: str | Path) -> Path:
        """Write the ensemble's file: JSON, whole or not at all."""
        save(path, self.ensemble)
        return Path(path)

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON takes it."""
        found = self.nested
        return {
            "veridical": __version__,
            "ensemble": self.ensemble.model_dump(mode="json"),
            "cascade": None if self.cascade is None else self.cascade.model_dump(mode="json"),
            "honest": {
                "metric": found.metric,
                "folds": found.folds,
                "n": found.n,
                "n_total": found.total,
                "ensemble": _plain(found.ensemble),
                "without_strata": None
                if found.without_strata is None
                else _plain(found.without_strata),
                "strata": {
                    name: {"n": of.n, "own": _plain(of.own), "one_fit": _plain(of.one_fit)}
                    for name, of in found.of_strata.items()
                },
                "best": None if found.best is None else found.best.name,
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
                    }
                    for r in found.rows
                ],
            },
            "calibration": {"before": found.before, "after": found.after},
            "missing": dict(self.missing),
            "notes": self.notes,
        }


def tune_graded(
    graded: Graded,
    recipe: Recipe,
    *,
    cv: int = 5,
    bootstrap: int = 1000,
    alpha: float | None = None,
    delta: float = 0.1,
    by: str | None = None,
    simultaneous: bool = False,
    origin: Origin | None = None,
    spread: Graded | None = None,
    tell: Tell | None = None,
) -> Tuned:
    """Tune an ensemble on risks that are there already; arguments are those of :func:`tune`.

    Args:
        spread: whose risks the drift check takes as usual; None: those of ``graded``.

    Raises:
        UsageError: the targets are too few, or no component scored enough of them.
    """
    recipe.check()
    origin = origin or Origin()
    whole, notes = usable(graded)
    fitting = promising = whole
    if alpha is not None:
        half = folds(whole, 2, recipe.seed) == 1
        fitting, promising = whole.take(~half), whole.take(half)
        notes.append(
            f"{len(promising)} of {len(whole)} graded {_what(whole)} are kept for the guarantee: "
            "nothing is fitted to them"
        )
    check_enough(fitting, cv)
    fits = fit(fitting, recipe)
    found = nested(fitting, recipe, cv=cv, bootstrap=bootstrap, final=fits, tell=tell)
    kept = _kept(fits, whole)
    names = tuple(whole.scorers[i] for i in kept)
    promises = {} if alpha is None else _promises(fits, promising, alpha, delta, simultaneous)
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
            for i, name in zip(kept, names, strict=True)
        ),
        fit=_part(fits, None, kept, names, promises, fitting),
        strata=None
        if by is None
        else Strata(
            by=by,
            of={
                name: _part(fits, name, kept, names, promises, fitting)
                for name in sorted({*fits.of, *(n for n in promises if n is not None)})
            },
            simultaneous=delta if simultaneous else None,
        ),
        objective=Objective(name=recipe.objective, joint=recipe.joint, beta=recipe.beta),
        fitted_on=FittedOn(
            file=origin.file,
            fingerprint=origin.fingerprint,
            n=len(fitting),
            positive=fitting.positives,
            groups=len(np.unique(fitting.groups)),
            labels=origin.labels,
        ),
        honest=_honest(found, recipe),
        reference=_reference(
            fits, whole if spread is None else spread.select(whole.scorers), kept, names
        ),
        models=origin.models,
        prompts=origin.prompts,
    )
    return Tuned(ensemble, found, recipe, [*notes, *_notes(fits, whole, found)])


def usable(graded: Graded) -> tuple[Graded, list[str]]:
    """Without components that say too little, and what to know of them."""
    share = 1 - np.isnan(graded.risks).mean(axis=0) if len(graded) else np.zeros(0)
    notes, kept = [], []
    for i, name in enumerate(graded.scorers):
        column = graded.risks[:, i]
        if len(graded) and share[i] < LEAST_SCORED:
            notes.append(
                f"{name} is left out: it scored {100 * share[i]:.0f} % of the {_what(graded)}"
            )
        elif len(graded) and np.nanmax(column) == np.nanmin(column):
            notes.append(f"{name} is left out: it gives all the same risk")
        else:
            kept.append(name)
    if not kept:
        told = f" ({'; '.join(notes[:3])})" if notes else ""
        raise UsageError(f"there is no component to tune{told}")
    return graded.select(kept), notes


def _kept(fits: Fits, graded: Graded) -> list[int]:
    """Positions of the components that the file needs: those of any weight."""
    found = [fits.overall, *fits.of.values()]
    k = len(graded.scorers)
    if any(f.weights is None for f in found):
        return list(range(k))
    total = sum((f.weights for f in found if f.weights is not None), np.zeros(k))
    return [i for i in range(k) if total[i] > 0]


def _part(
    fits: Fits,
    stratum: str | None,
    kept: list[int],
    names: tuple[str, ...],
    promises: Mapping[str | None, Promise],
    graded: Graded,
) -> Fit:
    """The fit of a stratum (None: of all) as the file keeps it, with its promise."""
    fitted = fits.overall if stratum is None else fits.of_stratum(stratum)
    if fitted.weights is not None:
        fitted = replace(fitted, weights=fitted.weights[kept])
    return fitted.as_fit(names, promises.get(stratum))


def _promises(
    fits: Fits, graded: Graded, alpha: float, delta: float, simultaneous: bool
) -> dict[str | None, Promise]:
    """What can be promised of all targets (None), and of each stratum."""
    from veridical.decide.conformal import by_stratum, guarantee

    risk, labels, groups = fits.risk(graded), graded.labels, graded.groups
    found: dict[str | None, Guarantee] = {
        None: guarantee(risk, labels, alpha, delta, groups=groups)
    }
    if graded.strata is not None:
        own = np.array([bool(name) for name in graded.strata])
        strata = [name for name in graded.strata if name]
        for name, made in by_stratum(
            *(risk[own], labels[own], strata, alpha, delta),
            groups=groups[own],
            simultaneous=simultaneous,
        ).items():
            found[name] = made
    return {name: Promise(**made.as_dict()) for name, made in found.items()}


def _honest(found: Nested, recipe: Recipe) -> Honest | None:
    if found.ensemble.value is None:
        return None
    best = found.best
    weights = {r.name: figure for r in found.rows if (figure := _figure(r.weight)) is not None}
    return Honest(
        metric=found.metric,
        folds=found.folds,
        seed=recipe.seed,
        ensemble=Figure(**asdict(found.ensemble)),
        components={r.name: f for r in found.rows if (f := _figure(r.alone)) is not None},
        weights=weights or None,
        not_helping=found.not_helping,
        p_best=None if best is None else best.p,
    )


def _figure(found: Found | None) -> Figure | None:
    return None if found is None or found.value is None else Figure(**asdict(found))


def _plain(found: Found) -> dict[str, float | None]:
    return {"value": found.value, "ci_low": found.low, "ci_high": found.high}


def _reference(fits: Fits, graded: Graded, kept: list[int], names: tuple[str, ...]) -> Reference:
    """How risks are spread, for the drift check."""
    from veridical.decide.drift import reference

    columns = {name: graded.risks[:, i] for i, name in zip(kept, names, strict=True)}
    return reference({**columns, "ensemble": fits.risk(graded)}, graded.groups)


def _what(graded: Graded) -> str:
    return "answers" if graded.level == "response" else "sentences"


def _notes(fits: Fits, graded: Graded, found: Nested) -> list[str]:
    notes = []
    if found.n < found.total:
        notes.append(f"{found.total - found.n} of {found.total} have no risk of any component")
    if graded.strata is not None:
        others = sorted(set(graded.strata) - set(fits.of) - {""})
        if others:
            named = ", ".join(others[:5]) + (" ..." if len(others) > 5 else "")
            notes.append(f"too few graded for a fit of their own, so the overall one: {named}")
    if found.not_helping:
        notes.append(
            "each of these alone could be left out, and the figure would be no worse: "
            + ", ".join(found.not_helping)
        )
    return notes
