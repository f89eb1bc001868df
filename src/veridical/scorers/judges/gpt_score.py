"""GPTScore: probability of the answer after an instruction (Fu et al. 2023)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.core.tokens import GivenText
from veridical.errors import ModelError, UsageError
from veridical.llm.asking import check_parts, parts_of
from veridical.prompts import Prompt, PromptName, load_prompt


def _continued(template: str) -> Prompt:
    """Load the template and check that it has a user and an assistant message."""
    prompt = load_prompt(template)
    if [t.role for t in prompt.turns] != ["user", "assistant"]:
        raise UsageError(
            f"prompt {prompt.name} must consist of a user message and an assistant message"
        )
    check_parts(prompt)
    return prompt


@scorer(
    "gpt_score",
    level="response",
    source="Fu 2023, eq. 1",
    cost="probabilities",
    raw_is="confidence",
    check=lambda template, **_: _continued(template),
)
async def gpt_score(
    record: Record,
    evidence: Evidence,
    *,
    template: PromptName = "gpt_score_factuality",  # type: ignore[assignment]
    proxy: str | None = None,
) -> Score:
    """Compute the mean log-probability of the answer's tokens after an instruction.

    Args:
        template: the instruction: ``gpt_score_factuality``, ``gpt_score_consistency``,
            ``gpt_score_relevance`` and ``gpt_score_coverage`` for a summary with its contexts.
            ``gpt_score_correct_reply`` is the probability of "Yes." after the question if the reply
            is correct. Or a file with a user message, the literal preceding text, and an assistant
            message, the text whose probability is measured.
        proxy: the language model; it must return probabilities of given text.

    ``raw`` is that mean in nats, at most 0 (confidence). ``risk`` is 1 - exp(raw), that is 1 - the
    geometric mean of the tokens' probabilities. Log-probabilities are clipped at -103.
    """
    prompt = _continued(template)
    parts: dict[str, Any] = parts_of(record, prompt)
    before, weighed = prompt.messages(fenced=False, **parts)
    readings = await evidence.read([GivenText(before["content"], weighed["content"])], proxy)
    if not len(readings[0]):
        raise ModelError("the language model found no tokens in the text")
    raw = float(np.mean(readings[0].bounded().logprobs))
    return Score.of(1 - math.exp(raw), raw=raw)
