"""The validator in a real guard of Guardrails AI."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("guardrails.validator_base")
RIGHT, WRONG = "The tower is 57 m tall.", "The tower is 70 m tall."


def guard(on_fail: str = "noop", **options: Any) -> Any:
    from guardrails import Guard

    from veridical.integrations.guardrails_ai import guardrails_validator

    return Guard().use(guardrails_validator(on_fail, store=None, nli="mini", **options))


def test_a_supported_answer_passes() -> None:
    made = guard().validate(RIGHT, metadata={"contexts": [RIGHT]})
    assert made.validation_passed and made.validated_output == RIGHT


def test_a_wrong_answer_fails_with_its_place_and_evidence() -> None:
    text = f"It is a tower. {WRONG}"
    made = guard().validate(text, metadata={"documents": ["It is a tower.", RIGHT]})
    assert not made.validation_passed
    (summary,) = made.validation_summaries
    assert summary.failure_reason.startswith("contradicted:") and "57 m" in summary.failure_reason
    (span,) = summary.error_spans
    assert text[span.start : span.end] == WRONG and span.reason == "figure"


def test_an_exception_where_asked_for() -> None:
    from guardrails.errors import ValidationError

    with pytest.raises(ValidationError, match="contradicted"):
        guard("exception").validate(WRONG, metadata={"contexts": [RIGHT]})


def test_what_was_not_checked_fails_unless_allowed() -> None:
    made = guard().validate(RIGHT, metadata={})
    assert not made.validation_passed
    assert made.validation_summaries[0].failure_reason.startswith("unchecked:")
    assert guard(allow_unchecked=True).validate(RIGHT, metadata={}).validation_passed
    refusal = "I cannot tell from the sources."
    assert not guard().validate(refusal, metadata={"contexts": [RIGHT]}).validation_passed
