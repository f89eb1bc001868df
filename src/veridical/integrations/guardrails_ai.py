"""Guardrails AI validator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veridical.core.verdict_cuts import FLAGGED
from veridical.integrations.judgement import fields_of, judgement
from veridical.single import check_one

if TYPE_CHECKING:
    from guardrails.validator_base import Validator


def guardrails_validator(
    on_fail: Any = None, *, allow_unchecked: bool = False, **options: Any
) -> Validator:
    """Create a validator for ``Guard().use(...)`` that requires supported answers.

    The sources are in the ``metadata`` of the call, under the column names of inputs:
    ``guard.validate(answer, metadata={"contexts": [...], "question": ...})``. A failure contains
    the worst sentence and its evidence, and marks each flagged sentence as an error span.

    Args:
        on_fail: of Guardrails AI, such as ``"exception"`` or ``"refrain"``.
        allow_unchecked: pass answers that could not be checked, such as those without sources.
        options: of :func:`veridical.check_one`.
    """
    from guardrails.validator_base import (
        ErrorSpan,
        FailResult,
        PassResult,
        ValidationResult,
        Validator,
        register_validator,
    )

    @register_validator(name="veridical/supported", data_type="string")
    class VeridicalSupported(Validator):  # type: ignore[misc]
        """Validator that requires support by the sources in the metadata."""

        def validate(self, value: Any, metadata: Mapping[str, Any]) -> ValidationResult:
            result = check_one(str(value), **fields_of(metadata), **options)
            found = judgement(result)
            note = {"verdict": found.label, "risk": found.value, "reason": found.reason}
            if found.passed or found.label == "unclear":
                return PassResult(metadata={"veridical": note})
            if allow_unchecked and not found.checked:
                return PassResult(metadata={"veridical": note})
            spans = [
                ErrorSpan(start=piece.start, end=piece.end, reason=piece.kind or piece.verdict)
                for piece in result.shown().sentences
                if piece.verdict in FLAGGED
            ]
            return FailResult(
                error_message=found.reason, error_spans=spans, metadata={"veridical": note}
            )

    return VeridicalSupported(on_fail=on_fail)
