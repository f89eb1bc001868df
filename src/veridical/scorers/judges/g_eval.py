"""G-Eval: form filling with probability-weighted scores (Liu et al. 2023)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.messages import ChatRequest, LlmError
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.llm.asking import (
    ask_verdicts,
    failed,
    form_for,
    judging,
    parts_of,
    read_all,
    report,
    request,
)
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import Prompt, PromptName, load_prompt

Draws = Annotated[int, Field(ge=1, le=100)]
_OWN, _STEPS = "g_eval_form", "g_eval_steps"
_GIVEN = frozenset({"criteria", "steps"})
_STEP_TOKENS = 512


@scorer(
    "g_eval",
    level="response",
    version=2,
    source="Liu 2023, eq. 1",
    cost="llm",
    raw_is="confidence",
    raw_key="value",
    prompts=(_OWN, _STEPS),
    check=lambda template, **_: judging(template),
)
async def g_eval(
    record: Record,
    evidence: Evidence,
    *,
    template: PromptName = "g_eval_consistency",  # type: ignore[assignment]
    criteria: str | None = None,
    llm: str | None = None,
    draws: Draws = 20,
    fences: bool = True,
) -> Score:
    """Compute the expected score of a form: the sum over scores s of p(s) * s.

    Args:
        template: ``g_eval_consistency`` (for a summary with its contexts), ``g_eval_coherence``,
            ``g_eval_relevance``, ``g_eval_fluency``, or the path of a template file.
        criteria: criteria in your own words for judging an answer to a question, instead of a
            template. The model first writes the evaluation steps, once for all records.
        llm: endpoint to call; the run's default if None.
        draws: number of answers sampled at temperature 1 if the server returns no token
            probabilities for the scores. Those with a clear score are averaged, and at least half
            must have one.
        fences: put delimiters around quoted text; false sends the template as published.

    ``raw`` has that expected score as ``value``, on the form's scale (1 to 5), and its origin.
    ``risk`` is the value mapped linearly from best (0) to worst (1).
    """
    try:
        prompt, parts = await _form(record, evidence, template, criteria, llm)
        form = form_for(evidence, llm)
        first = request(prompt, parts, record, fenced=fences, form=form)
        (verdict,) = await ask_verdicts(lambda calls: evidence.chat(calls, llm), [first], [prompt])
        if isinstance(verdict, JudgeVerdict) and verdict.how == "probability":
            return Score.of(verdict.risk, raw=report(verdict, prompt))
        requests = [
            request(prompt, parts, record, fenced=fences, temperature=1.0, ordinal=i)
            for i in range(draws)
        ]
        replies = await evidence.chat(requests, llm)
    except LlmError as e:
        return await failed(evidence, e)
    verdicts, troubles = read_all(replies, prompt)
    clear = [v for v in verdicts if v is not None]
    if 2 * len(clear) < draws:
        return await failed(evidence, *troubles)
    return _drawn(clear, troubles, prompt)


def _drawn(verdicts: list[JudgeVerdict], troubles: list[LlmError], prompt: Prompt) -> Score:
    value = sum(v.value for v in verdicts) / len(verdicts)
    risk = sum(v.risk for v in verdicts) / len(verdicts)  # the scale is linear
    answers = [v.answer for v in verdicts]
    raw: dict[str, Any] = {
        "confidence": 1 - risk,
        "value": value,
        "how": "draws",
        "counts": {a: answers.count(a) for a in sorted(set(answers))},
        "unclear": len(troubles),
        "prompt": prompt.identity,
    }
    return Score.of(risk, raw=raw)


async def _form(
    record: Record, evidence: Evidence, template: str, criteria: str | None, llm: str | None
) -> tuple[Prompt, dict[str, str]]:
    """Return the form to fill in, and the values of its placeholders."""
    if criteria is None:
        prompt = judging(template)
        return prompt, parts_of(record, prompt)
    prompt = load_prompt(_OWN)
    parts = parts_of(record, prompt, _GIVEN)
    steps_request = ChatRequest(
        load_prompt(_STEPS).messages(criteria=criteria), max_tokens=_STEP_TOKENS
    )
    steps = (await evidence.chat([steps_request], llm))[0].whole()
    return prompt, {**parts, "criteria": criteria, "steps": steps}
