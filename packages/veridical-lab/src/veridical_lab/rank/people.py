"""What people's labels say of each answer, as a rate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical_lab.rank.answers import RankedAnswer


def by_people(
    answers: Sequence[RankedAnswer], three_way: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Rates by people's labels, (n,) each over the answers, NaN where they say nothing; only those
    that they tell.

    ``hallucination`` is the answer's ``label``. Where it has none, it is made of its labelled
    units: the share that is not right (0.5 or more). Where in all answers only wrong units are
    labelled (as spans are), the rest is right, and it is 1 for an answer with any, else 0.

    ``contradiction`` takes ``three_way`` labels of units, as RefChecker's (0 entailed, 0.5 neutral,
    1 contradicted): the share of 0.75 or more.
    """
    units = [u for a in answers for u in a.units or ()]
    marks = bool(units) and min(units) >= 0.5
    hallucination = np.array([_hallucination(a, marks) for a in answers], np.float64)
    rates = {}
    if not np.isnan(hallucination).all():
        rates["hallucination"] = hallucination
    if three_way and units:
        rates["contradiction"] = np.array(
            [np.nan if not a.units else np.mean([u >= 0.75 for u in a.units]) for a in answers],
            np.float64,
        )
    return rates


def _hallucination(answer: RankedAnswer, marks: bool) -> float:
    if answer.label is not None:
        return answer.label
    if answer.units is None:
        return np.nan
    if marks:
        return float(bool(answer.units))
    return float(np.mean([u >= 0.5 for u in answer.units])) if answer.units else np.nan
