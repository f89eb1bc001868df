"""Verdicts, and the risks at which they change."""

from __future__ import annotations

from typing import Literal, NamedTuple

#: Verdict on an answer, by its sources, by samples or log-probabilities, or none. ``unclear``:
#: there is evidence against it, but not enough to flag it.
Verdict = Literal[
    "contradicted",
    "unsupported",
    "inconsistent",
    "unclear",
    "supported",
    "consistent",
    "unchecked",
]
#: Reason for ``unchecked``. In order: The answer is empty, a refusal or small talk. It says that
#: the sources lack the answer, although one has it. There is nothing to check it against. Only
#: words were compared. Scoring failed. No model reads its language. An earlier version wrote the
#: line.
Unchecked = Literal[
    "no_statement",
    "missed_answer",
    "nothing_to_check",
    "not_judged",
    "failed",
    "language",
    "earlier_version",
]
#: Verdicts that flag an answer, worst first.
FLAGGED: tuple[Verdict, ...] = ("contradicted", "unsupported", "inconsistent")
#: All verdicts, worst first; of several statements, the worst counts.
WORST_FIRST: tuple[Verdict, ...] = (*FLAGGED, "unclear", "unchecked", "supported", "consistent")
#: Label of a unit with evidence against it, but not enough to flag it.
UNCLEAR = "unclear"

_VERDICTS: dict[str, Verdict] = {
    "contradiction": "contradicted",
    "neutral": "unsupported",
    "unsupported": "unsupported",
    "inconsistent": "inconsistent",
    UNCLEAR: "unclear",
    "entailment": "supported",
    "supported": "supported",
    "consistent": "consistent",
}


def verdict_of_label(label: str | None) -> Verdict | None:
    """Return the verdict of a unit's label; None for any other label."""
    return None if label is None else _VERDICTS.get(label)


Strictness = Literal["low", "balanced", "high"]
STRICTNESS: tuple[Strictness, ...] = ("low", "balanced", "high")
Zone = Literal["good", "unclear", "flagged"]


class Cuts(NamedTuple):
    """Risks at which a verdict changes, before any ``--prior``.

    Attributes:
        unclear: the least risk that counts as unclear.
        flagged: the least risk that counts as wrong; at least ``unclear``.
        contradicted: the least risk of a contradiction; below it, the statement is unsupported.
        of_units: True if the cuts apply to the risks of statements, of which the worst decides.
            Otherwise they apply to the risk of the response.
        by_label: True if labels decide, and the cuts apply to statements without one.
    """

    unclear: float
    flagged: float
    contradicted: float = 0.0
    of_units: bool = False
    by_label: bool = False

    def zone(self, risk: float, label: str | None = None) -> Zone:
        """Return the zone of a statement with a risk and a label."""
        verdict = verdict_of_label(label) if self.by_label else None
        if verdict is not None:
            return "flagged" if verdict in FLAGGED else "unclear" if verdict == UNCLEAR else "good"
        if risk >= self.flagged:
            return "flagged"
        return "unclear" if risk >= self.unclear else "good"
