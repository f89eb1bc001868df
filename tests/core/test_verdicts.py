from __future__ import annotations

import numpy as np
import pytest

from veridical.core.verdicts import Verdicts
from veridical.errors import NotApplicable

TABLE = np.array([[0.6, 0.3, 0.1], [0.0, 1.0, 0.0], [0.25, 0.5, 0.25], [0.2, 0.2, 0.6]])


def test_columns_are_by_class_and_rows_by_pair() -> None:
    found = Verdicts(TABLE)
    assert found.entailment.tolist() == [0.6, 0, 0.25, 0.2]
    assert found.neutral.tolist() == [0.3, 1, 0.5, 0.2]
    assert found.contradiction.tolist() == [0.1, 0, 0.25, 0.6]
    assert len(found) == 4 and len(found[1:3]) == 2
    assert found[[3, 0]].contradiction.tolist() == [0.6, 0.1]
    assert found.as_dict(0) == {"entailment": 0.6, "neutral": 0.3, "contradiction": 0.1}


def test_two_way_renormalisation_worked_by_hand() -> None:
    """Manakul 2023, eq. 9: e^c / (e^e + e^c) is P(c) / (P(e) + P(c))."""
    found = Verdicts(TABLE)
    assert found.contradiction_vs_entailment() == pytest.approx([1 / 7, 0.5, 0.5, 0.75])
    assert found.entailment_vs_contradiction() == pytest.approx([6 / 7, 0.5, 0.5, 0.25])


def test_the_first_class_wins_a_tie() -> None:
    labels = Verdicts(np.array([[0.4, 0.2, 0.4], [0.2, 0.4, 0.4], [0.1, 0.1, 0.8]])).labels()
    assert labels == ["entailment", "neutral", "contradiction"]


def test_a_model_without_contradiction_is_not_asked_for_it() -> None:
    found = Verdicts(np.array([[0.7, 0.3, 0.0]]), contradicts=False)
    assert found.entailment.tolist() == [0.7]
    for ask in (
        lambda: found.contradiction,
        lambda: found.neutral,
        found.contradiction_vs_entailment,
        lambda: found[:1].contradiction,
    ):
        with pytest.raises(NotApplicable, match="no class for contradiction"):
            ask()
