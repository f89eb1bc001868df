"""Centrality of claims among the answers that state them (Jiang et al. 2024; UQLM)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from veridical.arrays import Matrix
from veridical.claims import extractors
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import Cost, scorer
from veridical.core.scores import SHOWN, Score, Unit
from veridical.core.stated import stated_answer
from veridical.errors import NotApplicable, UsageError
from veridical.scorers.claim_units import claims_to_judge
from veridical.scorers.consistency.centrality import CENTRALITIES, Centrality
from veridical.scorers.consistency.clusters import grouped
from veridical.scorers.consistency.luq import Aggregate
from veridical.scorers.most_about import sentence_most_about


def _costs(extractor: str, llm: str | None, **_: Any) -> set[Cost]:
    costs = extractors.costs_of(extractor)
    if extractor == "given":
        raise UsageError("claim_graph needs claims of the samples too: extractor=given has none")
    if llm is not None and "llm" not in costs:
        raise UsageError(f"claim_graph(extractor={extractor}) asks no llm: leave llm={llm} out")
    return {"nli"} | costs


def _prompts(extractor: str, **_: object) -> tuple[str, ...]:
    return tuple(extractors.prompts_of(extractor))


@scorer(
    "claim_graph",
    level="claim",
    needs={"samples"},
    source="Jiang 2024 (graph uncertainty); UQLM 0.6, LongTextGraph",
    cost="llm",
    uses={"nli"},
    costs_by=_costs,
    prompts=_prompts,
    raw_is="confidence",
)
async def claim_graph(
    record: Record,
    evidence: Evidence,
    *,
    centrality: Centrality = "closeness",
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.5,
    extractor: str = "clauses",
    aggregate: Aggregate = "mean",
    llm: str | None = None,
) -> Score:
    """How central the response's claims are among all claims and the answers that state them.

    The claims of the response and of the samples are taken together; those that entail each other
    are one (where UQLM asks an LLM to merge them). A claim is joined to each answer that entails it
    with a probability of at least ``threshold``, which is the weight of the edge. A claim of the
    response has the centrality of the claim that it was merged into.

    Args:
        centrality: ``closeness`` (UQLM's default) and ``betweenness``, normalised for graphs of two
            sides; ``degree``, the share of the answers; ``eigenvector``; ``pagerank``, which adds
            up to 1 over the graph, so that it is small; ``laplacian``, the share of its energy.
        threshold: of the probability of entailment.
        extractor: takes each answer apart, as in ``claims``; not ``given``.
        aggregate: the response's value is the mean over its claims, or the smallest.
        llm: of an extractor that asks one; the run's own if None.

    ``raw`` is in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. Values of one
    centrality are not on the scale of another. A claim's evidence shows the samples that support it
    least, each by its sentence most about it, with the probability of entailment.

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no sample
            has a text.
        LlmError: the extractor failed.
    """
    response = record.need_response()
    sources = record.against("samples")
    answers = [response, *(x.text for x in sources)]
    claims = await claims_to_judge(record, evidence, extractor, llm)
    found = await asyncio.gather(
        *(_claims_of(record, evidence, text, extractor, llm) for text in answers[1:])
    )
    texts = [c.text for c in claims] + [text for part in found for text in part]
    distinct = list(dict.fromkeys(texts))
    premises = [stated_answer(record, text) for text in answers]
    support = (await evidence.nli([(p, t) for t in distinct for p in premises])).entailment
    table = support.reshape(len(distinct), len(answers))
    cluster = await _merged(evidence, distinct)
    firsts = sorted(set(cluster))
    weights = np.where(table[firsts] >= threshold, table[firsts], 0.0)
    central = dict(zip(firsts, CENTRALITIES[centrality](weights).tolist(), strict=True))
    rows = [distinct.index(c.text) for c in claims]
    raws = [round(central[cluster[row]], 9) for row in rows]
    units = [
        Unit.of(
            claim.span(response),
            1 - raw,
            raw=raw,
            level="claim",
            evidence=_evidence(evidence, claim.text, sources, table[row, 1:]),
        )
        for claim, row, raw in zip(claims, rows, raws, strict=True)
    ]
    value = float(np.mean(raws) if aggregate == "mean" else min(raws))
    return Score.of(1 - value, raw=value, units=units)


async def _claims_of(
    record: Record, evidence: Evidence, text: str, extractor: str, llm: str | None
) -> list[str]:
    """Texts of the claims of a sample; none where it makes none."""
    if not text.strip():
        return []
    sample = Record(prompt=record.prompt, response=text, contexts=record.contexts)
    try:
        return [c.text for c in await claims_to_judge(sample, evidence, extractor, llm)]
    except NotApplicable:
        return []


async def _merged(evidence: Evidence, texts: Sequence[str]) -> list[int]:
    """Of each of the distinct claims the first one that it means the same as."""
    n = len(texts)
    pairs = [(a, b) for a in texts for b in texts if a != b]
    entails = np.eye(n, dtype=bool)
    if pairs:
        verdicts = await evidence.nli(pairs)
        entails[~np.eye(n, dtype=bool)] = verdicts.probabilities.argmax(axis=1) == 0
    first = list(range(n))
    for members in grouped(entails & entails.T):
        for member in members:
            first[member] = members[0]
    return first


def _evidence(
    evidence: Evidence, text: str, sources: Sequence[Source], support: Matrix
) -> list[Any]:
    least = np.argsort(support, kind="stable")[:SHOWN]
    return [sentence_most_about(evidence, text, sources[n], float(support[n])) for n in least]
