"""A language model as judge of an answer (Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 14)."""

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
    """A template that :func:`judge` can ask by; see :func:`judging`."""
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
    """What a language model says of the answer when asked by a template.

    Args:
        template: a template of the package (``veridical prompts`` lists them), or a TOML file.
            It says what is asked, which parts of the record are shown, and what may be answered.
        llm: the endpoint that judges; the run's own (self-judge, where it also answered) if None.
        explanations: ask for reasons too; they are kept in ``raw``.
        form: ``schema`` asks for JSON, and the server to hold the answer to it where it can; a
            model that llama.cpp runs here is asked by ``token`` instead. ``text`` sends what the
            template says and no more (both are always read); ``token`` does so too and takes only
            the first tokens of the answer, of which the server must tell the probabilities;
            ``published`` is ``text`` without fences and token probabilities, as the papers did.
        fences: put delimiters around what is quoted, which it cannot forge.
        temperature: of the answer; 0 is greedy.
        max_tokens: of the answer; None allows 256, with explanations 1024, by ``token`` what tells
            the verdict.
        draw: number of the answer: another number asks the same once more.

    ``raw`` has the judge's ``answer``, its ``value`` in the paper's numbers, how it was found
    (``probability``: the expected value over the answers' token probabilities; ``text`` where
    the server gives none), the ``probabilities`` and the mass ``outside`` the answers, and
    ``confidence`` in [0, 1], the value's way from the worst to the best; ``risk`` is 1 -
    confidence. A template with ``{sample}`` is asked once a sample, and the means count.

    An answer without a clear verdict is asked for once more, with the rule restated (not with
    ``form=published``). One that has none then, or is cut or refused, is a failed score that keeps
    the text.
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
