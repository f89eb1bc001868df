"""Bands of a risk, and the sentence that says what it means."""

from __future__ import annotations

import pytest

from veridical.core.bands import band, explain_risk


@pytest.mark.parametrize(
    ("risk", "name"),
    [(0, "low"), (0.33, "low"), (0.34, "medium"), (0.66, "medium"), (0.67, "high"), (1, "high")],
)
def test_bands(risk, name) -> None:
    assert band(risk) == name


@pytest.mark.parametrize("risk", [-0.1, 1.1, float("nan")])
def test_what_is_no_risk_is_refused(risk) -> None:
    with pytest.raises(ValueError, match="in \\[0, 1\\]"):
        band(risk)


def test_a_calibrated_risk_in_words() -> None:
    assert explain_risk(0.7) == (
        "high risk: where half of the answers are wrong, about 7 in 10 scored like this are "
        "(not calibrated on your data)"
    )
    assert "where 10 % of the answers are wrong, about 2 in 10" in explain_risk(0.2, prior=0.1)
    assert explain_risk(0.7, tuned=True) == (
        "high risk: about 7 in 10 of your graded answers that scored like this were wrong"
    )
    assert "about 2 in 100" in explain_risk(0.02)
    assert "fewer than 1 in 100" in explain_risk(0.001)
    assert "more than 99 in 100" in explain_risk(0.999)
    with pytest.raises(ValueError, match="prior"):
        explain_risk(0.5, prior=1.0)
