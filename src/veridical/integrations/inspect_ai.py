"""Inspect scorer: ``veridical/risk``, or ``risk()`` in Python.

Inspect finds it by the entry point ``inspect_ai``. The sources of an answer are the tool results in
the conversation, and the sample's metadata under the column names of inputs. Without sources, the
target is the reference.
"""

from __future__ import annotations

from typing import Any

# registered on import: this module is imported only by Inspect or its users
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from veridical.integrations.judgement import fields_of, judgement
from veridical.single import acheck_one


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def risk(**options: Any) -> Scorer:
    """Score the risk of the answer, from 0 to 1 (worst).

    An unchecked answer is unscored, so it does not count in means.

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
        judged = judgement(await acheck_one(answer, **fields, **options))
        metadata = {"verdict": judged.label}
        if judged.value is None or not judged.checked:
            return Score.unscored(answer=answer, explanation=judged.reason, metadata=metadata)
        return Score(
            value=judged.value, answer=answer, explanation=judged.reason, metadata=metadata
        )

    return score
