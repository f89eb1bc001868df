"""Verbalized confidence: the probability a model states (Tian et al. 2023)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.prompts import PromptName
from veridical.scorers.judges.judge import judge_template


@scorer(
    "verbalized",
    level="response",
    version=2,
    source="Tian 2023, table 6 (Verb. 2S top-1)",
    cost="llm",
    presets={"all"},
    raw_is="confidence",
    raw_key="confidence",
    check=lambda template, **_: judge_template(template),
)
async def verbalized(
    record: Record,
    evidence: Evidence,
    *,
    template: PromptName = "verbalized",  # type: ignore[assignment]
    llm: str | None = None,
    fences: bool = True,
) -> Score:
    """Request the probability that the answer is correct, as stated by the model.

    Args:
        template: ``verbalized`` asks for a number from 0 to 1, ``verbalized_phrases`` for one of
            six phrases worth 0, 0.2 ... 1, ``verbalized_code`` for the same about code.
        llm: endpoint to call; the run's default if None. The method uses the model that answered.
        fences: put delimiters around quoted text; false sends the template as published.

    ``raw`` is as in ``judge``; its ``confidence`` is the stated probability, ``risk`` 1 - it.
    """
    return await evidence.score("judge", template=template, llm=llm, fences=fences)
