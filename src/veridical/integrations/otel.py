"""OpenTelemetry events: ``gen_ai.evaluation.result`` and ``gen_ai.guardrail.result``.

They follow the semantic conventions for generative AI (status: development), through the Logs API.
Events go to the destination of the application's own logger provider.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.integrations.judgement import judgement
from veridical.version import __version__

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.trace import SpanContext

    from veridical.core.scores import Decision, Result

EVALUATION, GUARDRAIL = "gen_ai.evaluation.result", "gen_ai.guardrail.result"


def emit_evaluation(
    result: Result,
    *,
    span: SpanContext | None = None,
    response_id: str | None = None,
    explain: bool = False,
    provider: LoggerProvider | None = None,
) -> None:
    """Emit the verdict and risk of an answer.

    An unchecked answer has the label ``unchecked`` and no score; if scoring failed, ``error.type``
    is set.

    Args:
        span: of the call that produced the answer: the event's parent. Default: the current one.
        response_id: the provider's id of the answer.
        explain: add the reason, which quotes the answer and its sources.
        provider: default: the global one.
    """
    judged = judgement(result)
    attributes: dict[str, Any] = {
        "gen_ai.evaluation.name": "veridical",
        "gen_ai.evaluation.score.label": judged.label,
    }
    if judged.value is not None and judged.checked:
        attributes["gen_ai.evaluation.score.value"] = judged.value
    if explain:
        attributes["gen_ai.evaluation.explanation"] = judged.reason
    if response_id is not None:
        attributes["gen_ai.response.id"] = response_id
    if result.reason == "failed":
        attributes["error.type"] = "scoring_failed"
    _emit(EVALUATION, attributes, span, provider)


def emit_guardrail(
    result: Result,
    decision: Decision | None = None,
    *,
    policy: str | None = None,
    span: SpanContext | None = None,
    provider: LoggerProvider | None = None,
) -> None:
    """Emit a guard's decision on an answer, without quoting the answer.

    Args:
        decision: default: the result's own, by its policy.
        policy: name of the policy.
        span, provider: as in :func:`emit_evaluation`.
    """
    decided = decision or result.decision
    attributes: dict[str, Any] = {
        "gen_ai.guardrail.component.name": "veridical",
        "gen_ai.guardrail.source": "output",
        "gen_ai.guardrail.result.type": "verdict" if decided is None else "decision",
        "gen_ai.guardrail.result.value": decided or result.verdict,
        "gen_ai.guardrail.risk.category": result.verdict,
    }
    if result.risk is not None and result.verdict != "unchecked":
        attributes["gen_ai.guardrail.risk.score"] = result.risk
    if policy is not None:
        attributes["gen_ai.guardrail.policy.id"] = policy
    _emit(GUARDRAIL, attributes, span, provider)


def _emit(
    name: str, attributes: dict[str, Any], span: SpanContext | None, provider: LoggerProvider | None
) -> None:
    from opentelemetry import trace
    from opentelemetry._logs import SeverityNumber, get_logger

    parent = None
    if span is not None:
        parent = trace.set_span_in_context(trace.NonRecordingSpan(span))
    logger: Logger = get_logger("veridical", __version__, logger_provider=provider)
    logger.emit(
        event_name=name,
        attributes=attributes,
        context=parent,
        severity_number=SeverityNumber.INFO,
    )
