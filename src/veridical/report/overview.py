"""Overview of the report: verdicts, limitations and histogram geometry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

#: Remark on a run that was not sealed by this computer.
UNSEALED = (
    "not sealed by this computer: these results were scored elsewhere, by an older version, or "
    "planted; run check again to rely on them"
)


#: Word, mark and tone (``data-v``) of each verdict, worst first.
VERDICTS = {
    "contradicted": ("Contradicted", "✗", "contradiction"),
    "unsupported": ("Unsupported", "?", "neutral"),
    "inconsistent": ("Inconsistent", "≠", "contradiction"),
    "unclear": ("Unclear", "~", "unclear"),
    "unchecked": ("Unchecked", "–", "none"),
    "consistent": ("Consistent", "≈", "entailment"),
    "supported": ("Supported", "✓", "entailment"),
}
_MOST_COLUMNS = 20
#: Explanations of ``unchecked``.
REASONS = {
    "no_statement": "the answer is empty, declines to answer or is small talk",
    "missed_answer": "it says that the sources lack the answer, although one has it",
    "nothing_to_check": (
        "there are no contexts, samples, reference or log-probabilities to check it against"
    ),
    "not_judged": "only words were compared, or a model gave only its own certainty",
    "failed": "scoring failed",
    "language": "no model reads its language",
    "earlier_version": "an earlier version scored it, without verdicts",
}
#: Meaning of a risk that was not calibrated on the reader's own data.
MEANING = (
    "Risk runs from 0 to 1; 1 is worst.",
    "Not calibrated on your data; veridical tune calibrates it on answers that you graded.",
)


class Banner(NamedTuple):
    """A warning. ``level`` is ``warn`` or ``bad``; ``points`` explain it: subject and statement."""

    level: str
    headline: str
    points: list[tuple[str, str]]


class Card(NamedTuple):
    """A verdict and its number of records; ``share`` of all in per cent."""

    verdict: str
    word: str
    mark: str
    tone: str
    records: int
    share: float


class HistogramBar(NamedTuple):
    """A histogram bar in per cent of the plot; ``height`` is relative to the highest bar."""

    low: float
    high: float
    records: int
    x: float
    width: float
    height: float


def cards(summary: Mapping[str, Any]) -> list[Card]:
    """Return the verdicts that occur, worst first; an empty list for runs of an earlier version."""
    verdicts = summary.get("verdicts") or {}
    if _is_old(summary):
        return []
    total = sum(verdicts.values())
    return [
        Card(name, *texts, int(verdicts[name]), 100 * verdicts[name] / total)
        for name, texts in VERDICTS.items()
        if verdicts.get(name)
    ]


def meaning(summary: Mapping[str, Any]) -> list[str]:
    """Return sentences on the meaning of this run's risk: ``summary["meaning"]``, or else general
    facts. The list is empty if no record has a risk."""
    if not _scored(summary):
        return []
    return [str(text) for text in summary.get("meaning") or MEANING]


def banner(summary: Mapping[str, Any]) -> Banner | None:
    """Return the warning about the figures below; None if they are reliable. There is no banner for
    good results, as coverage is not a verdict."""
    least = float(summary.get("min_coverage") or 0.0)
    records, errors = int(summary.get("records") or 0), int(summary.get("row_errors") or 0)
    low: list[tuple[str, str]] = []
    failing: list[tuple[str, str]] = []
    for s in summary.get("scorers", ()):
        coverage, failed = s.get("coverage"), int(s.get("n_failed") or 0)
        if coverage is not None and coverage < least:
            low.append((s["name"], f"covers only {percent(coverage)} (minimum {percent(least)})."))
        elif failed and coverage is not None:
            failing.append((s["name"], f"failed on {failed:,} of {int(s.get('n_total') or 0):,}."))
    rejected: list[tuple[str, str]] = []
    if errors:
        rows = "row was" if errors == 1 else "rows were"
        statement = f"of {records + errors:,} input {rows} rejected and counted as failed for "
        rejected = [(f"{errors:,}", statement + "every scorer.")]
    unused = _unused(summary)
    points = unused + rejected + low + failing
    if not records:
        return Banner("bad", "There is no valid record in this run.", points)
    if _is_old(summary):
        text = "An earlier version scored this run, and gave no verdicts: check again to have them."
        return Banner("bad" if low else "warn", text, points)
    if nothing_checked(summary):
        points = _blind(summary) + points
        if not _scored(summary):
            return Banner("bad", "Nothing was checked.", points)
        return Banner("bad" if low else "warn", "No answer has a verdict, only a risk.", points)
    if low:
        return Banner("bad", "Coverage is below the minimum: do not rely on these means.", points)
    if errors:
        return Banner("warn", "Some input rows were rejected.", points)
    if failing:
        return Banner("warn", "Coverage is sufficient, with some failures.", points)
    if unused:
        return Banner("warn", "Some input columns are not used.", points)
    return None


def nothing_checked(summary: Mapping[str, Any]) -> bool:
    """Return True if no record that states anything has a verdict."""
    verdicts, unchecked = summary.get("verdicts") or {}, summary.get("unchecked") or {}
    blind = int(verdicts.get("unchecked") or 0)
    stated = blind - int(unchecked.get("no_statement") or 0)
    return blind > 0 and blind == sum(verdicts.values()) and (stated > 0 or not _scored(summary))


def _is_old(summary: Mapping[str, Any]) -> bool:
    old = int((summary.get("unchecked") or {}).get("earlier_version") or 0)
    return old > 0 and old == int(summary.get("records") or 0)


def _scored(summary: Mapping[str, Any]) -> bool:
    return bool((summary.get("risk") or {}).get("n"))


def _blind(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the reasons why no record has a verdict."""
    return [
        (f"{int(n):,}", f"{'record' if n == 1 else 'records'}: {REASONS.get(reason, reason)}.")
        for reason, n in (summary.get("unchecked") or {}).items()
    ]


def _unused(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the unused columns of the input.

    ``summary["unused_columns"]`` has the name, likeliest meaning or None, and mapping hint of each.
    If something was checked, columns without a meaning are assumed to be intentional.
    """
    everything = nothing_checked(summary)
    return [
        (
            str(column),
            "is a column that is not used" + (f"; did you mean {field}? {hint}" if field else "."),
        )
        for column, field, hint in summary.get("unused_columns") or ()
        if field or everything
    ][:_MOST_COLUMNS]


def trust(summary: Mapping[str, Any]) -> list[str]:
    """Return remarks on results that existed before the run."""
    remarks = [str(remark) for remark in summary.get("remarks") or ()]
    if not summary.get("sealed", True):
        remarks.append(f"This run is {UNSEALED}.")
    if resumed := int(summary.get("resumed") or 0):
        remarks.append(f"{resumed:,} records were scored by an earlier command and resumed.")
    if untrusted := int(summary.get("untrusted") or 0):
        remarks.append(
            f"{untrusted:,} stored lines were not trusted (damaged, or not written by this "
            "computer for this run) and not used."
        )
    return remarks


def bars(histogram: list[int]) -> list[HistogramBar]:
    """Return one bar per bin; the bins share [0, 1] equally."""
    n, top = len(histogram), max(histogram, default=0)
    return [
        HistogramBar(i / n, (i + 1) / n, c, 100 * i / n, 100 / n, 100 * c / top if top else 0.0)
        for i, c in enumerate(histogram)
    ]


def percent(value: float | None) -> str:
    """Format a share as a percentage, never rounded up to a full 100 or down to 0."""
    if value is None:
        return "n/a"
    text = f"{100 * value:.1f}"
    if text == "100.0" and value < 1:
        text = "> 99.9"
    elif text == "0.0" and value > 0:
        text = "< 0.1"
    return f"{text.removesuffix('.0')} %"


def number(value: float | None, digits: int = 3) -> str:
    """Format a figure with fixed decimals, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"
