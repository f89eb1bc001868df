"""BSDetector: observed consistency and self-reflection (Chen & Mueller 2023)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.errors import ModelError, NotApplicable
from veridical.llm.asking import ask_all, failed, parts_of, report, request
from veridical.prompts import load_prompt

Weight = Annotated[float, Field(ge=0, le=1)]
_QUESTIONS = ("bsdetector_first", "bsdetector_second")


@scorer(
    "bsdetector",
    level="response",
    needs={"samples"},
    source="Chen & Mueller 2023, eq. 1-2 and figure 6b",
    cost="llm",
    presets={"all"},
    uses={"nli"},
    raw_is="confidence",
    raw_key="confidence",
    prompts=_QUESTIONS,
)
async def bsdetector(
    record: Record,
    evidence: Evidence,
    *,
    llm: str | None = None,
    alpha: Weight = 0.8,
    beta: Weight = 0.7,
    fences: bool = True,
) -> Score:
    """Combine the agreement of samples with the answer and the model's self-reflection.

    Args:
        llm: endpoint for the reflection; the run's default if None. The method uses the model that
            answered.
        alpha: weight of NLI non-contradiction s against exact equality r in the observed
            consistency O = alpha * s + (1 - alpha) * r.
        beta: weight of O against the self-reflection S: C = beta * O + (1 - beta) * S.
        fences: put delimiters around quoted text; false sends the questions as published.

    S is the mean over two questions: "is it correct?" and "are you really sure?". The answers are
    (A) correct = 1, (B) incorrect = 0 or (C) not sure = 0.5.

    ``raw`` has O and its two parts, S and both verdicts, and ``confidence`` = C, in [0, 1];
    ``risk`` is 1 - C.
    """
    prompts = [load_prompt(name) for name in _QUESTIONS]
    requests = [request(p, parts_of(record, p), record, fenced=fences) for p in prompts]
    similar = await _confidence(evidence, "noncontradiction")
    equal = await _confidence(evidence, "exact_match")
    try:
        verdicts = await ask_all(lambda calls: evidence.chat(calls, llm), requests, prompts)
    except LlmError as e:
        return await failed(evidence, e)
    consistency = alpha * similar + (1 - alpha) * equal
    reflection = sum(v.value for v in verdicts) / len(verdicts)
    confidence = beta * consistency + (1 - beta) * reflection
    raw: dict[str, Any] = {
        "confidence": confidence,
        "observed_consistency": consistency,
        "noncontradiction": similar,
        "exact_match": equal,
        "self_reflection": reflection,
        "verdicts": [report(v, p) for v, p in zip(verdicts, prompts, strict=True)],
    }
    return Score.of(1 - confidence, raw=raw)


async def _confidence(evidence: Evidence, name: str) -> float:
    score = await evidence.score(name)
    if score.risk is None:
        why = f"{name}: {score.reason}"
        raise NotApplicable(why) if score.status == "not_applicable" else ModelError(why)
    return 1 - score.risk
