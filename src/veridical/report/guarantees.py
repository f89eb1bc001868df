"""Report tables of guarantees, and of drift from their data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from veridical.report.html import rendered
from veridical.report.overview import number, percent

if TYPE_CHECKING:
    from veridical.decide.drift import Drift
    from veridical.decide.guarantees import PolicyGuarantees
    from veridical.ensembles.ensemble_file import StoredGuarantee


_TEMPLATE = "guarantees.html"


class GuaranteeRow(NamedTuple):
    """A table row: its name, and ``cells`` or the reason why there are none of them."""

    name: str
    cells: Sequence[str] = ()
    reason: str | None = None


def guarantee_table(guarantees: PolicyGuarantees) -> Markup:
    """Return the guarantees on accepted answers, a row per stratum, and reasons for missing
    ones."""
    head = (
        *("Answers", "Accepted at risk up to", "Hallucinated, at most", "With probability"),
        *("Graded answers", "Accepted of these", "Hallucinated of those", "Upper limit"),
    )
    rows = [_row(guarantees.name(s) or "all", guarantee) for s, guarantee in guarantees.of.items()]
    facts = [f"{remark[0].upper()}{remark[1:]}." for remark in guarantees.remarks]
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
                "guarantees may not hold."
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


def _row(name: str, guarantee: StoredGuarantee | None) -> GuaranteeRow:
    if guarantee is None:
        return GuaranteeRow(name, reason="No guarantee.")
    if guarantee.threshold is None:
        return GuaranteeRow(name, reason=f"No guarantee: {guarantee.reason or 'none holds'}.")
    cells = (
        number(guarantee.threshold, 4),
        percent(guarantee.alpha),
        "on average" if guarantee.delta is None else percent(1 - guarantee.delta),
        f"{guarantee.n:,}",
        percent(guarantee.accepted),
        percent(guarantee.observed),
        percent(guarantee.bound),
    )
    return GuaranteeRow(name, cells)


def _drift(name: str, drift: Drift) -> GuaranteeRow:
    if drift.ks is None or drift.p_holm is None:
        return GuaranteeRow(
            name, reason="Nothing to compare: it scored no answers here, or no answers in tuning."
        )
    p = "< 0.001" if drift.p_holm < 0.001 else number(drift.p_holm)
    drifted = "yes" if drift.drifted else "no"
    return GuaranteeRow(
        name, (number(drift.mean), number(drift.mean_before), number(drift.ks, 2), p, drifted)
    )
