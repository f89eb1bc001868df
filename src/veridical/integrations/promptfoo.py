"""An assertion of promptfoo, which loads a Python file by its path::

    assert:
      - type: python
        value: file://veridical_assert.py

where the file holds ``from veridical.integrations.promptfoo import get_assert``; ``veridical init
promptfoo`` writes one. Sources, question, samples and reference are variables of the test, under
the names that columns of an input may have (``context``, ``question``, ...). ``config`` of the
assertion may have ``threshold`` and options of :func:`veridical.check_one`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.integrations.judgement import fields_of, judgement
from veridical.single import check_one


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Judge one output: ``pass``, ``score`` (1 - risk), ``reason`` and ``namedScores``.

    It passes if it is supported or consistent, and its score is at least ``threshold`` (default 0).
    An unchecked output does not pass.

    Raises:
        UsageError: ``config`` has an unknown option.
    """
    options = dict(context.get("config") or {})
    threshold = float(options.pop("threshold", 0.0))
    variables = context.get("vars") or {}
    fields = fields_of(variables, {"prompt": context.get("prompt")})
    judged = judgement(check_one(str(output), **fields, **options))
    named = {} if judged.value is None else {"risk": judged.value}
    return {
        "pass": judged.passed and judged.score >= threshold,
        "score": judged.score,
        "reason": judged.reason,
        "namedScores": named,
    }
