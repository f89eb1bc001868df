"""Report tables of guarantees, and of drift from their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from veridical.report.html import rendered
from veridical.report.overview import number, percent

if TYPE_CHECKING:
    from veridical.decide.drift import Drift
    from veridical.decide.promises import Promises
    from veridical.ensembles.ensemble_file import Promise


_TEMPLATE = "promises.html"


class PromiseRow(NamedTuple):
    """A table row: its name, and ``cells`` or the reason why there are none of them."""

    name: str
    cells: Sequence[str] = ()
    reason: str | None = None


def promise_table(promises: Promises) -> Markup:
    """Return the guarantees on accepted answers, a row per stratum, and reasons for missing
    ones."""
    head = (
        *("Answers", "Accepted at risk up to", "Hallucinated, at most", "With probability"),
        *("Graded answers", "Accepted of these", "Hallucinated of those", "Upper limit"),
    )
    rows = [_promise(promises.name(s) or "all", promise) for s, promise in promises.of.items()]
    facts = [f"{remark[0].upper()}{remark[1:]}." for remark in promises.remarks]
    facts.append("Guarantees are about answers drawn like those that were graded.")
    caption = "Guarantee of accepted answers"
    return rendered(_TEMPLATE, caption=caption, head=head, rows=rows, facts=facts, alarm=False)


def drift_tables(drifts: Mapping[str, Mapping[str, Drift]]) -> list[Markup]:
    """Return, for each tuned ensemble, the differences between the risks of the run and of
    tuning."""
    head = ("Risk of", "Mean in this run", "Mean when tuned", "KS distance", "p (Holm)", "Drift")
    tables = []
    for key, parts in drifts.items():
        rows = [_drift(name, drift) for name, drift in parts.items()]
        moved = [name for name, drift in parts.items() if drift.drifted]
        if moved:
            fact = (
                f"Drifted from the answers it was tuned on: {', '.join(moved)}. Thresholds and "
                "promises may not hold."
            )
        elif all(drift.ks is None for drift in parts.values()):
            fact = "Nothing is scored that could have drifted."
        else:
            fact = "No drift from the answers it was tuned on."
        caption, alarm = f"Drift: {key}", bool(moved)
        tables.append(
            rendered(_TEMPLATE, caption=caption, head=head, rows=rows, facts=[fact], alarm=alarm)
        )
    return tables


def drift_remarks(drifts: Mapping[str, Mapping[str, Drift]]) -> list[str]:
    """Return a sentence for each tuned ensemble whose answers have drifted from its tuning data."""
    return [
        f"{key} has drifted from the answers it was tuned on; "
        "thresholds and guarantees may not hold."
        for key, parts in drifts.items()
        if any(drift.drifted for drift in parts.values())
    ]


def _promise(name: str, promise: Promise | None) -> PromiseRow:
    if promise is None:
        return PromiseRow(name, reason="No guarantee.")
    if promise.threshold is None:
        return PromiseRow(name, reason=f"No guarantee: {promise.reason or 'none holds'}.")
    cells = (
        number(promise.threshold, 4),
        percent(promise.alpha),
        "on average" if promise.delta is None else percent(1 - promise.delta),
        f"{promise.n:,}",
        percent(promise.accepted),
        percent(promise.observed),
        percent(promise.bound),
    )
    return PromiseRow(name, cells)


def _drift(name: str, drift: Drift) -> PromiseRow:
    if drift.ks is None or drift.p_holm is None:
        return PromiseRow(
            name, reason="Nothing to compare: it scored no answers here, or no answers in tuning."
        )
    p = "< 0.001" if drift.p_holm < 0.001 else number(drift.p_holm)
    drifted = "yes" if drift.drifted else "no"
    return PromiseRow(
        name, (number(drift.mean), number(drift.mean_before), number(drift.ks, 2), p, drifted)
    )
