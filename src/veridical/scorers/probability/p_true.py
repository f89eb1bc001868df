"""P(True): the model's own probability that the answer is right (Kadavath et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.llm.messages import LlmError
from veridical.llm.prompts import load_prompt
from veridical.llm.verdicts import read_verdict
from veridical.records import Record
from veridical.registry import scorer
from veridical.scorers.judges.asking import failed, parts_of, request
from veridical.scores import Score

if TYPE_CHECKING:
    from veridical.evidence import Evidence


#: Templates: of the answer alone, and of it among the samples.
_ALONE, _AMONG = "p_true", "p_true_samples"


@scorer(
    "p_true",
    level="response",
    source="Kadavath 2022; UQLM, p_true",
    cost="llm",
    presets={"auto"},
    raw_is="confidence",
    prompts=(_ALONE, _AMONG),
)
async def p_true(
    record: Record,
    evidence: Evidence,
    *,
    llm: str | None = None,
    show_samples: bool = True,
    fences: bool = True,
) -> Score:
    """Probability that a model says True when asked whether the answer is true or false.

    The prompt is UQLM's; it may be answered by one word.

    Args:
        llm: the endpoint that is asked; the run's own if None.
        show_samples: list the samples and the response, each text once, as possible answers
            before the proposed one, where the record has samples.
        fences: put delimiters around what is quoted; false sends the prompt as published.

    ``raw`` is P(True) / (P(True) + P(False)) over the tokens at the place of the verdict where the
    server gives their probabilities (UQLM takes P(True), or 1 - P(False), of the one token it
    sees), else 1 or 0 by the text. ``risk = 1 - raw``. An answer that is cut, refused, or neither
    True nor False is a failed score that keeps the text.

    Raises:
        NotApplicable: the response is blank, or the record has no prompt.
    """
    response = record.need_response()
    answers = sorted({*(t for t in record.sample_texts if t.strip()), response})
    listed = show_samples and len(answers) > 1
    prompt = load_prompt(_AMONG if listed else _ALONE)
    parts = parts_of(record, prompt, frozenset({"samples"}))
    if listed:
        parts["samples"] = "\n".join(answers)
    asked = request(prompt, parts, record, fenced=fences, form="text")
    try:
        (reply,) = await evidence.chat([asked], llm)
        verdict = read_verdict(reply, prompt)
    except LlmError as e:
        return await failed(evidence, e)
    return Score.of(verdict.risk, raw=verdict.value)
