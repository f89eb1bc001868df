"""Label-free ensemble: first component of a factor analysis of mixed data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from veridical.arrays import Floats
from veridical.errors import UsageError, unknown_name


def famd(scores: Mapping[str, Floats], binary: Collection[str] = ()) -> Floats:
    """Return the first FAMD component (Pagès 2004) of several scorers' scores, as ranks from 0 to
    1.

    This is the ensemble of Mirage, section 2. A component has no sign of its own: it is oriented,
    without labels, to correlate positively with the mean of the scorers' ranks. If scorers
    contradict one another, that correlation is near zero, and the direction means little. With
    numbers only, FAMD is a principal component analysis of the standardised columns; with
    categories only, a multiple correspondence analysis.

    Args:
        scores: scorer -> scores (n,), higher = riskier.
        binary: the scorers with verdicts instead of degrees; they enter as categories.

    Returns:
        (n,); NaN for items without a score of any of the scorers. All 0.5 if no scorer
        distinguishes two items.

    Raises:
        UsageError: there are fewer than two scorers, scores of different lengths, an unknown name
            in ``binary``, or the ``meta`` extra is not installed.
    """
    if len(scores) < 2:
        raise UsageError(f"famd requires at least two scorers, not {', '.join(scores) or 'none'}")
    for name in binary:
        if name not in scores:
            raise unknown_name("scorer of famd", name, scores)
    if len({len(s) for s in scores.values()}) > 1:
        lengths = ", ".join(f"{name} {len(s)}" for name, s in scores.items())
        raise UsageError(f"famd requires scores of the same items, not {lengths}")
    names = list(scores)
    columns = np.stack([np.asarray(scores[n], dtype=np.float64) for n in names], axis=1)
    quantiles = np.full(len(columns), np.nan)
    whole = ~np.isnan(columns).any(axis=1)
    complete = columns[whole]
    # a constant is uninformative, and cannot be standardised
    varies = [j for j in range(len(names)) if len(complete) and np.ptp(complete[:, j]) > 0]
    if not varies:
        quantiles[whole] = 0.5
        return quantiles
    chosen = [names[j] for j in varies]
    quantiles[whole] = ranks(
        first_component(complete[:, varies], chosen, [n in binary for n in chosen])
    )
    return quantiles


def first_component(columns: Floats, names: Sequence[str], binary: Sequence[bool]) -> Floats:
    """Return the first FAMD component (n,) of ``columns`` (n, k), none of them constant, with
    ``binary`` ones as categories.

    It is oriented to correlate positively with the mean of their ranks.

    Raises:
        UsageError: the ``meta`` extra is not installed.
    """
    categories = [n for n, b in zip(names, binary, strict=True) if b]
    return _turned(_first(columns, list(names), categories), columns)


def _first(columns: Floats, names: list[str], binary: list[str]) -> Floats:
    """Return the first component (n,) with arbitrary sign; columns (n, k) vary."""
    try:
        import pandas as pd
        import prince
    except ImportError as e:
        raise UsageError(f"famd requires prince; pip install prince ({e})") from None
    frame = pd.DataFrame(columns, columns=names)
    settings: dict[str, Any] = {"n_components": 1, "engine": "scipy"}  # exact, so no seed
    model: Any
    if not binary:
        model = prince.PCA(**settings)
    else:
        frame = frame.astype(dict.fromkeys(binary, str))
        if len(binary) == len(names):
            model = prince.MCA(**settings)
        else:
            model = prince.FAMD(categorical_columns=binary, **settings)
    return np.asarray(model.fit(frame).row_coordinates(frame), dtype=np.float64)[:, 0]


def _turned(component: Floats, columns: Floats) -> Floats:
    from scipy.stats import rankdata

    mean = rankdata(columns, axis=0).mean(axis=1)
    return component if component @ (mean - mean.mean()) >= 0 else -component


def ranks(values: Floats) -> Floats:
    """Return mean ranks scaled to [0, 1]; values that differ by rounding only are tied."""
    from scipy.stats import rankdata

    ranked = rankdata(np.round(values, 10))
    return np.asarray((ranked - 1) / max(1, len(values) - 1), dtype=np.float64)
