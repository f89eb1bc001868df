"""Scorers' results on a suite's items, in columns.

Read from a run's result lines in one pass; texts and evidence are not kept.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veridical.arrays import Floats
from veridical.core.identity import Identity
from veridical.core.registry import BoundScorer
from veridical.core.verdict_cuts import FLAGGED, Strictness, Verdict
from veridical.engine.cut_units import cut
from veridical.engine.risk import combine
from veridical.engine.thresholds import cuts_of
from veridical_lab.bench.datasets.suite import Labelled

SCORED, NOT_APPLICABLE, FAILED = 0, 1, 2
_STATUS = {"scored": SCORED, "not_applicable": NOT_APPLICABLE, "failed": FAILED}
#: Name under which the record's own risk appears among the scorers.
RISK = "risk"
_UNCOVERED = "no unit of the scorer overlaps the labelled one"

Predicted = tuple[int, int, float]  # start, end, risk


@dataclass
class Scores:
    """A scorer over a set of targets (items or labelled units).

    Attributes:
        raw: signed so that larger is riskier; the risk itself where any scored target lacks a raw
            number. ``risk`` is in [0, 1]. NaN where not scored.
        status: :data:`SCORED`, :data:`NOT_APPLICABLE` or :data:`FAILED`.
        reasons: of each target that has no score.
        flagged, unclear: 1 where the scorer's verdict is so, else 0. ``flagged`` is None where the
            scorer gives no verdict.
        labels: the scorer's own class names (entailment, ...), "" without one: the label of its
            only unit, else that of its raw value.
    """

    raw: Floats
    risk: Floats
    status: NDArray[np.int8]
    reasons: dict[int, str]
    labels: NDArray[np.str_]
    unclear: Floats
    flagged: Floats | None = None

    @classmethod
    def empty(cls, n: int) -> Scores:
        """Create ``n`` targets without results."""
        nothing = np.full(n, np.nan)
        status = np.full(n, NOT_APPLICABLE, dtype=np.int8)
        labels = np.full(n, "", dtype="<U16")
        return cls(nothing, nothing.copy(), status, {}, labels, np.zeros(n))

    def set(self, i: int, raw: float | None, risk: float | None, label: str | None = None) -> None:
        """Target ``i`` was scored."""
        self.status[i] = SCORED
        self.risk[i] = np.nan if risk is None else risk
        self.raw[i] = np.nan if raw is None else raw
        self.labels[i] = label or ""

    def judge(self, i: int, verdict: Verdict) -> None:
        """Target ``i`` has a verdict."""
        if self.flagged is None:
            self.flagged = np.zeros(len(self.risk))
        self.flagged[i] = verdict in FLAGGED
        self.unclear[i] = verdict == "unclear"

    def miss(self, i: int, status: int, reason: str | None) -> None:
        """Target ``i`` was not scored."""
        self.status[i] = status
        self.reasons[i] = reason or ""

    def settle(self) -> None:
        """Replace incomplete raw numbers by risks, and round.

        Values that differ only by arithmetic noise become ties (contract section 7.5).
        """
        self.risk = np.round(self.risk, 6)
        incomplete = np.isnan(self.raw[self.status == SCORED]).any()
        self.raw = self.risk if incomplete else _significant(self.raw)

    def failed_reasons(self, targets: NDArray[np.bool_]) -> Counter[str]:
        """Count the reasons for missing scores of ``targets``."""
        failed = targets & (self.status == FAILED)
        return Counter(why for i, why in self.reasons.items() if failed[i])


@dataclass
class Column:
    """One scorer: over the items, over their labelled units, and the spans it points at."""

    items: Scores
    units: Scores
    has_units: bool = False
    spans: dict[int, list[Predicted]] = field(default_factory=dict)

    def over(self, targets: Literal["items", "units"]) -> Scores:
        """Return the scores of a task's targets."""
        return self.items if targets == "items" else self.units


def judgements(
    lines: Iterable[bytes],
    scorers: Sequence[BoundScorer],
    labelled: Labelled,
    *,
    combined: Sequence[str] = (),
    samples: Sequence[int] = (),
    every: int = 1,
    strictness: Strictness | None = None,
) -> list[dict[str, Column]]:
    """Build columns of each scorer, and of the combined risk of ``check``, in one pass.

    Args:
        lines: result lines; row ``i * every + k`` judges item ``i`` in variant ``k`` (with another
            number of samples).
        labelled: the items' labels; its units are matched with the scorers'.
        combined: keys of the scorers in the combined risk; it requires at least two.
        samples: number of samples of each row's record, for that risk.
        strictness: also keep the verdicts at this operating point; None keeps none of them.

    Returns:
        The columns of each of the ``every`` variants.
    """
    n = len(labelled.label)
    units_of = {s.key: len(labelled.unit_item) for s in scorers}
    if len(combined) > 1:
        units_of[RISK] = 0
    ways = [
        {key: Column(Scores.empty(n), Scores.empty(units)) for key, units in units_of.items()}
        for _ in range(every)
    ]
    first = np.searchsorted(labelled.unit_item, np.arange(n + 1))
    for line in lines:
        result = json.loads(line)
        row = result["row"]
        item, columns = row // every, ways[row % every]
        units = slice(int(first[item]), int(first[item + 1]))
        for bound in scorers:
            score = result["scores"][bound.key]
            _read(columns[bound.key], item, units, score, bound, labelled)
            if strictness is not None and score["status"] == "scored":
                verdict = _verdict(result, bound, strictness)
                if verdict is not None:
                    columns[bound.key].items.judge(item, verdict)
        if RISK in columns:
            combined_scores = {key: result["scores"][key] for key in combined}
            _combine(columns[RISK].items, item, combined_scores, samples[row])
    for column in (c for columns in ways for c in columns.values()):
        column.items.settle()
        column.units.settle()
    return ways


def _read(
    column: Column,
    item: int,
    units: slice,
    score: Mapping[str, Any],
    bound: BoundScorer,
    labelled: Labelled,
) -> None:
    status = _STATUS[score["status"]]
    predicted = score["units"]
    if status != SCORED:
        column.items.miss(item, status, score["reason"])
        for u in range(units.start, units.stop):
            column.units.miss(u, status, score["reason"])
        return
    column.items.set(item, bound.scorer.signed(score["raw"]), score["risk"], _label(score))
    if not predicted:
        return
    column.has_units = True
    column.spans[item] = [
        (u["start"], u["end"], u["risk"]) for u in predicted if u["risk"] is not None
    ]
    if units.start == units.stop:
        return
    sentences = [u for u in predicted if u["level"] == "sentence"] or predicted
    exact = {(u["start"], u["end"]): u for u in sentences}
    for u in range(units.start, units.stop):
        start, end = int(labelled.unit_start[u]), int(labelled.unit_end[u])
        same = exact.get((start, end))
        over = (
            [same]
            if same is not None
            else [p for p in sentences if p["start"] < end and start < p["end"]]
        )
        over = [p for p in over if p["risk"] is not None]
        if not over:
            column.units.miss(u, FAILED, _UNCOVERED)
            continue
        worst = max(over, key=lambda p: float(p["risk"]))
        column.units.set(u, bound.scorer.signed(worst["raw"]), worst["risk"], worst["label"])


def _verdict(
    result: Mapping[str, Any], bound: BoundScorer, strictness: Strictness
) -> Verdict | None:
    """Return the verdict on a record by one scorer.

    It is the record's own if it rests on that scorer, else by the scorer's cuts, or None.
    """
    if result["by"] == bound.scorer.name and result["verdict"] != "unchecked":
        own: Verdict = result["verdict"]
        return own
    score = result["scores"][bound.key]
    cuts = cuts_of(bound, score, strictness)
    if cuts is None:
        return None
    if result["reason"] in ("no_statement", "missed_answer"):
        return "unchecked"
    sources = bound.scorer.judges or bound.scorer.parts is not None
    return cut(score, cuts, "sources" if sources else "agreement").verdict


def _label(score: Mapping[str, Any]) -> str | None:
    """Return the class that the scorer gives the whole item, or None."""
    units, raw = score["units"], score["raw"]
    label = units[0]["label"] if len(units) == 1 else None
    if label is None and isinstance(raw, dict):
        label = raw.get("label")
    return label if isinstance(label, str) else None


def _significant(x: Floats) -> Floats:
    """Round ``x`` to six significant digits."""
    with np.errstate(divide="ignore"):
        magnitude = np.where(x == 0, 0.0, np.floor(np.log10(np.abs(x))))
    scale = 10.0 ** (5 - magnitude)
    return np.asarray(np.round(x * scale) / scale)


def _combine(scores: Scores, item: int, parts: Mapping[str, Any], samples: int) -> None:
    risk, _ = combine({Identity.read(key): s["risk"] for key, s in parts.items()}, samples)
    if risk is not None:
        scores.set(item, None, risk)
        return
    failed = [s["reason"] for s in parts.values() if s["status"] == "failed"]
    scores.miss(item, FAILED if failed else NOT_APPLICABLE, failed[0] if failed else None)
