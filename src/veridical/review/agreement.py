"""Agreement of reviewers.

It is computed on the units that several reviewers labelled before any score was shown to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from veridical.arrays import Floats
from veridical.review.events import UnitPlace
from veridical.review.labels import Labels, by_place, opinions
from veridical.stats.proportions import wilson

#: Labels in the order of tables.
CLASSES = ("supported", "says_nothing", "contradicted", "not_a_claim")
RESAMPLES = 1000


@dataclass(frozen=True)
class SharedUnit:
    """Unit labelled by several reviewers."""

    row: int
    unit: UnitPlace
    labels: dict[str, str]

    @property
    def agreed(self) -> bool:
        return len(set(self.labels.values())) == 1


@dataclass(frozen=True)
class LabelCell:
    """Count of pairs of a first and a second label.

    The order does not matter. Includes their share of all pairs, with Wilson's interval.
    """

    first: str
    second: str
    count: int
    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Agreement:
    """Agreement of reviewers.

    Attributes:
        units: number of units labelled by several reviewers, of ``answers``.
        alpha: Krippendorff's, of nominal labels; None if undefined. Its interval resamples answers.
        agree: share of equal pairs of labels, with Wilson's interval.
        confusion: pairs of classes, ``first`` at or before ``second`` in :data:`CLASSES`; each pair
            of labels is counted once.
        disagreements: units with different labels, except adjudicated ones.
    """

    units: int
    answers: int
    alpha: float | None
    alpha_low: float | None
    alpha_high: float | None
    agree: float | None
    agree_low: float | None
    agree_high: float | None
    confusion: list[LabelCell]
    disagreements: list[SharedUnit]

    def as_dict(self) -> dict[str, Any]:
        return {
            "units": self.units,
            "answers": self.answers,
            "alpha": {"value": self.alpha, "ci_low": self.alpha_low, "ci_high": self.alpha_high},
            "agree": {"value": self.agree, "ci_low": self.agree_low, "ci_high": self.agree_high},
            "confusion": [
                {
                    "first": c.first,
                    "second": c.second,
                    "count": c.count,
                    "share": c.share,
                    "ci_low": c.low,
                    "ci_high": c.high,
                }
                for c in self.confusion
            ],
            "disagreements": len(self.disagreements),
        }


def shared_units(labels: Labels) -> list[SharedUnit]:
    """Return the units that several reviewers labelled blind, by row and position."""
    found = []
    for row in sorted(labels.of):
        for key, events in by_place(opinions(labels.of[row], blind=True)):
            if len(events) > 1:
                unit = next(iter(events.values())).unit
                assert unit is not None and unit.key == key
                said = {who: str(event.label) for who, event in sorted(events.items())}
                found.append(SharedUnit(row, unit, said))
    return found


def open_disagreements(labels: Labels) -> list[SharedUnit]:
    """Return units with different newest labels and no adjudication."""
    found = []
    for row in sorted(labels.of):
        decided = labels.decided.get(row, {})
        for key, events in by_place(opinions(labels.of[row])):
            said = {who: str(event.label) for who, event in sorted(events.items())}
            if len(set(said.values())) > 1 and key not in decided:
                unit = next(iter(events.values())).unit
                assert unit is not None
                found.append(SharedUnit(row, unit, said))
    return found


def agreement(labels: Labels, *, resamples: int = RESAMPLES, seed: int = 0) -> Agreement:
    """Compute the agreement of reviewers."""
    shared = shared_units(labels)
    table = _counts(shared)
    rows = np.array([s.row for s in shared], dtype=np.int64)
    alpha = nominal_alpha(table)
    alpha_low, alpha_high = _interval(table, rows, resamples, seed)
    pairs = np.zeros((len(CLASSES), len(CLASSES)), dtype=np.int64)
    for s in shared:
        for a, b in combinations(s.labels.values(), 2):
            first, second = sorted((CLASSES.index(a), CLASSES.index(b)))
            pairs[first, second] += 1
    n = int(pairs.sum())
    equal = int(np.trace(pairs))
    share = equal / n if n else None
    low, high = wilson(share, n) if share is not None else (None, None)
    return Agreement(
        units=len(shared),
        answers=len({s.row for s in shared}),
        alpha=alpha,
        alpha_low=alpha_low,
        alpha_high=alpha_high,
        agree=share,
        agree_low=low,
        agree_high=high,
        confusion=_cells(pairs),
        disagreements=open_disagreements(labels),
    )


def cross_tables(labels: Labels) -> dict[tuple[str, str], Counter[tuple[str, str]]]:
    """Count each pair of labels of every two reviewers.

    Uses the units that both labelled blind.
    """
    tables: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
    for shared in shared_units(labels):
        for two in combinations(shared.labels, 2):
            first, second = (shared.labels[who] for who in two)
            tables.setdefault(two, Counter())[first, second] += 1
    return tables


def cross_table_text(people: tuple[str, str], table: Counter[tuple[str, str]]) -> str:
    """Format a cross-table of two reviewers' labels as text, with a row for each label of the
    first.
    """
    met = [c for c in CLASSES if any(c in pair for pair in table)]
    rows = [["", *met], *([a, *(str(table[a, b]) for b in met)] for a in met)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    head = f"{people[0]} (rows) and {people[1]} (columns), units labelled by both:"
    return "\n".join([head, *lines])


def _cells(pairs: Any) -> list[LabelCell]:
    total = int(pairs.sum())
    if not total:
        return []
    met = [i for i in range(len(CLASSES)) if pairs[i].any() or pairs[:, i].any()]
    shares = {(i, j): int(pairs[i, j]) / total for i in met for j in met if i <= j}
    return [
        LabelCell(CLASSES[i], CLASSES[j], int(pairs[i, j]), share, *wilson(share, total))
        for (i, j), share in shares.items()
    ]


def nominal_alpha(counts: Floats) -> float | None:
    """Compute Krippendorff's (2011) alpha of nominal labels.

    Args:
        counts: (u, c) number of each label of each unit; units with fewer than two are ignored.

    Returns:
        At most 1, 0 at chance level; None if no unit has two labels, or only one label occurs.
    """
    held = counts.sum(axis=1)
    counts = counts[held > 1]
    held = held[held > 1]
    if not len(counts):
        return None
    of_class = counts.sum(axis=0)
    n = float(held.sum())
    expected = n**2 - float((of_class**2).sum())
    if expected <= 0:
        return None
    observed = float(((held**2 - (counts**2).sum(axis=1)) / (held - 1)).sum())
    return 1 - (n - 1) * observed / expected


def _counts(shared: Sequence[SharedUnit]) -> Floats:
    table = np.zeros((len(shared), len(CLASSES)))
    for i, s in enumerate(shared):
        for label in s.labels.values():
            table[i, CLASSES.index(label)] += 1
    return table


def _interval(
    table: Floats, rows: Any, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    """Return the 95 % interval over resampled answers; None with fewer than two answers."""
    distinct = np.unique(rows)
    if len(distinct) < 2:
        return None, None
    draw = np.random.default_rng(seed)
    parts = [np.flatnonzero(rows == row) for row in distinct]
    values = []
    for _ in range(resamples):
        chosen = draw.integers(0, len(parts), len(parts))
        value = nominal_alpha(table[np.concatenate([parts[i] for i in chosen])])
        if value is not None:
            values.append(value)
    if len(values) < resamples / 2:
        return None, None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
