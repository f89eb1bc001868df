"""SelfCheckGPT with Prompt (Manakul et al. 2023, eq. 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from veridical.arrays import Floats
from veridical.core.evidence import Evidence
from veridical.core.messages import LlmError
from veridical.core.records import Against, Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.errors import UsageError
from veridical.llm.asking import (
    Form,
    ask_each,
    failed,
    form_for,
    judging,
    parts_of,
    request,
)
from veridical.prompts import Prompt, PromptName
from veridical.scorers._most_about import sentence_most_about
from veridical.text.spans import Span

_LEAST_READ = 0.5
_PARTS = frozenset({"sample", "sentence"})


def _supporting(template: str) -> Prompt:
    prompt = judging(template, _PARTS)
    if not prompt.parts >= _PARTS:
        raise UsageError(f"prompt {prompt.name} must contain {{sample}} and {{sentence}}")
    return prompt


@scorer(
    "selfcheck_prompt",
    level="sentence",
    version=2,
    needs={"against"},
    source="Manakul 2023, eq. 11",
    cost="llm",
    raw_is="risk",
    raw_key="risk",
    check=lambda template, **_: _supporting(template),
)
async def selfcheck_prompt(
    record: Record,
    evidence: Evidence,
    *,
    template: PromptName = "selfcheck_paper",  # type: ignore[assignment]
    against: Against = "samples",
    llm: str | None = None,
    unclear: Literal["skip", "half"] = "skip",
    form: Form = "schema",
    fences: bool = True,
) -> Score:
    """Compute the mean over samples of an LLM's verdicts of missing support for a sentence.

    The model judges every sentence against every sample. All sentences of one sample follow each
    other, so that servers cache the sample. Yes counts 0 and No 1; with token probabilities the
    value is P(No) / (P(Yes) + P(No)). Line breaks of samples become blanks, as in the published
    package.

    Args:
        template: ``selfcheck_paper`` or ``selfcheck_package``, the two published endings, or a file
            with ``{sample}`` and ``{sentence}``.
        against: source that the sentences are compared with. Values are averaged over samples; for
            several contexts or references the most supportive one counts.
        llm: endpoint to call; the run's default if None.
        unclear: treatment of a pair without a clear verdict after a second request. ``skip`` drops
            it, and fails the score if more than half of a sentence's pairs are dropped; ``half``
            counts 0.5, as in the paper.
        form, fences: as in ``judge``.

    A sentence's ``raw`` and risk are that mean, in [0, 1]. Its evidence is the closest sentence of
    each of the (up to 3) least supportive samples. The response's ``risk`` is the mean over
    sentences. ``raw`` has this risk, the number of ``unclear`` verdicts and the first of their
    texts.
    """
    prompt = _supporting(template)
    sentences = record.need_sentences()
    sources = record.against(against)
    shared = parts_of(record, prompt, _PARTS)
    flat = [" ".join(s.text.splitlines()) for s in sources]
    form = form_for(evidence, llm, form)
    requests = [
        request(
            prompt,
            {**shared, "sample": sample, "sentence": sentence.text},
            record,
            fenced=fences,
            form=form,
        )
        for sample in flat
        for sentence in sentences
    ]
    try:
        verdicts, troubles = await ask_each(evidence, requests, prompt, llm, form)
    except LlmError as e:
        return await failed(evidence, e)
    judged = np.array([np.nan if v is None else v.risk for v in verdicts])
    risks = judged.reshape(len(sources), len(sentences)).T
    if unclear == "half":
        risks = np.where(np.isnan(risks), 0.5, risks)
    elif (np.isfinite(risks).mean(axis=1) < _LEAST_READ).any():
        return await failed(evidence, *troubles)
    units = [
        _unit(sentence, row, sources, evidence)
        for sentence, row in zip(sentences, risks, strict=True)
    ]
    risk = float(np.mean([u.risk for u in units]))
    texts = [e.text for e in troubles[:SHOWN]]
    return Score.of(risk, raw={"risk": risk, "unclear": len(troubles), "texts": texts}, units=units)


def _unit(sentence: Span, risks: Floats, sources: Sequence[Source], evidence: Evidence) -> Unit:
    """Build the sentence's unit from its (sources,) risks, ignoring NaN.

    Samples are averaged; of other sources the minimum counts.
    """
    clear = np.flatnonzero(np.isfinite(risks))
    if sources[0].kind == "sample":
        raw = float(risks[clear].mean())
        places = sorted(clear.tolist(), key=lambda n: -risks[n])[:SHOWN]
    else:
        places = [int(clear[risks[clear].argmin()])]
        raw = float(risks[places[0]])
    return Unit.of(
        sentence,
        raw,
        raw=raw,
        label="unsupported" if raw > 0.5 else "supported",
        evidence=[
            sentence_most_about(evidence, sentence.text, sources[n], float(risks[n]))
            for n in places
        ],
    )
