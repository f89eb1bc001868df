"""Weights of an ensemble on the simplex: how they combine risks, and the search for the best.

Figures that depend on an order only are searched along lines (:mod:`veridical.decide.lines`), each
time for the very best of the line: from several starts, towards every component and between every
two, until none of these lines offers more. Two components span one line, so theirs is the best of
all. Losses are smooth, and minimised as such (:mod:`veridical.decide.smooth`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veridical.decide import lines, smooth
from veridical.decide.objectives import Objective, best_threshold, named
from veridical.decide.orders import Auroc, AveragePrecision, BestCut
from veridical.errors import UsageError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_UNDECIDED = 0.5  # risk, while searching, of a row that weights leave without a scored component
_ALONE = 3  # most starts from a component alone
_RANDOM = 4  # most starts at random
_FEW = 200  # rows on which all starts are followed
_LAST = 2  # starts that are followed on all rows where there are more
_ROUNDS = 1  # in which every line is searched, on a few of the rows
_GAIN = 1e-12
_PERFECT = 1.0 - _GAIN


@dataclass(frozen=True, eq=False)
class Weights:
    """What :func:`search` found.

    Attributes:
        weights: (k,) each in [0, 1], of sum 1.
        threshold: called hallucinated is ``risk >= threshold``; in (0, 1), or as
            :func:`~veridical.decide.objectives.best_threshold` says.
        value: the objective in its natural sign, on the rows searched.
    """

    weights: Floats
    threshold: float | None
    value: float


def combine(risks: Floats, weights: Floats) -> Floats:
    """Weighted mean of the scored components, the weights renormalised in every row.

    Rounded to 12 decimals, so that what is equal but for the order of a sum stays tied.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        weights: (k,) from 0; only their ratios count.

    Returns:
        (n,) in [0, 1]; NaN where no component of a weight above 0 is scored.

    Raises:
        ValueError: shapes differ, or a weight is below 0 or no finite number.
    """
    risks, weights = np.asarray(risks, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if risks.ndim != 2 or weights.shape != risks.shape[1:]:
        raise ValueError(f"risks {risks.shape} do not go with weights {weights.shape}")
    if not bool(np.all(np.isfinite(weights) & (weights >= 0))):
        raise ValueError("a weight is below 0 or no finite number")
    used = np.flatnonzero(weights > 0)
    if not len(used):
        return np.full(len(risks), np.nan)
    share = weights[used] / weights.max()
    own = risks[:, used]
    scored = ~np.isnan(own)
    if scored.all():
        mean = own @ share / share.sum()
    else:
        scale = scored @ share
        mean = np.full(len(risks), np.nan)
        np.divide(np.where(scored, own, 0.0) @ share, scale, out=mean, where=scale > 0)
    return np.asarray(np.round(mean, lines.DECIMALS))


def search(
    risks: Floats,
    labels: Floats,
    objective: str,
    *,
    joint: bool = False,
    beta: float = 1.0,
    seed: int = 0,
    start: Floats | None = None,
) -> Weights:
    """The weights, and the threshold, at which an objective is best.

    Without a threshold of its own an objective is tuned for by weights (eq. 20-21 of "Black-Box
    Hallucination Detection: A Tunable Ensemble Approach"); the threshold, which does not change
    its value, is then the best for F-beta (eq. 22). With one, the weights are those of the best
    AUROC and the threshold follows (eq. 20, then 22); ``joint`` seeks both at once (eq. 23).

    The result cannot be bettered by moving weight between any two components, nor from or to any
    one at the cost of the others in proportion, as far as weights differ by 1e-9 of the line; it is
    the best of all for two components, and for ``brier`` and ``log_loss`` where every component is
    scored everywhere (both are convex). Beyond 200 rows the starts are followed on 200 and the best
    are finished on all. Where equally good weights exist, components are dropped.

    Rows without any score are left out. One that a choice of weights leaves without a score counts
    as 0.5 there, so that a component cannot win by being silent.

    Args:
        risks: (n, k) in [0, 1]; NaN = not scored.
        labels: (n,) 1 = hallucinated; 0.5 and more counts as 1.
        objective: a name of :data:`~veridical.decide.objectives.OBJECTIVES`.
        joint: weights and threshold at once; only for objectives with a threshold.
        beta: of ``f_beta``, and of the threshold of objectives without one.
        seed: of random starts; equal seeds give equal results.
        start: (k,) weights to climb from, instead of from many: for data that differ little from
            some whose weights are known, such as a resample of them.

    Raises:
        UsageError: the objective is unknown or has no threshold to tune jointly; beta is no
            positive number; risks are not in [0, 1]; the scored rows are all of one label.
        ValueError: shapes differ.
    """
    chosen = named(objective)
    if joint and not chosen.needs_threshold:
        raise UsageError(f"joint tuning is for objectives with a threshold, not {objective!r}")
    risks, positive = _checked(risks, labels)
    truth = positive.astype(np.float64)
    tuned_for = named("auroc") if chosen.needs_threshold and not joint else chosen
    if risks.shape[1] == 1:
        weights = np.ones(1)
    elif tuned_for.larger_is_better:
        if start is None:
            weights = _search(risks, positive, tuned_for, beta, np.random.default_rng(seed))
        else:
            weights = _climb(_Landscape(risks, positive, tuned_for, beta), start / start.sum())
    else:
        weights = smooth.minimise(risks, truth, tuned_for.name)
    risk = _risk(risks, weights)
    cut_by = objective if chosen.needs_threshold else "f_beta"
    threshold, value = best_threshold(truth, risk, cut_by, beta)
    if not chosen.needs_threshold:
        value = chosen.value(truth, risk)
    return Weights(weights, threshold, value)


def _checked(risks: Floats, labels: Floats) -> tuple[Floats, Bools]:
    """The rows with a score, and whether each is positive."""
    risks, labels = np.asarray(risks, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if risks.ndim != 2 or labels.shape != risks.shape[:1] or not risks.shape[1]:
        raise ValueError(f"risks {risks.shape} do not go with labels {labels.shape}")
    if np.isnan(labels).any():
        raise UsageError("a label is no number")
    bad = np.argwhere((risks < 0) | (risks > 1))
    if len(bad):
        row, column = bad[0]
        raise UsageError(
            f"row {row}: risk {risks[row, column]} of component {column} is not in [0, 1]"
        )
    kept = ~np.isnan(risks).all(axis=1)
    positive = labels[kept] >= 0.5
    count = int(np.count_nonzero(positive))
    if count in (0, len(positive)):
        raise UsageError(
            f"tuning needs hallucinated and right answers: of {len(positive)} scored ones "
            f"{count} are hallucinated"
        )
    return risks[kept], positive


def _risk(risks: Floats, weights: Floats) -> Floats:
    return np.nan_to_num(combine(risks, weights), nan=_UNDECIDED)


class _Landscape:
    """The objective as a function of weights alone, a threshold being the best for them."""

    def __init__(self, risks: Floats, positive: Bools, objective: Objective, beta: float) -> None:
        self._risks = risks
        scored = ~np.isnan(risks)
        self._scored = None if scored.all() else scored.astype(np.float64)
        self._filled = np.where(scored, risks, 0.0)
        self._figure: lines.Figure
        if objective.needs_threshold:
            self._figure = BestCut(positive, objective, beta)
        elif objective.name == "auroc":
            self._figure = Auroc(positive)
        else:
            self._figure = AveragePrecision(positive)

    def value(self, weights: Floats) -> float:
        return self._figure.value(_risk(self._risks, weights))

    def best_between(self, start: Floats, end: Floats, than: float) -> tuple[float, Floats | None]:
        """The best weights on a line and their value; None where none is better ``than``."""
        rows = lines.rows_between(self._filled, self._scored, start, end, _UNDECIDED)
        best, weights = than + _GAIN, None
        for t, shown in lines.best_places(rows, self._figure, best):
            if shown <= best:
                break
            there = (1 - t) * start + t * end
            value = self.value(there)
            if value > best:
                best, weights = value, there / there.sum()
        return best, weights


def _search(
    risks: Floats, positive: Bools, objective: Objective, beta: float, rng: np.random.Generator
) -> Floats:
    whole = _Landscape(risks, positive, objective, beta)
    k = risks.shape[1]
    starts = [np.full(k, 1 / k)]
    if k > 2:  # two components are one line, and any start sees all of it
        alone = sorted(np.eye(k), key=whole.value, reverse=True)
        starts += [smooth.logistic(risks, positive), *alone[: min(k - 1, _ALONE)]]
        starts += list(rng.dirichlet(np.ones(k), min(k - 1, _RANDOM)))
    if len(risks) > _FEW:
        few = _stratified(positive, rng)
        part = _Landscape(risks[few], positive[few], objective, beta)
        starts += [_climb(part, start, rounds=_ROUNDS) for start in starts]
        starts = sorted(starts, key=whole.value, reverse=True)[:_LAST]
    best, value = starts[0], -np.inf
    for start in starts:
        weights = _climb(whole, start, than=value)
        if (reached := whole.value(weights)) > value + _GAIN:
            best, value = weights, reached
        if value >= _PERFECT:
            break
    return best


def _stratified(positive: Bools, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows drawn at random, as equal a number of both labels as there is."""
    classes = [rng.permutation(np.flatnonzero(c)) for c in (positive, ~positive)]
    least = min(_FEW // 2, *map(len, classes))
    return np.sort(np.concatenate([c[: max(_FEW // 2, _FEW - least)] for c in classes]))


def _climb(
    landscape: _Landscape, weights: Floats, rounds: int | None = None, than: float = -np.inf
) -> Floats:
    """Weights that no line through them betters, with components dropped where nothing is lost.

    After so many ``rounds`` of all lines it stops where it is; so it does where it is further from
    the value ``than`` of other weights than a round has brought it.
    """
    value = at_last = landscape.value(weights)
    k = len(weights)
    moves: list[tuple[int, int | None]] = [(i, None) for i in range(k)] if k > 2 else []
    moves += [(i, j) for i in range(k) for j in range(i)]
    still = done = 0
    while still < len(moves):
        ends = _ends(weights, *moves[done % len(moves)])
        better, there = landscape.best_between(*ends, value) if ends else (value, None)
        done, still = done + 1, still + 1
        if there is not None:
            weights, value, still = there, better, 0
        if still == len(moves) or value >= _PERFECT:
            dropped = _dropped(landscape, weights, value)
            if dropped is not None:
                weights, still = dropped, 0
            elif value >= _PERFECT:
                break
        if done % len(moves) == 0:
            if done // len(moves) == rounds or value + (value - at_last) < than:
                break
            at_last = value
    return weights


def _ends(weights: Floats, i: int, j: int | None) -> tuple[Floats, Floats] | None:
    """Where the line through the weights meets the faces of the simplex: i for j, or for all
    others in proportion. None where it is a point."""
    start, end = weights.copy(), np.zeros(len(weights))
    if j is None:
        start[i], end[i] = 0.0, 1.0
        # of one other component it is the line of the two
        return (start / start.sum(), end) if np.count_nonzero(start) > 1 else None
    both = float(weights[i] + weights[j])
    end = weights.copy()
    start[i], start[j], end[i], end[j] = 0.0, both, both, 0.0
    return (start, end) if both > 0 else None


def _dropped(landscape: _Landscape, weights: Floats, value: float) -> Floats | None:
    """Weights without a component that they do not need, the lightest first."""
    for i in np.argsort(weights, kind="stable"):
        fewer = weights.copy()
        fewer[i] = 0.0
        if 0 < weights[i] < 1 and landscape.value(fewer / fewer.sum()) >= value:
            return np.asarray(fewer / fewer.sum())
    return None
