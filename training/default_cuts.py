"""The operating point of the default's verdicts: cuts on out-of-fold risks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from veridical.ensembles.scorers import default_set as default

UNCLEAR = 0.1  # share of a set's answers that are unclear, at most
FLAT = 0.01  # of the sum of both errors, given up for shares that are alike
PRECISION = 0.75  # of the verdict contradicted
LEAST_SHARE = 0.5  # of contradiction in the evidence against a sentence, for that verdict
DIGITS = 4


class Judged(NamedTuple):
    """A set's scored answers.

    ``contradiction`` has the largest share of contradiction in the evidence against any of an
    answer's sentences. ``weight`` is the set's share of its benchmark.
    """

    odds: np.ndarray
    labels: np.ndarray
    contradiction: np.ndarray
    weight: float = 1.0


def errors(sets: Sequence[Judged], risk: float) -> tuple[float, float]:
    """Compute the shares of right answers flagged and of wrong ones missed.

    Answers from ``risk`` on are flagged. Each benchmark counts the same.
    """
    cut = default.log_odds(risk, 0.0)
    weights = [one.weight for one in sets]
    flagged = [(one.odds[one.labels == 0] >= cut).mean() for one in sets]
    missed = [(one.odds[one.labels == 1] < cut).mean() for one in sets]
    return float(np.average(flagged, weights=weights)), float(np.average(missed, weights=weights))


def cuts(sets: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """Choose the cuts of each strictness, by answers that were judged out of fold.

    ``balanced`` is chosen from the cuts whose errors add up to at most :data:`FLAT` more than the
    least sum. It is the one at which both shares are most alike.
    """
    grid = np.linspace(0.1, 0.9, 81)
    table = np.array([errors(sets, risk) for risk in grid])
    smooth = np.convolve(np.pad(table.sum(axis=1), 2, "edge"), np.ones(5) / 5, "valid")
    gaps = np.abs(table[:, 0] - table[:, 1])
    # smoothed over neighbouring cuts, so that no single answer decides
    even = int(np.argmin(np.where(smooth <= smooth.min() + FLAT, gaps, np.inf)))
    low = int(np.argmin(np.abs(table[:, 0] - table[even, 0] / 2)))
    high = int(np.argmin(np.abs(table[:, 1] - table[even, 1] / 2)))
    made = {}
    for name, place in (("low", low), ("balanced", even), ("high", high)):
        begins = place
        while begins and _share_between(sets, grid[begins - 1], grid[place]) <= UNCLEAR:
            begins -= 1
        made[name] = {
            "unclear": round(float(grid[begins]), DIGITS),
            "flagged": round(float(grid[place]), DIGITS),
            "right_flagged": round(float(table[place, 0]), DIGITS),
            "wrong_missed": round(float(table[place, 1]), DIGITS),
        }
    return made


def _share_between(sets: Sequence[Judged], low: float, high: float) -> float:
    """Compute the share of answers with a risk in [low, high), in the set with most of them."""
    a, b = default.log_odds(low, 0.0), default.log_odds(high, 0.0)
    return max(float(((one.odds >= a) & (one.odds < b)).mean()) for one in sets)


def contradicted_from(sets: Sequence[Judged], least: float) -> dict[str, float]:
    """Find the risk from which on an answer that sources contradict is wrong three times of four.

    Args:
        least: the risk from which on answers are flagged.
    """
    weights = [one.weight for one in sets]
    for risk in np.linspace(least, 0.99, 100):
        cut = default.log_odds(float(risk), 0.0)
        chosen = [(one.odds >= cut) & (one.contradiction >= LEAST_SHARE) for one in sets]
        right, wrong = (
            np.average(
                [c[one.labels == label].mean() for c, one in zip(chosen, sets, strict=True)],
                weights=weights,
            )
            for label in (0, 1)
        )
        if wrong and wrong / (wrong + right) >= PRECISION:
            break
    return {"risk": round(float(risk), DIGITS), "share": LEAST_SHARE}


def at_threshold(odds: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Balanced accuracy at its best cut, and the share of wrong answers that are caught where a
    tenth of the right ones are flagged."""
    if not 0 < labels.mean() < 1:
        return np.nan, np.nan
    grid = np.unique(odds)
    grid = grid[:: max(1, len(grid) // 200)]
    best = max(((odds[labels == 1] >= g).mean() + (odds[labels == 0] < g).mean()) / 2 for g in grid)
    right = np.sort(odds[labels == 0])[::-1]
    return float(best), float((odds[labels == 1] > right[int(0.1 * len(right))]).mean())
