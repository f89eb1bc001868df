"""LLM as a judge (Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 14)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.llm.asking import (
    Form,
    ask_each,
    failed,
    form_for,
    judging,
    parts_of,
    report,
    request,
)
from veridical.prompts import Prompt, PromptName

Temperature = Annotated[float, Field(ge=0, le=2)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
Draw = Annotated[int, Field(ge=0, le=1_000_000)]
_SAMPLE = frozenset({"sample"})


def judge_template(template: str) -> Prompt:
    """Load a template that :func:`judge` can use; see :func:`judging`."""
    return judging(template, _SAMPLE)


@scorer(
    "judge",
    level="response",
    version=2,
    judges=True,
    source="Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 14; each template names its own",
    cost="llm",
    presets={"all"},
    raw_is="confidence",
    raw_key="confidence",
    added={"draw"},
    check=lambda template, **_: judge_template(template),
)
async def judge(
    record: Record,
    evidence: Evidence,
    *,
    template: PromptName = "correct_incorrect",  # type: ignore[assignment]
    llm: str | None = None,
    explanations: bool = False,
    form: Form = "schema",
    fences: bool = True,
    temperature: Temperature = 0.0,
    max_tokens: Tokens | None = None,
    draw: Draw = 0,
) -> Score:
    """Request a language model's verdict on the answer by a template.

    Args:
        template: a template of the package (``veridical prompts`` lists them), or a TOML file. It
            defines the question, the fields of the record that are shown, and the allowed answers.
        llm: endpoint of the judge; the run's default if None (self-judging, if it also answered).
        explanations: also request reasons, which are kept in ``raw``.
        form: ``schema`` requests JSON, enforced by the server if it can; a model run locally by
            llama.cpp uses ``token`` instead. ``text`` sends only the template. Replies in either
            form are always accepted. ``token`` sends only the template and reads the first tokens
            of the answer; the server must return their probabilities. ``published`` is ``text``
            without fences and token probabilities, as in the papers.
        fences: put unforgeable delimiters around quoted text.
        temperature: sampling temperature; 0 is greedy.
        max_tokens: maximum tokens of the answer; None allows 256, with explanations 1024, with
            ``token`` only those of the verdict.
        draw: index of the answer; another index repeats the same request.

    ``raw`` has the judge's ``answer`` and its ``value`` on the paper's scale. The value's origin is
    ``probability``, the expected value over the answers' token probabilities, or ``text`` without
    them. ``raw`` also has the ``probabilities``, the mass ``outside`` the answers, and
    ``confidence`` in [0, 1], the value mapped linearly from worst to best. ``risk`` is 1 -
    confidence. A template with ``{sample}`` is sent once per sample, and the means count.

    A reply without a clear verdict is requested once more, with the rule restated (not with
    ``form=published``). If that fails too, or the reply is cut or refused, the score is failed and
    keeps the text.
    """
    prompt = judge_template(template)
    parts_shown: list[dict[str, str]]
    if "sample" in prompt.parts:
        parts = parts_of(record, prompt, _SAMPLE)
        parts_shown = [{**parts, "sample": s.text} for s in record.against("samples")]
    else:
        parts_shown = [parts_of(record, prompt)]
    requests = [
        request(
            prompt,
            parts,
            record,
            explain=explanations,
            fenced=fences,
            form=form_for(evidence, llm, form),
            temperature=temperature,
            max_tokens=max_tokens,
            ordinal=draw,
        )
        for parts in parts_shown
    ]
    try:
        answers, troubles = await ask_each(evidence, requests, prompt, llm, form, explanations)
    except LlmError as e:
        return await failed(evidence, e)
    if troubles:
        return await failed(evidence, *troubles)
    verdicts = [v for v in answers if v is not None]
    risk = sum(v.risk for v in verdicts) / len(verdicts)
    raw: dict[str, Any] = report(verdicts[0], prompt)
    if "sample" in prompt.parts:
        raw = {
            "confidence": 1 - risk,
            "value": sum(v.value for v in verdicts) / len(verdicts),
            "verdicts": [report(v, prompt) for v in verdicts],
        }
    return Score.of(risk, raw=raw)
