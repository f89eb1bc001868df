"""Scorers that compare the response's claims with those of its samples."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_answer, stated_source
from veridical.errors import NotApplicable, UsageError
from veridical.scorers._claim_units import claim_costs, claim_prompts, claims_to_judge
from veridical.scorers.consistency._centrality import CENTRALITIES, Centrality
from veridical.scorers.consistency._claim_merging import PROMPT, Merge, merged
from veridical.scorers.consistency.luq import (
    Aggregate,
    Measure,
    least_supporting,
    measured,
    of_units,
)


def _prompts(extractor: str, merge: str, **_: object) -> tuple[str, ...]:
    return claim_prompts(extractor) + ((PROMPT,) if merge == "llm" else ())


#: Declaration that these scorers share.
_SHARED: dict[str, Any] = {
    "needs": {"samples"},
    "cost": "llm",
    "uses": {"nli", "tokens"},
    "prompts": _prompts,
    "raw_is": "confidence",
    "added": {"merge"},
}


def _frequency_costs(
    extractor: str, count: str, merge: Literal["none"] | Merge, llm: str | None, **_: object
) -> set[Cost]:
    if merge == "none":
        return claim_costs("claim_frequency", extractor, llm, {"nli"})
    call = f"claim_frequency(merge={merge})"
    if extractor == "given":
        raise UsageError(f"{call} needs claims of the samples; use another extractor than given")
    if count != "label":
        raise UsageError(f"{call} counts the samples that make a claim; remove count={count}")
    return claim_costs("claim_frequency", extractor, llm, {merge})


@scorer(
    "claim_frequency",
    level="claim",
    source="Zhang 2024 (LUQ-atomic), counted; RefChecker's claims against samples",
    costs_by=_frequency_costs,
    **_SHARED,
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
        extractor: splits the response into claims, as in ``claims``: ``response``, ``sentences``,
            ``clauses``, ``triplets``, ``given``, or ``llm_atomic`` and others that call an LLM.
        aggregate: the response's value is the mean over claims, or the minimum.
        count: a sample counts 1 if entailment is the most probable class (``label``), or by a
            measure of ``luq``. With ``contrasted_entailment`` and claims by an LLM this is
            LUQ-atomic.
        merge: ``none`` judges a claim by whole samples. Otherwise samples are split into claims
            too, and a sample counts if it makes an equivalent claim. ``nli`` tests mutual
            entailment, ``llm`` asks sample by sample (see ``claim_graph``). This is stricter: a
            sample whose claim says more does not count.
        llm: endpoint of extractors that call an LLM and of ``merge=llm``; the run's default if
            None.

    ``raw`` is the share in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. A
    claim's evidence is the closest sentence of the samples that support it least. Its probability
    is that of entailment (or the measure; 1 or 0 for merged claims).

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
        others = await _claims_of_samples(record, evidence, sources, extractor, llm)
        first = await merged(evidence, [own, *others], merge, llm)
        made = [{first[text] for text in part} for part in others]
        found = np.array([[float(first[text] in part) for part in made] for text in own])
        support = found
    spans, texts = [c.span(record.response) for c in claims], [c.text for c in claims]
    items = least_supporting(evidence, texts, sources, support)
    return of_units(spans, found.mean(axis=1), items, aggregate, "claim")


def _graph_costs(extractor: str, merge: Merge, llm: str | None, **_: object) -> set[Cost]:
    if extractor == "given":
        raise UsageError(
            "claim_graph needs claims of the samples; use another extractor than given"
        )
    asked: set[Cost] = {"nli", merge}
    return claim_costs("claim_graph", extractor, llm, asked)


@scorer(
    "claim_graph",
    level="claim",
    source="Jiang 2024 (graph uncertainty); UQLM 0.6, LongTextGraph",
    costs_by=_graph_costs,
    **_SHARED,
)
async def claim_graph(
    record: Record,
    evidence: Evidence,
    *,
    centrality: Centrality = "closeness",
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5,
    extractor: ExtractorName = "clauses",
    aggregate: Aggregate = "mean",
    merge: Merge = "nli",
    llm: str | None = None,
) -> Score:
    """Compute the centrality of the response's claims among all claims and answers.

    The claims of response and samples are pooled, and equivalent claims are merged. A claim is
    connected to each answer that entails it with a probability of at least ``threshold``; this
    probability is the edge's weight. A claim of the response has the centrality of the claim it was
    merged into.

    Args:
        centrality: ``closeness`` (UQLM's default), ``harmonic`` and ``betweenness``, normalised for
            bipartite graphs. ``degree`` is the share of the answers, ``strength`` the mean weight
            over the answers (UQLM's degree). ``pagerank`` sums to 1 over the graph, so its values
            are small. ``laplacian`` is the share of the Laplacian energy. Or ``eigenvector``.
        threshold: minimum probability of entailment for an edge.
        extractor: splits each answer into claims, as in ``claims``; not ``given``.
        aggregate: the response's value is the mean over its claims, or the minimum.
        merge: how equivalent claims are found. ``nli`` merges claims that entail each other.
            ``llm`` asks an LLM, as UQLM does, answer by answer, which earlier claims are equivalent
            (10 claims per call). Claims that differ in a number, date, name or negation are never
            merged.
        llm: endpoint of extractors that call an LLM and of ``merge=llm``; the run's default if
            None.

    ``raw`` is in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. Values of
    different centralities are not on one scale. A claim's evidence is the closest sentence of the
    samples that support it least, with the probability of entailment.

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no sample
            has a text.
        LlmError: the extractor, or the merging, failed.
    """
    response = record.need_answer()
    sources = record.against("samples")
    claims = await claims_to_judge(record, evidence, extractor, llm)
    own = [c.text for c in claims]
    groups = [own, *await _claims_of_samples(record, evidence, sources, extractor, llm)]
    distinct = list(dict.fromkeys(text for part in groups for text in part))
    premises = [stated_answer(record, text) for text in (response, *(x.text for x in sources))]
    support = (await evidence.nli([(p, t) for t in distinct for p in premises])).entailment
    table = support.reshape(len(distinct), len(premises))
    first = await merged(evidence, groups, merge, llm)
    rows = {text: row for row, text in enumerate(distinct)}
    firsts = [text for text in distinct if first[text] == text]
    edges = table[[rows[text] for text in firsts]]
    values = CENTRALITIES[centrality](np.where(edges >= threshold, edges, 0.0))
    central = dict(zip(firsts, values.tolist(), strict=True))
    raws = np.array([round(central[first[text]], 9) for text in own])
    spans = [c.span(record.response) for c in claims]
    items = least_supporting(evidence, own, sources, table[[rows[text] for text in own], 1:])
    return of_units(spans, raws, items, aggregate, "claim")


async def _claims_of_samples(
    record: Record, evidence: Evidence, sources: Sequence[Source], extractor: str, llm: str | None
) -> list[list[str]]:
    """Return the texts of each sample's claims; none if it declines or states nothing."""
    return await asyncio.gather(
        *(_claims_of(record, evidence, source.text, extractor, llm) for source in sources)
    )


async def _claims_of(
    record: Record, evidence: Evidence, text: str, extractor: str, llm: str | None
) -> list[str]:
    if not text.strip():
        return []
    sample = Record(prompt=record.prompt, response=text, contexts=record.contexts)
    try:
        return [c.text for c in await claims_to_judge(sample, evidence, extractor, llm)]
    except NotApplicable:
        return []
