"""Cross-validation folds that keep independent units together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.arrays import Floats, Ints


def grouped_folds(
    groups: Ints,
    count: int,
    seed: int,
    *,
    labels: Floats | None = None,
    strata: Sequence[str] | None = None,
) -> Ints:
    """Return (n,) the fold of each target, 0 .. count - 1 (at least two).

    Whole groups are assigned at random. With ``labels`` (0 or 1) and ``strata``, folds are balanced
    by stratum and by the groups' share of positive targets.
    """
    units, first, member = np.unique(groups, return_index=True, return_inverse=True)
    turn = np.random.default_rng(seed).permutation(len(units))
    keys: list[Floats | Ints] = [turn]
    if labels is not None:
        keys.append(np.bincount(member, weights=labels) / np.bincount(member))
    if strata is not None:
        keys.append(np.unique(np.array(strata), return_inverse=True)[1][first])
    fold = np.empty(len(units), dtype=np.int64)
    fold[np.lexsort(keys)] = np.arange(len(units)) % max(2, count)
    return np.asarray(fold[member], dtype=np.int64)
