"""A scorer of Inspect: ``veridical/risk``, or ``risk()`` in Python.

Inspect finds it by the entry point ``inspect_ai``. The sources of an answer are what tools said in
the conversation, and the sample's metadata under the names that columns of an input may have; the
target is a reference where there are no sources.
"""

from __future__ import annotations

from typing import Any

# registered on import: only Inspect itself, or who uses it, imports this module
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from veridical.integrations.judgement import fields_of, judgement
from veridical.single import acheck_one


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def risk(**options: Any) -> Scorer:
    """The risk of the answer, from 0 to 1, 1 is worst; an answer that was not checked is unscored,
    and so counts in no mean.

    Args:
        options: of :func:`veridical.check_one`.
    """

    async def score(state: TaskState, target: Target) -> Score:
        tools = [m.text for m in state.messages if m.role == "tool" and m.text.strip()]
        fields = fields_of(state.metadata, {"question": state.input_text})
        fields["contexts"] = [*fields.get("contexts", ()), *tools]
        if not fields["contexts"]:
            reference = [text for text in target if text.strip()]
            fields = {**fields, "reference": fields.get("reference", reference)}
        answer = state.output.completion
        told = judgement(await acheck_one(answer, **fields, **options))
        metadata = {"verdict": told.label}
        if told.value is None or not told.checked:
            return Score.unscored(answer=answer, explanation=told.reason, metadata=metadata)
        return Score(value=told.value, answer=answer, explanation=told.reason, metadata=metadata)

    return score
