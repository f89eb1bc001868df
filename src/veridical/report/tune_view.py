"""A tuned ensemble arranged for reading: what terminal, Markdown and page share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from veridical.report.bench_view import interval, metric_name, number, p_cell, p_value, share

if TYPE_CHECKING:
    from veridical.decide.ensemble_file import Fit
    from veridical.decide.nested import Figure, Row
    from veridical.decide.tuned import Tuned

_FEW = 200  # targets under which intervals are wide


@dataclass(frozen=True)
class Section:
    """A table with a heading, sentences before it and notes after it; all text is plain."""

    title: str
    facts: Sequence[str]
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    notes: Sequence[str] = ()


def sections(tuned: Tuned) -> list[Section]:
    """In the order in which they are read."""
    found = [_honest(tuned)]
    if tuned.ensemble.strata is not None:
        found.append(_strata(tuned))
    if tuned.nested.before is not None and tuned.nested.after is not None:
        found.append(_calibration(tuned))
    if tuned.ensemble.fit.guarantee is not None:
        found.append(_guarantees(tuned))
    return found


def headline(tuned: Tuned) -> str:
    """The honest figure in a sentence."""
    found = tuned.nested
    text = (
        f"{metric_name(found.metric)} on answers it was not fitted to: "
        f"{_shown(found.ensemble)} ({found.folds} folds, {found.n:,} {_what(tuned)})"
    )
    best = found.best
    if best is not None:
        text += (
            f"; the best component alone, {best.name}: {_shown(best.alone)}; better by "
            f"{_shown(best.gain)}, p {p_value(best.p)}"
        )
    return text


def _honest(tuned: Tuned) -> Section:
    found = tuned.nested
    weighted = any(r.weight is not None for r in found.rows)
    needed = any(r.needed is not None for r in found.rows)
    heads = ["component", f"{metric_name(found.metric)} alone", "95 % interval", "scored"]
    heads += ["ensemble better by", "95 % interval", "p (Holm)"]
    heads += ["weight", "95 % interval"] if weighted else []
    heads += ["worth (tuned without it)", "95 % interval"] if needed else []
    rows = [["ensemble", *_pair(found.ensemble), f"{found.n:,}", *[""] * (len(heads) - 4)]]
    if found.without_strata is not None:
        label = "ensemble, one fit for all"
        rows.append([label, *_pair(found.without_strata), "", *[""] * (len(heads) - 4)])
    larger = found.metric not in ("brier", "log_loss")

    def key(row: Row) -> float:
        value = row.alone.value
        return float("inf") if value is None else -value if larger else value

    for r in sorted(found.rows, key=key):
        cells = [r.name, *_pair(r.alone), f"{r.n:,}", *_pair(r.gain), p_cell(r.p_holm)]
        cells += _pair(r.weight) if weighted else []
        cells += _pair(r.needed) if needed else []
        rows.append(cells)
    on = tuned.ensemble.fitted_on
    facts = [
        headline(tuned),
        f"{on.n:,} graded {_what(tuned)} of {on.groups:,} independent units, {on.positive:,} "
        f"hallucinated ({share(on.positive / on.n)}); {_recipe(tuned)}",
    ]
    notes = list(tuned.notes)
    if on.n < _FEW:
        notes.append(f"{on.n} graded {_what(tuned)} are few: intervals are wide, grade more")
    return Section("tuned ensemble", facts, heads, rows, notes)


def _strata(tuned: Tuned) -> Section:
    strata = tuned.ensemble.strata
    assert strata is not None
    found = tuned.nested
    parts = {"all": tuned.ensemble.fit, **strata.of}
    figures = {name: (of.own, of.one_fit) for name, of in found.of_strata.items()}
    whole = {"all": (found.ensemble, found.without_strata)}
    names = tuned.ensemble.names if tuned.ensemble.fit.weights is not None else ()
    rows = []
    for name, fit in parts.items():
        own, one_fit = {**figures, **whole}.get(name, (None, None))
        cells = [name, f"{fit.n:,}", f"{fit.positive:,}", *_pair(own), *_pair(one_fit)]
        cells.append(number(fit.threshold))
        rows.append(cells + [number((fit.weights or {}).get(n)) for n in names])
    heads = [strata.by, "fitted on", "hallucinated", metric_name(found.metric), "95 % interval"]
    heads += ["one fit for all", "95 % interval", "threshold", *names]
    facts = []
    if found.metric in ("auroc", "average_precision") and tuned.recipe.calibrate is None:
        facts.append(
            f"without --calibrate the risks of each {strata.by} are on a scale of their own: the "
            f"figure of all ranks answers across these scales; go by that of each {strata.by}"
        )
    return Section(f"fits by {strata.by}", facts, heads, rows)


def _calibration(tuned: Tuned) -> Section:
    before, after = tuned.nested.before or {}, tuned.nested.after or {}
    rows = [
        [label, *(number(_number(part[name])) for name in ("ece", "mce", "brier", "log_loss"))]
        for label, part in (("before", before), ("after", after))
    ]
    facts = [f"{tuned.recipe.calibrate}; both on answers that it was not fitted to"]
    heads = ["calibration", "ECE", "MCE", "Brier", "log loss"]
    return Section("calibration", facts, heads, rows)


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _guarantees(tuned: Tuned) -> Section:
    strata = tuned.ensemble.strata
    parts = {"all": tuned.ensemble.fit, **({} if strata is None else strata.of)}
    promise = tuned.ensemble.fit.guarantee
    assert promise is not None
    sure = share(1 - (promise.delta or 0))
    facts = [
        f"accepted where risk <= threshold: at most {share(promise.alpha)} of these are "
        f"hallucinated, with probability {sure}; on answers that nothing was fitted to"
    ]
    if strata is not None and strata.simultaneous is not None:
        each = next((f.guarantee.delta for f in strata.of.values() if f.guarantee), None)
        facts.append(
            f"the promises of every {strata.by} hold at once with probability {sure}, each being "
            f"made at {share(1 - (each or 0))}; that of all answers holds by itself"
        )
    elif strata is not None and len(strata.of) > 1:
        facts.append(
            f"each promise holds by itself with probability {sure}; that the promises of every "
            f"{strata.by} hold at once is less probable (--simultaneous makes it {sure})"
        )
    heads = ["stratum", "threshold", "answers", "accepted", "hallucinated of these", "at most"]
    rows = [_promise(name, fit) for name, fit in parts.items() if fit.guarantee is not None]
    notes = [
        f"{name}: nothing can be promised: {fit.guarantee.reason}"
        for name, fit in parts.items()
        if fit.guarantee is not None and fit.guarantee.threshold is None
    ]
    return Section("guarantee", facts, heads, rows, notes)


def _promise(name: str, fit: Fit) -> list[str]:
    made = fit.guarantee
    assert made is not None
    return [
        name,
        "none" if made.threshold is None else f"{made.threshold:.4f}",
        f"{made.n:,}",
        share(made.accepted),
        share(made.observed),
        share(made.bound),
    ]


def _recipe(tuned: Tuned) -> str:
    recipe = tuned.recipe
    text = f"method {recipe.method}, objective {metric_name(recipe.objective)}"
    if recipe.objective == "f_beta":
        text += f" (beta {recipe.beta:g})"
    if recipe.joint:
        text += ", weights and threshold together"
    threshold = tuned.ensemble.fit.threshold
    if threshold is not None:
        text += f", threshold {threshold:.4f} (by {metric_name(recipe.threshold_objective)})"
    return text


def _what(tuned: Tuned) -> str:
    return "answers" if tuned.ensemble.level == "response" else "sentences"


def _shown(figure: Figure) -> str:
    return f"{number(figure.value)} {interval(figure.low, figure.high)}".rstrip()


def _pair(figure: Figure | None) -> list[str]:
    if figure is None:
        return ["-", ""]
    return [number(figure.value), interval(figure.low, figure.high)]
