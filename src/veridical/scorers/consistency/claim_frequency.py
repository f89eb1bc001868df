"""Claim frequency: in how many samples each claim of the response is found."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from veridical.claims import extractors
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.stated import stated_source
from veridical.errors import UsageError
from veridical.scorers.claim_units import claims_to_judge
from veridical.scorers.consistency.luq import Aggregate, Measure, measured
from veridical.scorers.most_about import sentence_most_about


def _costs(extractor: str, llm: str | None, **_: Any) -> set[Cost]:
    costs = extractors.costs_of(extractor)
    if llm is not None and "llm" not in costs:
        raise UsageError(f"claim_frequency(extractor={extractor}) asks no llm: leave llm={llm} out")
    return {"nli"} | costs


def _prompts(extractor: str, **_: object) -> tuple[str, ...]:
    return tuple(extractors.prompts_of(extractor))


@scorer(
    "claim_frequency",
    level="claim",
    needs={"samples"},
    source="Zhang 2024 (LUQ-atomic), counted; RefChecker's claims against samples",
    cost="llm",
    uses={"nli"},
    costs_by=_costs,
    prompts=_prompts,
    raw_is="confidence",
)
async def claim_frequency(
    record: Record,
    evidence: Evidence,
    *,
    extractor: str = "clauses",
    aggregate: Aggregate = "mean",
    count: Literal["label"] | Measure = "label",
    llm: str | None = None,
) -> Score:
    """Share of the samples that entail a claim of the response, by whole samples.

    Args:
        extractor: takes the response apart, as in ``claims``: ``response``, ``sentences``,
            ``clauses``, ``triplets``, ``given``, or by an LLM ``llm_atomic`` and others.
        aggregate: the response's value is the mean over claims, or the smallest.
        count: a sample counts where entailment is the most probable class (``label``), or by one
            of the measures of ``luq``: with ``contrasted_entailment`` and claims by an LLM this is
            LUQ-atomic.
        llm: of an extractor that asks one; the run's own if None.

    ``raw`` is the share in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. A
    claim's evidence shows the samples that support it least, each by its sentence most about it,
    with the probability of entailment (or the measure).

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no sample
            has a text.
        LlmError: the extractor failed.
    """
    record.need_response()
    sources = record.against("samples")
    claims = await claims_to_judge(record, evidence, extractor, llm)
    premises = [stated_source(record, evidence, x) for x in sources]
    verdicts = await evidence.nli([(p, claim.text) for claim in claims for p in premises])
    shape = (len(claims), len(sources))
    support = measured(verdicts, "entailment" if count == "label" else count).reshape(shape)
    found = support
    if count == "label":
        found = (verdicts.probabilities.argmax(axis=1) == 0).reshape(shape).astype(np.float64)
    raw = found.mean(axis=1)
    units = [
        Unit.of(
            claim.span(record.response),
            1 - float(raw[i]),
            raw=float(raw[i]),
            level="claim",
            evidence=[
                sentence_most_about(evidence, claim.text, sources[n], float(support[i, n]))
                for n in np.argsort(support[i], kind="stable")[:SHOWN]
            ],
        )
        for i, claim in enumerate(claims)
    ]
    value = float(raw.mean() if aggregate == "mean" else raw.min())
    return Score.of(1 - value, raw=value, units=units)
