"""LlamaIndex evaluator: ``llama_index_evaluator().evaluate_response(query, response)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from veridical.integrations.judgement import judgement, texts_of
from veridical.single import acheck_one

if TYPE_CHECKING:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult


def llama_index_evaluator(**options: Any) -> BaseEvaluator:
    """Create an evaluator whose ``score`` is 1 - risk, and whose ``feedback`` is the reason.

    ``passing`` is true if the answer is supported or consistent. An unchecked answer is an
    ``invalid_result`` that does not pass.

    Args:
        options: of :func:`veridical.check_one`.
    """
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    class VeridicalEvaluator(BaseEvaluator):  # type: ignore[misc]
        def _get_prompts(self) -> dict[str, Any]:
            return {}

        def _update_prompts(self, prompts: dict[str, Any]) -> None:
            """Do nothing: the evaluator has no prompts."""

        async def aevaluate(
            self,
            query: str | None = None,
            response: str | None = None,
            contexts: Sequence[str] | None = None,
            **kwargs: Any,
        ) -> EvaluationResult:
            found = await acheck_one(
                response or "", question=query, contexts=texts_of(contexts) or None, **options
            )
            judged = judgement(found)
            return EvaluationResult(
                query=query,
                response=response,
                contexts=contexts,
                passing=judged.passed,
                score=judged.score if judged.checked else None,
                feedback=judged.reason,
                invalid_result=not judged.checked,
                invalid_reason=None if judged.checked else judged.reason,
            )

    return VeridicalEvaluator()
