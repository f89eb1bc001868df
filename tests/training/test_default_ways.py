"""One risk of an answer from those of its sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from training_scripts import training_script

ODDS = np.array([0.0, math.log(3)])  # 1/2 and 3/4 wrong


@pytest.fixture
def module() -> Iterator[ModuleType]:
    with training_script("default_ways") as found:
        yield found


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean", math.log(3) / 2),
        ("count", 1.25),
        ("any", -math.log(1 / 2 * 1 / 4)),
        ("worst, 0.0 of many", math.log(3)),
        ("worst, 0.5 of many", math.log(3) - math.log(2) / 2),
    ],
)
def test_ways(module: ModuleType, name: str, value: float) -> None:
    assert module.WAYS[name](ODDS) == pytest.approx(value)


def test_pairs_are_of_one_group(module: ModuleType) -> None:
    values = np.array([0.1, 0.9, 0.5, 0.5, np.nan, 0.2])
    labels = np.array([0, 1, 0, 1, 1, 0])
    groups = ["a", "a", "b", "b", "c", "c"]
    assert module.pairs_ordered(values, labels, groups) == (0.75, 2)  # a tie counts half


def test_the_best_share_is_taken(
    module: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long right answers have one sentence that is as bad as the wrong answers' only one."""
    items = [({}, 0.0, "g"), ({}, 0.0, "h"), ({}, 1.0, "g"), ({}, 1.0, "h")]
    one = module.Labelled.of("A", "", "contexts", "fit", items)
    long = np.array([1.0, *[-3.0] * 9])
    each = [[long, long, np.array([0.9]), np.array([0.8])]]
    best = module.best_of_many([one], each, [1.0])
    assert best > 0
    assert "pairs: A 1.000 of 2" in capsys.readouterr().out
    assert module.best_of_many([one], [[-o for o in each[0]]], [1.0]) == 0.0
    monkeypatch.setattr(module, "ALIKE", 1.0)  # all order alike: the smallest is taken
    assert module.best_of_many([one], each, [1.0]) == 0.0
