"""A risk in words: its band, and what it says where it is calibrated."""

from __future__ import annotations

from typing import Literal

Band = Literal["low", "medium", "high"]
#: A risk under the first is low, and one over the second is high: at equal numbers of right and
#: wrong answers, fewer than one in three, or more than two in three, that scored so were wrong.
LOW, HIGH = 1 / 3, 2 / 3
#: The share of wrong answers that the default's risk is calibrated to.
EVEN = 0.5
NOT_YOURS = "not calibrated on your data"


def band(risk: float) -> Band:
    """``low`` (risk < 1/3), ``high`` (risk > 2/3), else ``medium``.

    Raises:
        ValueError: the risk is not in [0, 1].
    """
    if not 0 <= risk <= 1:
        raise ValueError(f"a risk is in [0, 1], not {risk}")
    return "low" if risk < LOW else "high" if risk > HIGH else "medium"


def explain_risk(risk: float, *, tuned: bool = False, prior: float = EVEN) -> str:
    """One plain sentence on what a calibrated risk says.

    Args:
        risk: in [0, 1], of the default or of a calibrated tuned ensemble.
        tuned: whether it was calibrated on the user's own graded answers.
        prior: the share of wrong answers that an untuned risk is for, in (0, 1).

    Raises:
        ValueError: the risk is not in [0, 1], or the prior not in (0, 1).
    """
    name = band(risk)
    share = _share(risk)
    if tuned:
        return f"{name} risk: {share} of your graded answers that scored like this were wrong"
    where = f"where {_part(prior)} of the answers are wrong"
    return f"{name} risk: {where}, {share} scored like this are ({NOT_YOURS})"


def meaning(prior: float = EVEN) -> str:
    """What the default's risks mean, in one plain sentence.

    Raises:
        ValueError: the prior is not in (0, 1).
    """
    return (
        f"A risk of 0.7 means: where {_part(prior)} of the answers are wrong, about 7 in 10 scored "
        f"like this are ({NOT_YOURS})."
    )


def _share(risk: float) -> str:
    """A risk as a share of ten; of a hundred near the ends."""
    if 0.05 <= risk <= 0.95:
        return f"about {round(10 * risk)} in 10"
    if risk < 0.01:
        return "fewer than 1 in 100"
    if risk > 0.99:
        return "more than 99 in 100"
    return f"about {round(100 * risk)} in 100"


def _part(prior: float) -> str:
    if not 0 < prior < 1:
        raise ValueError(f"a prior is in (0, 1), not {prior}")
    return "half" if prior == EVEN else f"{100 * prior:.3g} %"
