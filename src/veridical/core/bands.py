"""Risk bands (low, medium, high) and their explanation in words."""

from __future__ import annotations

from typing import Literal

Band = Literal["low", "medium", "high"]
#: Upper bound of a low risk and lower bound of a high one. They apply to equal numbers of right and
#: wrong answers. Fewer than one in three answers with a low risk were wrong, and more than two in
#: three with a high one.
LOW, HIGH = 1 / 3, 2 / 3
#: The share of wrong answers that the default's risk is calibrated to.
EVEN = 0.5
NOT_YOURS = "not calibrated on your data"


def band(risk: float) -> Band:
    """Return ``low`` (risk < 1/3), ``high`` (risk > 2/3) or ``medium``.

    Raises:
        ValueError: the risk is not in [0, 1].
    """
    if not 0 <= risk <= 1:
        raise ValueError(f"risk must be in [0, 1], not {risk}")
    return "low" if risk < LOW else "high" if risk > HIGH else "medium"


def explain_risk(risk: float, *, tuned: bool = False, prior: float = EVEN) -> str:
    """Explain a calibrated risk in one sentence.

    Args:
        risk: in [0, 1], from the default or a calibrated tuned ensemble.
        tuned: True if the risk was calibrated on the user's own graded answers.
        prior: share of wrong answers, in (0, 1), to which an untuned risk is calibrated.

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
    """Explain the default's risks in one sentence.

    Raises:
        ValueError: the prior is not in (0, 1).
    """
    return (
        f"A risk of 0.7 means: where {_part(prior)} of the answers are wrong, about 7 in 10 scored "
        f"like this are ({NOT_YOURS})."
    )


def _share(risk: float) -> str:
    """Return a risk as a share of ten, or of a hundred near 0 and 1."""
    if 0.05 <= risk <= 0.95:
        return f"about {round(10 * risk)} in 10"
    if risk < 0.01:
        return "fewer than 1 in 100"
    if risk > 0.99:
        return "more than 99 in 100"
    return f"about {round(100 * risk)} in 100"


def _part(prior: float) -> str:
    if not 0 < prior < 1:
        raise ValueError(f"prior must be in (0, 1), not {prior}")
    return "half" if prior == EVEN else f"{100 * prior:.3g} %"
