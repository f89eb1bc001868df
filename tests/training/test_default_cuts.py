"""The operating point of the default, by sets whose best cuts are known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from training_scripts import training_script


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("default_cuts") as found:
        yield found


def judged(module: ModuleType, risks: list[float], labels: list[int], **more: Any) -> Any:
    odds = np.array([math.log(r / (1 - r)) for r in risks])
    share = more.pop("contradiction", [1.0] * len(risks))
    return module.Judged(odds, np.array(labels), np.array(share), **more)


def even(module: ModuleType, wrong: float) -> Any:
    """1 000 answers of risks 0.0005, 0.0015, ...; from ``wrong`` on they are wrong."""
    risks = [(i + 0.5) / 1000 for i in range(1000)]
    return judged(module, risks, [int(r > wrong) for r in risks])


def test_of_cuts_that_err_alike_the_most_even_one_is_taken(module: ModuleType) -> None:
    """Errors add up to 1 at every cut, and from 0.2 to 0.3 to 0.99."""
    right = [(i + 0.5) / 1000 for i in range(1000)]
    wrong = [r + 0.1 if 0.19 < r < 0.2 else r for r in right]
    balanced = module.cuts([judged(module, right + wrong, [0] * 1000 + [1] * 1000)])["balanced"]
    assert balanced["flagged"] == pytest.approx(0.5)
    assert balanced["right_flagged"] == pytest.approx(balanced["wrong_missed"], abs=0.01)


def test_the_balanced_cut_is_where_errors_are_least(module: ModuleType) -> None:
    made = module.cuts([even(module, 0.45)])
    assert made["balanced"]["flagged"] == pytest.approx(0.45, abs=0.03)
    assert made["balanced"]["right_flagged"] + made["balanced"]["wrong_missed"] < 0.06
    # at most a tenth of the answers are unclear: risks are even, so that is a tenth of the scale
    width = made["balanced"]["flagged"] - made["balanced"]["unclear"]
    assert width == pytest.approx(0.1, abs=0.011) and width <= 0.1 + 1e-9


def test_low_flags_half_as_many_and_high_misses_half_as_many(module: ModuleType) -> None:
    rng = np.random.default_rng(1)
    right, wrong = rng.beta(2, 4, 4000), rng.beta(4, 2, 4000)
    made = module.cuts([judged(module, [*right, *wrong], [0] * 4000 + [1] * 4000)])
    low, balanced, high = (made[name] for name in ("low", "balanced", "high"))
    assert high["flagged"] < balanced["flagged"] < low["flagged"]
    assert low["right_flagged"] == pytest.approx(balanced["right_flagged"] / 2, abs=0.02)
    assert high["wrong_missed"] == pytest.approx(balanced["wrong_missed"] / 2, abs=0.02)


def test_sets_count_by_their_weight(module: ModuleType) -> None:
    some = judged(module, [0.6, 0.6], [0, 1])
    other = judged(module, [0.4, 0.4], [0, 1], weight=3.0)
    assert module.errors([some, other], 0.5) == (0.25, 0.75)


def test_contradicted_is_said_where_three_of_four_are_wrong(module: ModuleType) -> None:
    # from a risk of .8 on all are wrong, below it half: .75 is reached between them
    risks = [0.5 + i / 200 for i in range(90)]
    labels = [i % 2 if r < 0.8 else 1 for i, r in enumerate(risks)]
    one = judged(module, risks, labels)
    found = module.contradicted_from([one], 0.5)
    chosen = one.odds >= math.log(found["risk"] / (1 - found["risk"]))
    right = (chosen & (one.labels == 0)).sum() / (one.labels == 0).sum()
    wrong = (chosen & (one.labels == 1)).sum() / (one.labels == 1).sum()
    assert 0.5 < found["risk"] < 0.8 and wrong / (wrong + right) >= 0.75
    # what does not speak of contradiction is not chosen, so nothing can make it right
    neutral = one._replace(contradiction=np.zeros(len(risks)))
    assert module.contradicted_from([neutral], 0.5)["risk"] == 0.99
