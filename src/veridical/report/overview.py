"""The report's header: the coverage banner and the geometry of the risk histogram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Banner(NamedTuple):
    """``level`` is ``good``, ``warn`` or ``bad``; ``points`` say why: subject and statement."""

    level: str
    headline: str
    points: list[tuple[str, str]]


class Bar(NamedTuple):
    """A histogram bar in per cent of the plot; ``height`` is of the highest bar."""

    low: float
    high: float
    records: int
    x: float
    width: float
    height: float


def banner(summary: Mapping[str, Any]) -> Banner:
    """How far the figures below can be relied on."""
    least = float(summary.get("min_coverage") or 0.0)
    records, errors = int(summary.get("records") or 0), int(summary.get("row_errors") or 0)
    low: list[tuple[str, str]] = []
    failing: list[tuple[str, str]] = []
    for s in summary.get("scorers", ()):
        coverage, failed = s.get("coverage"), int(s.get("n_failed") or 0)
        if coverage is not None and coverage < least:
            low.append((s["name"], f"covers only {percent(coverage)} (minimum {percent(least)})."))
        elif failed:
            failing.append((s["name"], f"failed on {failed:,} of {int(s.get('n_total') or 0):,}."))
    rejected: list[tuple[str, str]] = []
    if errors:
        rows = "row was" if errors == 1 else "rows were"
        statement = f"of {records + errors:,} input {rows} rejected and counted as failed for "
        rejected = [(f"{errors:,}", statement + "every scorer.")]
    points = rejected + low + failing
    if not records:
        return Banner("bad", "There is no valid record in this run.", points)
    if low:
        return Banner("bad", "Coverage is below the minimum: do not rely on these means.", points)
    if errors:
        return Banner("warn", "Some input rows were rejected.", points)
    if failing:
        return Banner("warn", "Coverage is sufficient, with some failures.", points)
    return Banner("good", "Coverage is complete: no failure, no rejected row.", points)


def bars(histogram: list[int]) -> list[Bar]:
    """One bar per bin; the bins share [0, 1] equally."""
    n, top = len(histogram), max(histogram, default=0)
    return [
        Bar(i / n, (i + 1) / n, c, 100 * i / n, 100 / n, 100 * c / top if top else 0.0)
        for i, c in enumerate(histogram)
    ]


def percent(value: float | None) -> str:
    """A share as a percentage, never rounded up to a full 100 or down to 0."""
    if value is None:
        return "n/a"
    text = f"{100 * value:.1f}"
    if text == "100.0" and value < 1:
        text = "> 99.9"
    elif text == "0.0" and value > 0:
        text = "< 0.1"
    return f"{text.removesuffix('.0')} %"


def number(value: float | None, digits: int = 3) -> str:
    """A figure with fixed decimals, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
