"""Centrality of claims among the answers that state them (Jiang et al. 2024; UQLM)."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from veridical.claims.extractors import ExtractorName
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import Cost, scorer
from veridical.core.scores import Score
from veridical.core.stated import stated_answer
from veridical.errors import UsageError
from veridical.scorers.claim_units import claim_costs, claims_to_judge
from veridical.scorers.consistency.centrality import CENTRALITIES, Centrality
from veridical.scorers.consistency.claim_merging import Merge, merged
from veridical.scorers.consistency.claim_samples import SHARED, claims_of_samples, claims_score
from veridical.scorers.consistency.luq import Aggregate


def _costs(extractor: str, merge: Merge, llm: str | None, **_: object) -> set[Cost]:
    if extractor == "given":
        raise UsageError("claim_graph needs claims of the samples too: extractor=given has none")
    asked: set[Cost] = {"nli", merge}
    return claim_costs("claim_graph", extractor, llm, asked)


@scorer(
    "claim_graph",
    level="claim",
    source="Jiang 2024 (graph uncertainty); UQLM 0.6, LongTextGraph",
    costs_by=_costs,
    **SHARED,
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
    """How central the response's claims are among all claims and the answers that state them.

    The claims of the response and of the samples are taken together; those that say the same are
    one. A claim is joined to each answer that entails it with a probability of at least
    ``threshold``, which is the weight of the edge. A claim of the response has the centrality of
    the claim that it was merged into.

    Args:
        centrality: ``closeness`` (UQLM's default), ``harmonic`` and ``betweenness``, normalised
            for graphs of two sides; ``degree``, the share of the answers; ``strength``, the mean
            weight over the answers (UQLM's degree); ``eigenvector``; ``pagerank``, which adds up
            to 1 over the graph, so that it is small; ``laplacian``, the share of its energy.
        threshold: of the probability of entailment.
        extractor: takes each answer apart, as in ``claims``; not ``given``.
        aggregate: the response's value is the mean over its claims, or the smallest.
        merge: which claims are one: by ``nli`` those that entail each other; or an ``llm`` is
            asked, as UQLM does, answer by answer which of the claims before say the same (10 claims
            a call). Claims of which one has a number, date, name or negation that the other lacks
            stay apart whatever it says.
        llm: of an extractor that asks one, and of ``merge=llm``; the run's own if None.

    ``raw`` is in [0, 1] (confidence), of claims and response; ``risk = 1 - raw``. Values of one
    centrality are not on the scale of another. A claim's evidence shows the samples that support it
    least, each by its sentence most about it, with the probability of entailment.

    Raises:
        NotApplicable: the response is blank, declines to answer or makes no claim, or no sample
            has a text.
        LlmError: the extractor, or the merging, failed.
    """
    response = record.need_answer()
    sources = record.against("samples")
    claims = await claims_to_judge(record, evidence, extractor, llm)
    own = [c.text for c in claims]
    groups = [own, *await claims_of_samples(record, evidence, sources, extractor, llm)]
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
    shown = table[[rows[text] for text in own], 1:]
    return claims_score(record, evidence, claims, raws, sources, shown, aggregate)
