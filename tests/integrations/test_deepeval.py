"""The metric in DeepEval's own runner."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("deepeval")
SOURCE = "The tower is 57 m tall."


def case(answer: str, **fields: Any) -> Any:
    from deepeval.test_case import LLMTestCase

    return LLMTestCase(input="How tall is the tower?", actual_output=answer, **fields)


def test_assert_test_passes_what_is_supported() -> None:
    from deepeval import assert_test

    from veridical.integrations.deepeval import deepeval_metric

    metric = deepeval_metric(store=None)
    assert_test(case(SOURCE, retrieval_context=[SOURCE]), [metric], run_async=False)
    assert_test(case(SOURCE, expected_output=SOURCE), [metric], run_async=True)


@pytest.mark.parametrize("run_async", [False, True])
@pytest.mark.parametrize(
    ("answer", "fields"),
    [
        ("The tower is 70 m tall.", {"context": [SOURCE]}),
        (SOURCE, {}),
        ("", {"context": [SOURCE]}),
    ],
)
def test_assert_test_fails_what_is_wrong_or_unchecked(
    answer: str, fields: dict[str, Any], run_async: bool
) -> None:
    from deepeval import assert_test

    from veridical.integrations.deepeval import deepeval_metric

    with pytest.raises(AssertionError, match="Veridical"):
        assert_test(case(answer, **fields), [deepeval_metric(store=None)], run_async=run_async)


def test_the_fields_of_a_measurement() -> None:
    from deepeval.test_case import RetrievedContextData

    from veridical.integrations.deepeval import deepeval_metric

    metric = deepeval_metric(threshold=0.5, store=None)
    source = RetrievedContextData(context=SOURCE, source="guide.txt")
    wrong = case("The tower is 70 m tall.", retrieval_context=[source])
    assert metric.measure(wrong) == metric.score and metric.score < 0.5
    assert not metric.is_successful() and metric.reason.startswith("contradicted: ")
    assert metric.skipped is False and metric.error is None
    strict = deepeval_metric(threshold=1.0, store=None)
    strict.measure(case(SOURCE, retrieval_context=[SOURCE]))
    assert not strict.is_successful()
