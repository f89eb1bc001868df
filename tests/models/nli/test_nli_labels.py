"""Which output is which class: by names in every spelling, and by the answers to plain pairs."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from veridical.core.protocols import LABELS
from veridical.errors import ModelError, UsageError
from veridical.models.nli.labels import (
    PLAIN,
    Order,
    class_of,
    config_names,
    given_order,
    order_of,
    settle,
)

TRUTH = [label for _, label in PLAIN]


def answers(order: tuple[str, ...], sure: float = 0.8, wrong: int = 0) -> Any:
    """Of a model whose outputs are ``order``: each plain pair's class has ``sure``, but for the
    first ``wrong`` pairs, whose next output has it."""
    rows = np.full((len(PLAIN), len(order)), (1 - sure) / (len(order) - 1))
    for i, (row, label) in enumerate(zip(rows, TRUTH, strict=True)):
        name = label if label in order else "not_entailment"
        at = order.index(name) if name in order else 0
        row[(at + (i < wrong)) % len(order)] = sure
    return rows


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("entailment", "entailment"), ("ENTAILMENT", "entailment"), ("Entail", "entailment")),
        *(("neutral", "neutral"), ("NEUTRAL", "neutral"), ("contradict", "contradiction")),
        *(("Contradiction", "contradiction"), ("not_entailment", "not_entailment")),
        *(("non-entailment", "not_entailment"), ("NOT ENTAILMENT", "not_entailment")),
        *(("LABEL_0", None), ("supported", None), ("", None), ("positive", None)),
    ],
)
def test_names(name: str, expected: str | None) -> None:
    assert class_of(name) == expected


def test_heads_of_two_and_three_classes() -> None:
    assert order_of(["C", "E", "N"]) is None
    assert order_of(["entailment", "neutral"]) is None
    assert order_of(["entailment", "entail", "neutral"]) is None
    three, two = (
        order_of(["CONTRADICTION", "neutral", "entail"]),
        order_of(["entail", "contradict"]),
    )
    rest = order_of(["not_entailment", "entailment"])
    assert three is not None and two is not None and rest is not None
    assert (three.contradicts, two.contradicts, rest.contradicts) == (True, True, False)
    np.testing.assert_allclose(three(np.array([[0.1, 0.2, 0.7]])), [[0.7, 0.2, 0.1]], atol=1e-6)
    np.testing.assert_allclose(two(np.array([[0.9, 0.1]])), [[0.9, 0, 0.1]], atol=1e-6)
    np.testing.assert_allclose(rest(np.array([[0.9, 0.1]])), [[0.1, 0.9, 0]], atol=1e-6)


def test_names_of_configurations() -> None:
    by_id = {"2": "entailment", "0": "contradiction", "1": "neutral"}
    assert config_names({"id2label": by_id}) == ["contradiction", "neutral", "entailment"]
    numbered = {str(i): f"LABEL_{i}" for i in range(3)}
    by_label = {"entailment": 0, "neutral": 1, "contradiction": 2}
    assert config_names({"id2label": numbered, "label2id": by_label}) == list(LABELS)
    assert config_names({"id2label": numbered}) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    assert config_names({}) == [] == config_names({"id2label": ["entailment"], "label2id": None})


@pytest.mark.parametrize("order", list(permutations(LABELS)))
def test_every_order_is_found_by_its_names_or_by_the_answers(order: tuple[str, ...]) -> None:
    assert settle(order, answers(order), "m").classes == order
    assert settle(["LABEL_0", "LABEL_1", "LABEL_2"], answers(order), "m").classes == order
    other = (order[1], order[2], order[0])
    with pytest.raises(ModelError, match=r"do not fit its answers: 0 of 6 plain pairs right"):
        settle(other, answers(order), "m")
    swapped = (order[1], order[0], order[2])
    with pytest.raises(ModelError, match=r"2 of 6.*\?labels=entailment,neutral,contradiction"):
        settle(swapped, answers(order), "m")


@pytest.mark.parametrize(
    "order",
    [
        *(("entailment", "contradiction"), ("contradiction", "entailment")),
        *(("entailment", "not_entailment"), ("not_entailment", "entailment")),
    ],
)
def test_two_way_heads(order: tuple[str, ...]) -> None:
    assert settle(order, answers(order), "m").classes == order
    with pytest.raises(ModelError, match=r"0 of [46] plain pairs right"):
        settle(order[::-1], answers(order), "m")
    # the answers cannot tell what the class against entailment means
    with pytest.raises(ModelError, match="is unclear from its labels"):
        settle(["LABEL_0", "LABEL_1"], answers(order), "m")


def test_a_small_model_may_miss_one_pair_if_its_labels_are_named() -> None:
    assert settle(LABELS, answers(LABELS, wrong=1), "m").classes == LABELS
    with pytest.raises(ModelError, match="4 of 6"):
        settle(LABELS, answers(LABELS, wrong=2), "m")
    with pytest.raises(ModelError, match="is unclear"):
        settle([], answers(LABELS, wrong=1), "m")


def test_hardly_surer_than_chance_is_no_answer() -> None:
    with pytest.raises(ModelError, match=r"6 of 6.*mean probability 0.40"):
        settle(LABELS, answers(LABELS, sure=0.4), "m")
    with pytest.raises(ModelError, match=r"labels \(none\)"):
        settle([], answers(LABELS, sure=0.4), "m")


def test_a_stated_order_is_believed() -> None:
    order = given_order("Contradiction,ENTAILMENT,neutral")
    assert settle(LABELS, answers(LABELS), "m", order) == order
    with pytest.raises(ModelError, match="has 2 outputs, not one each for"):
        settle([], answers(("entailment", "contradiction")), "m", order)
    for wrong in ("", "yes,no", "entailment", "entailment,neutral,neutral"):
        with pytest.raises(UsageError, match="classes in its own order"):
            given_order(wrong)


def test_answers_that_are_not_finite_are_errors() -> None:
    with pytest.raises(ModelError, match="not finite"):
        settle(LABELS, np.full((6, 3), np.nan), "m", Order(LABELS))
