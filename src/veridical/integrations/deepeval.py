"""DeepEval metric: ``assert_test(case, [deepeval_metric()])``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.integrations.judgement import judgement, texts_of
from veridical.single import acheck_one, check_one

if TYPE_CHECKING:
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    from veridical.core.scores import Result


def deepeval_metric(threshold: float = 0.5, **options: Any) -> BaseMetric:
    """Create a metric whose ``score`` is 1 - risk.

    It succeeds if the answer is supported or consistent and its score is at least ``threshold``. An
    unchecked answer has the score 0 and fails. DeepEval ignores ``skipped`` metrics in a test's
    outcome, so a test of nothing else would pass. Sources are ``retrieval_context``, else
    ``context``; without both, ``expected_output`` is the reference.

    Args:
        options: of :func:`veridical.check_one`.
    """
    from deepeval.metrics import BaseMetric

    class VeridicalMetric(BaseMetric):  # type: ignore[misc]
        def __init__(self) -> None:
            self.threshold = threshold
            self.evaluation_model = "veridical"
            self.include_reason = True

        def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
            fields = _fields(test_case)
            return self._take(check_one(test_case.actual_output or "", **fields, **options))

        async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float:
            fields = _fields(test_case)
            return self._take(await acheck_one(test_case.actual_output or "", **fields, **options))

        def _take(self, result: Result) -> float:
            judged = judgement(result)
            self.score, self.reason = judged.score, judged.reason
            self.skipped, self.error = False, None
            self.success = judged.passed and judged.score >= threshold
            return judged.score

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return "Veridical"

    return VeridicalMetric()


def _fields(case: LLMTestCase) -> dict[str, Any]:
    contexts = texts_of(case.retrieval_context) or texts_of(case.context)
    fields = {
        "question": case.input if isinstance(case.input, str) else None,
        "contexts": contexts,
        "reference": [] if contexts else texts_of(case.expected_output),
    }
    return {name: value for name, value in fields.items() if value}
