"""Rates of answers by human labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veridical_lab.rank.answers import RankedAnswer


def by_people(
    answers: Sequence[RankedAnswer], three_way: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Compute rates by human labels, (n,) each over the answers, NaN without labels.

    Only rates with labels are returned. ``hallucination`` is the answer's ``label``, else the share
    of its labelled units that are wrong (0.5 or more). If all labelled units of all answers are
    wrong (as spans are), the rest of an answer is right. The rate is then 1 for an answer with any
    unit, else 0.

    ``contradiction`` requires ``three_way`` labels of units, as RefChecker's (0 entailed, 0.5
    neutral, 1 contradicted): the share of 0.75 or more.
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
