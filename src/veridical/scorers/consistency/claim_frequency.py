"""Claim frequency: in how many samples each claim of the response is found."""

from __future__ import annotations

from typing import Literal

import numpy as np

from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_source
from veridical.errors import UsageError
from veridical.scorers.claim_units import claim_costs, claims_to_judge
from veridical.scorers.consistency.claim_merging import Merge, merged
from veridical.scorers.consistency.claim_samples import SHARED, claims_of_samples, claims_score
from veridical.scorers.consistency.luq import Aggregate, Measure, measured


def _costs(
    extractor: str, count: str, merge: Literal["none"] | Merge, llm: str | None, **_: object
) -> set[Cost]:
    if merge == "none":
        return claim_costs("claim_frequency", extractor, llm, {"nli"})
    call = f"claim_frequency(merge={merge})"
    if extractor == "given":
        raise UsageError(f"{call} needs claims of the samples too: extractor=given has none")
    if count != "label":
        raise UsageError(f"{call} counts the samples that make a claim: leave count={count} out")
    return claim_costs("claim_frequency", extractor, llm, {merge})


@scorer(
    "claim_frequency",
    level="claim",
    source="Zhang 2024 (LUQ-atomic), counted; RefChecker's claims against samples",
    costs_by=_costs,
    **SHARED,
)
async def claim_frequency(
    record: Record,
    evidence: Evidence,
    *,
    extractor: ExtractorName = "clauses",
    aggregate: Aggregate = "mean",
    count: Literal["label"] | Measure = "label",
    merge: Literal["none"] | Merge = "none",
    llm: str | None = None,
) -> Score:
    """Share of the samples that support a claim of the response.

    Args:
        extractor: takes the response apart, as in ``claims``: ``response``, ``sentences``,
            ``clauses``, ``triplets``, ``given``, or by an LLM ``llm_atomic`` and others.
        aggregate: the response's value is the mean over claims, or the smallest.
        count: a sample counts where entailment is the most probable class (``label``), or by one
            of the measures of ``luq``: with ``contrasted_entailment`` and claims by an LLM this is
            LUQ-atomic.
        merge: ``none`` judges a claim by whole samples. Otherwise samples are taken apart too, and
            a sample counts where it makes a claim that says the same: by ``nli`` those that entail
            each other, or those of which an ``llm`` says so, asked sample by sample (see
            ``claim_graph``). This is stricter: a sample that says more in one claim does not count.
        llm: of an extractor that asks one, and of ``merge=llm``; the run's own if None.

    ``raw`` is the share in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. A
    claim's evidence shows the samples that support it least, each by its sentence most about it,
    with the probability of entailment (or the measure; of merged claims 1 or 0).

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no sample
            has a text.
        LlmError: the extractor, or the merging, failed.
    """
    record.need_answer()
    sources = record.against("samples")
    claims = await claims_to_judge(record, evidence, extractor, llm)
    if merge == "none":
        premises = [stated_source(record, evidence, x) for x in sources]
        verdicts = await evidence.nli([(p, claim.text) for claim in claims for p in premises])
        shape = (len(claims), len(sources))
        support = measured(verdicts, "entailment" if count == "label" else count).reshape(shape)
        found = support
        if count == "label":
            found = (verdicts.probabilities.argmax(axis=1) == 0).reshape(shape).astype(np.float64)
    else:
        own = [claim.text for claim in claims]
        others = await claims_of_samples(record, evidence, sources, extractor, llm)
        first = await merged(evidence, [own, *others], merge, llm)
        made = [{first[text] for text in part} for part in others]
        found = np.array([[float(first[text] in part) for part in made] for text in own])
        support = found
    raws = found.mean(axis=1)
    return claims_score(record, evidence, claims, raws, sources, support, aggregate)
