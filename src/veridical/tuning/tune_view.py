"""View of a tuned ensemble, shared by terminal, Markdown and page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from veridical.ensembles.graded import UNIT
from veridical.report.document import Opening
from veridical.report.formats import (
    check_command,
    interval,
    metric_name,
    number,
    p_cell,
    p_value,
    share,
    some,
)
from veridical.stats.objectives import BY_CLASS
from veridical.tuning.nested import ALARMS, NOT_HELPING

if TYPE_CHECKING:
    from pathlib import Path

    from veridical.ensembles.ensemble_file import Ensemble, Fit
    from veridical.ensembles.fitting import Recipe
    from veridical.tuning.nested import AtPrecision, Caught, ComponentRow, Nested, NestedFigure

_FEW = 200  # targets below which intervals are wide


class ShownTuned(Protocol):
    """The parts of a :class:`~.tuning.tuned.Tuned` that are shown."""

    @property
    def ensemble(self) -> Ensemble: ...
    @property
    def nested(self) -> Nested: ...
    @property
    def recipe(self) -> Recipe: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def file(self) -> Path | None: ...


@dataclass(frozen=True)
class TableSection:
    """A table with a heading, sentences before it and notes after it; all text is plain."""

    title: str
    facts: Sequence[str]
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def sections(tuned: ShownTuned) -> list[TableSection]:
    """Return all sections, in reading order."""
    parts = [_honest(tuned)]
    if tuned.nested.at_precision is not None:
        parts.append(_precision(tuned, tuned.nested.at_precision))
    if tuned.ensemble.strata is not None:
        parts.append(_strata(tuned))
    if tuned.nested.before is not None and tuned.nested.after is not None:
        parts.append(_calibration(tuned))
    if tuned.ensemble.fit.guarantee is not None:
        parts.append(_guarantees(tuned))
    return parts


def headline(tuned: ShownTuned) -> str:
    """Return the out-of-fold figure in a sentence."""
    nested = tuned.nested
    text = (
        f"{_metric(tuned, nested.metric)} on answers it was not fitted to: "
        f"{_shown(nested.ensemble)} ({nested.folds} folds, {nested.n:,} {_what(tuned)})"
    )
    best = nested.best
    if best is not None:
        text += (
            f"; the best component alone, {best.name}: {_shown(best.alone)}; better by "
            f"{_shown(best.gain)}, p {p_value(best.p)}"
        )
    return text


def verdict(tuned: ShownTuned) -> Opening:
    """Return the comparison of the ensemble with its best component, and the command for the better
    one."""
    nested, best = tuned.nested, tuned.nested.best
    if nested.at_precision is not None:
        return _at_precision(tuned, nested.at_precision)
    meaning = [f"{headline(tuned)[:1].upper()}{headline(tuned)[1:]}."]
    if nested.untuned is not None:
        meaning.append(_against_default(tuned, nested.untuned))
    if nested.not_helping:
        meaning.append(f"Of no use here, could be left out: {some(nested.not_helping)}.")
    gain, p = (None, None) if best is None else (best.gain.value, best.p)
    if best is not None and (gain is None or gain <= 0 or (p is not None and p > 0.05)):
        shown = "is no better" if gain is None or gain <= 0 else "is not shown to be better"
        sentence = (
            f"Use {best.name} alone: the tuned ensemble {shown}; at {ALARMS:.0%} false alarms "
            f"{best.name} finds {_found(best.caught, tuned)}, the ensemble {_count(nested.caught)}"
        )
        whole = tuned.ensemble.level == "response" and best.caught is not None
        over = best.caught.threshold if whole and best.caught is not None else None
        return Opening(sentence, meaning, check_command(best.name.removesuffix(UNIT), _gate(over)))
    sentence = (
        f"The tuned ensemble finds {_found(nested.caught, tuned)} at {ALARMS:.0%} false alarms, "
        "on answers it was not fitted to"
    )
    if best is not None:
        sentence += f"; the best single scorer, {best.name}, finds {_found(best.caught, tuned)}"
    return Opening(sentence, meaning, _use(tuned))


def _against_default(tuned: ShownTuned, default: ComponentRow) -> str:
    """Describe the benefit of the labels."""
    figure = f"the default, not tuned: {_shown(default.alone)}"
    gain = default.gain.value
    if gain is None or gain <= 0:
        return f"Tuning has not helped; {figure}."
    sure = default.p is not None and default.p <= 0.05
    helped = "Tuning has helped" if sure else "Tuning is not shown to have helped"
    return f"{helped}; {figure}; better by {_shown(default.gain)}, p {p_value(default.p)}."


def _at_precision(tuned: ShownTuned, found: AtPrecision) -> Opening:
    """Describe the results of a threshold for a precision, with the command that uses it."""
    what = f"{'right' if tuned.recipe.positive == 'correct' else 'wrong'} {_what(tuned)}"
    meaning = [f"{headline(tuned)[:1].upper()}{headline(tuned)[1:]}."]
    if tuned.nested.untuned is not None:
        meaning.append(_against_default(tuned, tuned.nested.untuned))
    if not found.called:
        return Opening(
            f"No threshold reaches a precision of {share(found.least)}: none of the {found.n:,} "
            f"{what} can be found with it",
            meaning,
        )
    sentence = (
        f"At a threshold for {share(found.least)} precision the tuned ensemble finds "
        f"{found.right:,} of {found.n:,} {what} (recall {_shown(found.recall)}) with a precision "
        f"of {_shown(found.precision)}, on answers it was not fitted to"
    )
    return Opening(sentence, meaning, _use(tuned))


def _use(tuned: ShownTuned) -> list[str]:
    """Return the command that uses the ensemble, with its overall threshold if there is one."""
    fit = tuned.ensemble.fit
    parts = check_command(f"ensemble(file='{tuned.file or 'ensemble.json'}')", None)
    one_gate = tuned.ensemble.level == "response" and tuned.ensemble.strata is None
    if one_gate and fit.threshold is not None:
        parts.append(f"--fail-over {_gate(fit.threshold):g}")
    return parts


def _precision(tuned: ShownTuned, found: AtPrecision) -> TableSection:
    of = "right answers" if tuned.recipe.positive == "correct" else "wrong answers"
    facts = [
        f"{of}: the threshold of the highest recall at which the precision is at least "
        f"{share(found.least)}; figures are on answers that it was not fitted to"
    ]
    heads = ["threshold", "precision", "95 % interval", "recall", "95 % interval", "called", "hits"]
    row = [number(tuned.ensemble.fit.threshold), *_pair(found.precision), *_pair(found.recall)]
    notes = []
    if found.precision.value is None or found.precision.value < found.least:
        notes.append(
            f"the precision is under {share(found.least)} on answers that the threshold was not "
            "fitted to: grade more answers, or use a guarantee (--alpha)"
        )
    cells = [*row, f"{found.called:,}", f"{found.right:,}"]
    return TableSection("precision and recall", facts, heads, [cells], notes)


def _found(found: Caught | None, tuned: ShownTuned) -> str:
    if found is None:
        return "none that could be counted"
    return f"{_count(found)} wrong {_what(tuned)}"


def _count(found: Caught | None) -> str:
    return "none" if found is None else f"{found.caught:,} of {found.wrong:,}"


def _gate(threshold: float | None) -> float | None:
    """Round a threshold for the command line."""
    return None if threshold is None else round(min(1.0, max(0.0, threshold)), 4)


def _honest(tuned: ShownTuned) -> TableSection:
    nested = tuned.nested
    weighted = any(r.weight is not None for r in nested.rows)
    needed = any(r.needed is not None for r in nested.rows)
    heads = ["component", f"{_metric(tuned, nested.metric)} alone", "95 % interval", "scored"]
    heads += ["ensemble better by", "95 % interval", "p (Holm)"]
    heads += ["weight", "95 % interval"] if weighted else []
    heads += ["worth (tuned without it)", "95 % interval"] if needed else []
    rows = [["ensemble", *_pair(nested.ensemble), f"{nested.n:,}", *[""] * (len(heads) - 4)]]
    if nested.without_strata is not None:
        label = "ensemble, one fit for all"
        rows.append([label, *_pair(nested.without_strata), "", *[""] * (len(heads) - 4)])
    larger = nested.metric not in ("brier", "log_loss")

    def key(row: ComponentRow) -> float:
        value = row.alone.value
        return float("inf") if value is None else -value if larger else value

    rows += [
        [r.name, *_pair(r.alone), f"{r.n:,}", *_pair(r.gain), p_cell(r.p), *[""] * (len(heads) - 7)]
        for r in (nested.untuned,)
        if r is not None
    ]
    for r in sorted(nested.rows, key=key):
        cells = [r.name, *_pair(r.alone), f"{r.n:,}", *_pair(r.gain), p_cell(r.p_holm)]
        cells += _pair(r.weight) if weighted else []
        cells += _pair(r.needed) if needed else []
        rows.append(cells)
    on = tuned.ensemble.fitted_on
    facts = [
        f"{on.n:,} graded {_what(tuned)} of {on.groups:,} independent units, {on.positive:,} "
        f"hallucinated ({share(on.positive / on.n)}); {_recipe(tuned)}",
    ]
    notes = [note for note in tuned.notes if not note.startswith(NOT_HELPING)]
    if on.n < _FEW:
        notes.append(f"{on.n} graded {_what(tuned)} are few: intervals are wide, grade more")
    return TableSection("tuned ensemble", facts, heads, rows, notes)


def _strata(tuned: ShownTuned) -> TableSection:
    strata = tuned.ensemble.strata
    assert strata is not None
    nested = tuned.nested
    parts = {"all": tuned.ensemble.fit, **strata.of}
    figures = {name: (of.own_fit, of.one_fit) for name, of in nested.of_strata.items()}
    whole = {"all": (nested.ensemble, nested.without_strata)}
    names = tuned.ensemble.names if tuned.ensemble.fit.weights is not None else ()
    rows = []
    for name, fit in parts.items():
        own_fit, one_fit = {**figures, **whole}.get(name, (None, None))
        cells = [name, f"{fit.n:,}", f"{fit.positive:,}", *_pair(own_fit), *_pair(one_fit)]
        cells.append(number(fit.threshold))
        rows.append(cells + [number((fit.weights or {}).get(n)) for n in names])
    heads = [strata.by, "fitted on", "hallucinated", _metric(tuned, nested.metric), "95 % interval"]
    heads += ["one fit for all", "95 % interval", "threshold", *names]
    facts = []
    if nested.metric in ("auroc", "average_precision") and tuned.recipe.calibrate is None:
        facts.append(
            f"without --calibrate the risks of each {strata.by} are on a scale of their own: the "
            f"figure of all ranks answers across these scales; use that of each {strata.by}"
        )
    return TableSection(f"fits by {strata.by}", facts, heads, rows)


def _calibration(tuned: ShownTuned) -> TableSection:
    before, after = tuned.nested.before or {}, tuned.nested.after or {}
    rows = [
        [label, *(number(_number(part[name])) for name in ("ece", "mce", "brier", "log_loss"))]
        for label, part in (("before", before), ("after", after))
    ]
    facts = [f"{tuned.recipe.calibrate}; both on answers that it was not fitted to"]
    heads = ["calibration", "ECE", "MCE", "Brier", "log loss"]
    return TableSection("calibration", facts, heads, rows)


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _guarantees(tuned: ShownTuned) -> TableSection:
    strata = tuned.ensemble.strata
    parts = {"all": tuned.ensemble.fit, **({} if strata is None else strata.of)}
    guarantee = tuned.ensemble.fit.guarantee
    assert guarantee is not None
    sure = share(1 - (guarantee.delta or 0))
    facts = [
        f"accepted where risk <= threshold: at most {share(guarantee.alpha)} of these are "
        f"hallucinated, with probability {sure}; on answers that nothing was fitted to"
    ]
    if strata is not None and strata.simultaneous is not None:
        each = next((f.guarantee.delta for f in strata.of.values() if f.guarantee), None)
        facts.append(
            f"the guarantees of every {strata.by} hold together with probability {sure}, each "
            f"being made at {share(1 - (each or 0))}; that of all answers holds separately"
        )
    elif strata is not None and len(strata.of) > 1:
        facts.append(
            f"each guarantee holds separately with probability {sure}; that those of every "
            f"{strata.by} hold together is less probable (--simultaneous makes it {sure})"
        )
    heads = ["stratum", "threshold", "answers", "accepted", "hallucinated of these", "at most"]
    rows = [_guarantee_row(name, fit) for name, fit in parts.items() if fit.guarantee is not None]
    notes = [
        f"{name}: no guarantee: {fit.guarantee.reason}"
        for name, fit in parts.items()
        if fit.guarantee is not None and fit.guarantee.threshold is None
    ]
    return TableSection("guarantee", facts, heads, rows, notes)


def _guarantee_row(name: str, fit: Fit) -> list[str]:
    guarantee = fit.guarantee
    assert guarantee is not None
    return [
        name,
        "none" if guarantee.threshold is None else f"{guarantee.threshold:.4f}",
        f"{guarantee.n:,}",
        share(guarantee.accepted),
        share(guarantee.observed),
        share(guarantee.bound),
    ]


def _recipe(tuned: ShownTuned) -> str:
    recipe = tuned.recipe
    text = f"method {recipe.method}, objective {_metric(tuned, recipe.objective)}"
    if recipe.objective == "f_beta":
        text += f" (beta {recipe.beta:g})"
    if recipe.joint:
        text += ", weights and threshold together"
    threshold = tuned.ensemble.fit.threshold
    if threshold is not None:
        by = _metric(tuned, recipe.threshold_objective)
        if recipe.min_precision is not None:
            by = f"precision of at least {share(recipe.min_precision)}"
        text += f", threshold {threshold:.4f} (by {by})"
    return text


def _metric(tuned: ShownTuned, name: str) -> str:
    """Return the name of a metric, with its class unless that is the usual one."""
    of = " of right answers" if tuned.recipe.positive == "correct" and name in BY_CLASS else ""
    return metric_name(name) + of


def _what(tuned: ShownTuned) -> str:
    return "answers" if tuned.ensemble.level == "response" else "sentences"


def _shown(figure: NestedFigure) -> str:
    return f"{number(figure.value)} {interval(figure.low, figure.high)}".rstrip()


def _pair(figure: NestedFigure | None) -> list[str]:
    if figure is None:
        return ["-", ""]
    return [number(figure.value), interval(figure.low, figure.high)]
