"""SelfCheckGPT with Prompt (Manakul et al. 2023, eq. 11)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from veridical.errors import UsageError
from veridical.llm.messages import LlmError
from veridical.llm.prompts import Prompt, PromptName
from veridical.records import Against, Record, Source
from veridical.registry import scorer
from veridical.scorers.judges.asking import Form, failed, judging, parts_of, read_all, request
from veridical.scores import SHOWN, EvidenceItem, Score, Unit
from veridical.text.relevance import most_about

if TYPE_CHECKING:
    from veridical.evidence import Evidence

_LEAST_READ = 0.5
_PARTS = frozenset({"sample", "sentence"})


def _supporting(template: str) -> Prompt:
    prompt = judging(template, _PARTS)
    if not prompt.parts >= _PARTS:
        raise UsageError(f"prompt {prompt.name} must have {{sample}} and {{sentence}}")
    return prompt


@scorer(
    "selfcheck_prompt",
    level="sentence",
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
    """Mean over samples of a language model's verdict that a sample does not support a sentence.

    Every sentence is put to the model with every sample. Yes is worth 0 and No 1; where the
    server gives token probabilities, P(No) / (P(Yes) + P(No)). Line breaks of samples become
    blanks, as in the published package.

    Args:
        template: ``selfcheck_paper`` or ``selfcheck_package``, the two published endings, or a
            file with the parts ``{sample}`` and ``{sentence}``.
        against: what the sentences are compared with. The mean is over samples; of several
            contexts or references the most supportive counts.
        llm: the endpoint asked; the run's own if None.
        unclear: what becomes of a pair without a clear verdict. ``skip`` leaves it out, and fails
            the score where more than half of a sentence's pairs are so; ``half`` counts 0.5, as
            the paper does.
        form, fences: as of ``judge``.

    A sentence's ``raw`` and risk are that mean, in [0, 1]; its evidence is the sentence most
    about it of each of the (up to 3) least supportive samples. The response's ``risk``, also in
    ``raw`` beside the number of ``unclear`` verdicts and the first of their texts, is the mean
    over sentences.
    """
    prompt = _supporting(template)
    sentences = record.need_sentences()
    sources = record.against(against)
    shared = parts_of(record, prompt, _PARTS)
    flat = [" ".join(s.text.splitlines()) for s in sources]
    asked = [
        request(
            prompt,
            {**shared, "sample": sample, "sentence": sentence.text},
            record,
            fenced=fences,
            form=form,
        )
        for sentence in sentences
        for sample in flat
    ]
    try:
        replies = await evidence.chat(asked, llm)
    except LlmError as e:
        return await failed(evidence, e)
    verdicts, troubles = read_all(replies, prompt)
    judged = np.array([np.nan if v is None else v.risk for v in verdicts])
    risks = judged.reshape(len(sentences), len(sources))
    if unclear == "half":
        risks = np.where(np.isnan(risks), 0.5, risks)
    elif (np.isfinite(risks).mean(axis=1) < _LEAST_READ).any():
        return await failed(evidence, *troubles)
    units = []
    for i, sentence in enumerate(sentences):
        read = np.flatnonzero(np.isfinite(risks[i]))
        if against == "samples":
            raw = float(risks[i, read].mean())
            shown = sorted(read.tolist(), key=lambda n: -risks[i, n])[:SHOWN]
        else:
            best = int(read[risks[i, read].argmin()])
            raw, shown = float(risks[i, best]), [best]
        units.append(
            Unit.of(
                sentence,
                raw,
                raw=raw,
                label="unsupported" if raw > 0.5 else "supported",
                evidence=[
                    _most_about(evidence, sources[n], sentence.text, float(risks[i, n]))
                    for n in shown
                ],
            )
        )
    risk = float(np.mean([u.risk for u in units]))
    texts = [e.text for e in troubles[:SHOWN]]
    return Score.of(risk, raw={"risk": risk, "unclear": len(troubles), "texts": texts}, units=units)


def _most_about(evidence: Evidence, source: Source, text: str, risk: float) -> EvidenceItem:
    """The sentence of ``source`` that shares most words with ``text``."""

    def split() -> list[tuple[int, int, list[str]]]:
        return [(s.start, s.end, evidence.words(s.text)) for s in source.sentences()]

    spans = evidence.once(("selfcheck_prompt", source), split)
    start, end, _ = spans[most_about(evidence.words(text), [words for _, _, words in spans])]
    return EvidenceItem.at(source, start, end, risk)
