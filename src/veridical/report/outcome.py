"""Outcome of a run in one sentence, for terminal, page and Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from veridical.engine.summary import Summary

_BAD = {
    "contradicted": ("contains", "contain", "a statement that the sources contradict"),
    "unsupported": ("contains", "contain", "a statement that the sources do not support"),
    "inconsistent": ("disagrees", "disagree", "with the model's other answers or its certainty"),
}
_UNCLEAR = {
    "unclear": (
        "has",
        "have",
        "a statement with evidence against it, but not enough to flag it",
    ),
}
_GOOD = {
    "supported": ("is", "are", "supported by the sources"),
    "consistent": ("agrees", "agree", "with the model's other answers or its certainty"),
}
_UNCHECKED = {
    "failed": "because scoring failed",
    "nothing_to_check": "for lack of contexts, samples, a reference or log-probabilities",
    "not_judged": "because only words were compared, or a model gave only its own certainty",
    "language": "because no model reads the language",
    "earlier_version": "because an earlier version had no verdicts",
}


def outcome(summary: Summary) -> str:
    """Count answers by verdict, worst first: "7 of 20 answers contain a statement that the sources
    contradict; 2 could not be checked." Unchecked answers are never reported as good."""
    total, verdicts, unchecked = summary.records, summary.verdicts, summary.unchecked
    if not total:
        return "No answer could be read."
    parts = _of_verdicts(summary, _BAD)
    parts += _of_verdicts(summary, _UNCLEAR)
    if n := unchecked["missed_answer"]:
        says = "says" if n == 1 else "say"
        parts.append(f"{n} {says} that the sources lack the answer, although one has it")
    blind = verdicts["unchecked"] - unchecked["no_statement"] - unchecked["missed_answer"]
    if blind:
        causes = [cause for cause in _UNCHECKED if unchecked[cause]]
        why = f" {_UNCHECKED[causes[0]]}" if len(causes) == 1 else ""
        parts.append(f"{blind} could not be checked{why}")
    if unchecked["no_statement"]:
        parts.append(f"{unchecked['no_statement']} made no statement")
    parts += _of_verdicts(summary, _GOOD)
    count, _, rest = parts[0].partition(" ")
    answers = "answer" if total == 1 else "answers"
    if int(count) == total:
        head = f"The only answer {rest}" if total == 1 else f"All {total} {answers} {rest}"
    else:
        head = f"{count} of {total} {answers} {rest}"
    if blind == total > 1:
        head = head.replace("All ", "None of the ", 1).replace("could not be", "could be", 1)
    if n := summary.invisible:
        what = "1 answer has" if n == 1 else f"{n} answers have"
        parts.append(f"{what} invisible characters, which were not judged")
    return "; ".join([head, *parts[1:]]) + "."


def _of_verdicts(summary: Summary, words: Mapping[str, tuple[str, str, str]]) -> list[str]:
    return [
        f"{n} {one if n == 1 else many} {what}"
        for verdict, (one, many, what) in words.items()
        if (n := summary.verdicts[verdict])
    ]
