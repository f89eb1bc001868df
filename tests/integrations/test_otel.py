"""Events through the real Logs API and SDK of OpenTelemetry."""

from __future__ import annotations

from typing import Any

import pytest

from veridical import check_one
from veridical.integrations.otel import emit_evaluation, emit_guardrail

pytest.importorskip("opentelemetry.sdk")
SOURCE = "The tower is 57 m tall."
WRONG = "The tower is 70 m tall."


class Events:
    """A provider that keeps what is emitted."""

    def __init__(self) -> None:
        from opentelemetry.sdk._logs import LoggerProvider
        from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter as Exporter
        from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor

        self.exporter = Exporter()
        self.provider = LoggerProvider()
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self.exporter))

    def last(self) -> Any:
        return self.exporter.get_finished_logs()[-1].log_record


@pytest.fixture
def events() -> Events:
    return Events()


def test_an_evaluation(events: Events) -> None:
    from opentelemetry.trace import SpanContext, TraceFlags

    span = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1))
    result = check_one(WRONG, contexts=SOURCE, store=None)
    emit_evaluation(result, span=span, response_id="r1", provider=events.provider)
    record = events.last()
    assert record.event_name == "gen_ai.evaluation.result"
    assert record.attributes == {
        "gen_ai.evaluation.name": "veridical",
        "gen_ai.evaluation.score.label": "contradicted",
        "gen_ai.evaluation.score.value": result.risk,
        "gen_ai.response.id": "r1",
    }
    assert (record.trace_id, record.span_id) == (0xABC, 0xDEF)
    emit_evaluation(result, explain=True, provider=events.provider)
    assert WRONG in events.last().attributes["gen_ai.evaluation.explanation"]


def test_inside_a_span_that_is_its_parent(events: Events) -> None:
    from opentelemetry.sdk.trace import TracerProvider

    tracer = TracerProvider().get_tracer("app")
    with tracer.start_as_current_span("chat") as span:
        emit_evaluation(check_one(SOURCE, store=None), provider=events.provider)
    assert events.last().span_id == span.get_span_context().span_id


def test_unchecked_has_a_label_and_no_score(events: Events) -> None:
    result = check_one(SOURCE, contexts=SOURCE, preset="fast", store=None)  # it has a risk
    emit_evaluation(result, provider=events.provider)
    attributes = events.last().attributes
    assert attributes["gen_ai.evaluation.score.label"] == "unchecked"
    assert "gen_ai.evaluation.score.value" not in attributes
    emit_guardrail(result, provider=events.provider)
    assert events.last().attributes["gen_ai.guardrail.result.value"] == "unchecked"
    assert "gen_ai.guardrail.risk.score" not in events.last().attributes


def test_a_guardrail_says_nothing_of_the_text(events: Events) -> None:
    result = check_one(WRONG, contexts=SOURCE, store=None)
    emit_guardrail(result, "reject", policy="strict", provider=events.provider)
    record = events.last()
    assert record.event_name == "gen_ai.guardrail.result"
    assert record.attributes == {
        "gen_ai.guardrail.component.name": "veridical",
        "gen_ai.guardrail.source": "output",
        "gen_ai.guardrail.result.type": "decision",
        "gen_ai.guardrail.result.value": "reject",
        "gen_ai.guardrail.risk.category": "contradicted",
        "gen_ai.guardrail.risk.score": result.risk,
        "gen_ai.guardrail.policy.id": "strict",
    }
    assert record.body is None and "tower" not in str(record.attributes)
