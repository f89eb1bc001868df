"""Context precision: ranking of useful contexts above others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from veridical.claims.claim import Claim
from veridical.claims.select import select
from veridical.core.evidence import Evidence
from veridical.core.protocols import LABELS
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding._reference_statements import (
    SHARED,
    CheckerName,
    ExtractorName,
    Judging,
    gold_statements,
    response_statements,
)
from veridical.text.passages import windows

#: Minimum P(entailment) of a statement for a context to be useful.
EVEN = 0.5


@scorer(
    "context_precision",
    level="response",
    version=2,
    needs={"contexts"},
    source="Es 2024 (Ragas), its library's context precision",
    auxiliary=True,
    raw_key="precision",
    **SHARED,
)
async def context_precision(
    record: Record,
    evidence: Evidence,
    *,
    of: Literal["reference", "response"] = "reference",
    at: Annotated[int, Field(ge=1, le=1000)] = 20,
    extractor: ExtractorName = "clauses",
    checker: CheckerName = "nli_words",
    top: Annotated[int, Field(ge=1, le=1000)] = 8,
    nli: str | None = None,
    llm: str | None = None,
) -> Score:
    """Compute the rank-aware precision of the contexts, a measure of retrieval.

    A context is useful if it alone entails a statement of the gold answer: v(k) = 1 for the k-th,
    else 0. Precision@k is the share of useful contexts among the first k. The value is the sum of
    v(k) precision@k over the number of useful contexts (average precision), or 0 without any. In
    the published form an LLM decides which contexts are useful. With several references, entailing
    a statement of any is enough.

    Args:
        of: the text whose statements make a context useful: the ``reference`` or the ``response``.
            The latter needs no gold answer and measures the answer's use of the contexts.
        at: number of leading contexts to evaluate.
        extractor, checker: as in ``claims``.
        top: number of windows of a long context per statement.
        nli: NLI model of the checker; the run's default if None.
        llm: LLM of the checkers ``llm`` and ``llm_joint``; the run's default if None.

    ``raw`` has the ``precision`` and, for each context in order, ``useful`` (a boolean) and
    ``probabilities`` (the largest P(entailment)). The risk is 1 - precision. It does not affect the
    verdict.

    Raises:
        NotApplicable: there is no context, or no reference states anything. With ``of=response``:
            the response is blank, declines or states nothing. Or the NLI model does not support
            their script.
    """
    sources = record.against("contexts")[:at]
    if of == "response":
        statements = list(await response_statements(record, evidence, extractor))
    else:
        gold = await gold_statements(record, evidence, extractor)
        statements = [claim for _, claims in gold for claim in claims]
    texts = [claim.text for claim in statements]
    pairs: dict[tuple[Claim, str], None] = {}
    read: list[list[tuple[Claim, str]]] = []
    for source in sources:
        passages = list(dict.fromkeys(w.text for w in windows(source.text)))
        chosen = await select(texts, passages, evidence, top=top)
        own = [(c, passages[i]) for c, ids in zip(statements, chosen, strict=True) for i in ids]
        pairs.update(dict.fromkeys(own))
        read.append(own)
    judging = Judging(extractor, checker, top, nli, llm)
    rows = await judging.check()(list(pairs), evidence)
    judged = dict(zip(pairs, rows[:, LABELS.index("entailment")].tolist(), strict=True))
    probabilities = [max(judged[pair] for pair in own) for own in read]
    useful = [p > EVEN for p in probabilities]
    precision = ranked_precision(useful)
    raw = {
        "precision": precision,
        "useful": [int(u) for u in useful],
        "probabilities": [round(p, 6) for p in probabilities],
    }
    return Score.of(1 - precision, raw=raw)


def ranked_precision(useful: Sequence[bool]) -> float:
    """Compute the average precision of a ranking; 0 if nothing is useful.

    >>> ranked_precision([True, False, True]), ranked_precision([False, True])
    (0.8333333333333333, 0.5)
    """
    hits = np.array(useful, dtype=np.float64)
    if not hits.any():
        return 0.0
    at_each = hits.cumsum() / np.arange(1, len(hits) + 1)
    return float((at_each * hits).sum() / hits.sum())
