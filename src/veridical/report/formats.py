"""Formatting of numbers, names and commands in reports."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

_NAMED = 6  #: scorers listed by name before the rest is only counted
_PLAIN = re.compile(r"[\w.:=,+/-]+", re.ASCII)
METRICS = {
    "average_precision": "avg. precision",
    "trapezoid_pr": "trapezoid PR",
    "auroc": "AUROC",
    "balanced_accuracy_half": "bal. acc. at 0.5",
    "balanced_accuracy_cross_fitted": "bal. acc. cross-fitted",
    "balanced_accuracy_best": "best balanced accuracy",
    "auroc_macro": "AUROC, mean of sets",
    "balanced_accuracy_macro": "bal. acc., mean of sets",
    "balanced_accuracy_half_macro": "bal. acc. at 0.5, mean of sets",
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "f1": "F1",
    "macro_f1": "macro F1",
    "weighted_f1": "weighted F1",
    "mcc": "MCC",
    "prr": "PRR",
    "brier": "Brier",
    "ece": "ECE",
    "mce": "MCE",
    "span_f1": "span F1",
    "span_overlap_f1": "overlap F1",
}


def metric_name(name: str) -> str:
    """Return a metric or column name for a heading."""
    metric, bracket, positive = name.partition(" (")
    return METRICS.get(metric, metric.replace("_", " ")) + bracket + positive


def number(value: float | None) -> str:
    """Format with three decimals, or a dash; no negative zero."""
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def interval(low: float | None, high: float | None) -> str:
    """Format as ``[low, high]``, or an empty string."""
    return "" if low is None or high is None else f"[{number(low)}, {number(high)}]"


def p_value(p: float | None) -> str:
    """Format a p-value with its sign: ``= 0.021`` or ``< 0.001``."""
    if p is None:
        return "unknown"
    return "< 0.001" if p < 0.001 else f"= {p:.3f}"


def p_cell(p: float | None) -> str:
    """Format a p-value for a table cell."""
    return "-" if p is None else p_value(p).removeprefix("= ").replace("< ", "<")


def one_line(text: str) -> str:
    """Replace characters of foreign text that could move the cursor or break a line."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def broken(name: str, width: int) -> str:
    """Break a scorer's name into lines of at most ``width``, after brackets and commas."""
    lines = [""]
    for piece in re.split(r"(?<=[,(])", name):
        if lines[-1] and len(lines[-1]) + len(piece) > width:
            lines.append(" ")
        lines[-1] += piece
    return "\n".join(lines)


def share(value: float | None) -> str:
    """Format a share in per cent; never rounded to a full 100 or an empty 0."""
    if value is None:
        return "-"
    text = f"{100 * value:.1f}"
    if text == "100.0":
        text = "100" if value >= 1 else ">99.9"
    elif text == "0.0" and value > 0:
        text = "<0.1"
    return f"{text}%"


def plain(value: Any) -> str:
    """Format a setting on one line."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(plain, value)) or "none"
    return "none" if value is None else str(value)


def some(names: Sequence[str], most: int = _NAMED) -> str:
    """List names, and only count those beyond the first few."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shell(argument: str) -> str:
    """Quote an argument for a shell, in double quotes where these suffice."""
    if _PLAIN.fullmatch(argument):
        return argument
    return shlex.quote(argument) if re.search(r'["$`\\!]', argument) else f'"{argument}"'


def check_command(scorer: str, fail_over: float | None) -> list[str]:
    """Return the command that uses a scorer, in parts; without a name, the default."""
    parts = ["veridical check answers.jsonl"]
    if scorer:
        parts.append(f"--scorers {shell(scorer)}")
    if fail_over is not None:
        gate = f"{scorer}:{fail_over:g}" if scorer else f"{fail_over:g}"
        parts.append(f"--fail-over {shell(gate)}")
    return parts
