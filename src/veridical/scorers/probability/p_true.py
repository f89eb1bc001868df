"""P(True): the model's own probability of correctness (Kadavath et al. 2022)."""

from __future__ import annotations

from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.llm.asking import Form, ask_all, failed, parts_of, request
from veridical.llm.verdicts import JudgeVerdict
from veridical.prompts import load_prompt

#: Templates for the answer alone, and with the samples.
_ALONE, _AMONG = "p_true", "p_true_samples"


@scorer(
    "p_true",
    level="response",
    version=2,
    source="Kadavath 2022; UQLM, p_true",
    cost="llm",
    presets={"all"},
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
    """Compute the probability that a model answers True when asked if the answer is true.

    The prompt is UQLM's; a reply of one word is allowed.

    Args:
        llm: endpoint to call; the run's default if None.
        show_samples: list the distinct texts of samples and response as possible answers before the
            proposed one, if the record has samples.
        fences: put delimiters around quoted text; false sends the prompt as published.

    ``raw`` is P(True) / (P(True) + P(False)) over the tokens at the verdict, if the server returns
    both. If it returns only one of the two, ``raw`` is P(True) or 1 - P(False), UQLM's formula.
    Without probabilities it is 1 or 0 by the text. ``risk`` is 1 - raw. A reply that is neither
    True nor False is requested once more. If that fails too, or the reply is cut or refused, the
    score is failed and keeps the text.

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
    form: Form = "token" if evidence.tells_tokens(llm) else "text"
    question = request(prompt, parts, record, fenced=fences, form=form)
    try:
        (verdict,) = await ask_all(lambda calls: evidence.chat(calls, llm), [question], [prompt])
    except LlmError as e:
        return await failed(evidence, e)
    confidence = _confidence(verdict)
    return Score.of(1 - confidence, raw=confidence)


def _confidence(verdict: JudgeVerdict) -> float:
    """Return P(True): from the verdict if both probabilities or neither are known, else from
    one.
    """
    shares, outside = verdict.probabilities, verdict.outside
    if shares is None or outside is None or len(shares) != 1:
        return verdict.value
    return 1 - outside if "True" in shares else outside
