"""A language model as judge of an answer (Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 14)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from veridical.llm.messages import LlmError
from veridical.llm.prompts import Prompt, PromptName
from veridical.records import Record
from veridical.registry import scorer
from veridical.scorers.judges.asking import (
    Form,
    failed,
    judging,
    parts_of,
    read_all,
    report,
    request,
)
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence

Temperature = Annotated[float, Field(ge=0, le=2)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000)]
_SAMPLE = frozenset({"sample"})


def judge_template(template: str) -> Prompt:
    """A template that :func:`judge` can ask by; see :func:`judging`."""
    return judging(template, _SAMPLE)


@scorer(
    "judge",
    level="response",
    source="Chen & Mueller 2023; Bouchard & Chauhan 2025, eq. 14; each template names its own",
    cost="llm",
    presets={"auto"},
    raw_is="confidence",
    raw_key="confidence",
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
) -> Score:
    """What a language model says of the answer when asked by a template.

    Args:
        template: a template of the package (``veridical prompts`` lists them), or a TOML file.
            It says what is asked, which parts of the record are shown, and what may be answered.
        llm: the endpoint that judges; the run's own (self-judge, where it also answered) if None.
        explanations: ask for reasons too; they are kept in ``raw``.
        form: ``schema`` asks for JSON, and the server to hold the answer to it where it can;
            ``text`` sends what the template says and no more (both are always read);
            ``published`` also leaves out fences and token probabilities, as the papers did.
        fences: put delimiters around what is quoted, which it cannot forge.
        temperature: of the answer; 0 is greedy.
        max_tokens: of the answer; None allows 256, with explanations 1024.

    ``raw`` has the judge's ``answer``, its ``value`` in the paper's numbers, how it was found
    (``probability``: the expected value over the answers' token probabilities; ``text`` where
    the server gives none), the ``probabilities`` and the mass ``outside`` the answers, and
    ``confidence`` in [0, 1], the value's way from the worst to the best; ``risk`` is 1 -
    confidence. A template with ``{sample}`` is asked once a sample, and the means count.

    An answer that is cut, refused, or has no clear verdict is a failed score that keeps the text.
    """
    prompt = judge_template(template)
    shown: list[dict[str, str]]
    if "sample" in prompt.parts:
        parts = parts_of(record, prompt, _SAMPLE)
        shown = [{**parts, "sample": s.text} for s in record.against("samples")]
    else:
        shown = [parts_of(record, prompt)]
    asked = [
        request(
            prompt,
            parts,
            record,
            explain=explanations,
            fenced=fences,
            form=form,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        for parts in shown
    ]
    try:
        replies = await evidence.chat(asked, llm)
    except LlmError as e:
        return await failed(evidence, e)
    read, troubles = read_all(replies, prompt, explanations)
    if troubles:
        return await failed(evidence, *troubles)
    verdicts = [v for v in read if v is not None]
    risk = sum(v.risk for v in verdicts) / len(verdicts)
    raw: dict[str, Any] = report(verdicts[0], prompt)
    if "sample" in prompt.parts:
        raw = {
            "confidence": 1 - risk,
            "value": sum(v.value for v in verdicts) / len(verdicts),
            "verdicts": [report(v, prompt) for v in verdicts],
        }
    return Score.of(risk, raw=raw)
