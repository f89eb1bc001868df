"""Confidence in words: the probability a model states (Tian et al. 2023)."""

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
    """The probability that the model states for the answer's being correct, when asked after it.

    Args:
        template: ``verbalized`` asks for a number from 0 to 1, ``verbalized_phrases`` for one of
            six phrases worth 0, 0.2 ... 1, ``verbalized_code`` the same of code.
        llm: the endpoint asked; the run's own if None. The method means the one that answered.
        fences: put delimiters around what is quoted; false sends the template as published.

    ``raw`` is as of ``judge``; its ``confidence`` is the stated probability, ``risk`` 1 - it.
    """
    return await evidence.score("judge", template=template, llm=llm, fences=fences)
