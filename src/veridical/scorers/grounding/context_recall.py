"""Context recall: share of a gold answer that the contexts entail."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.core.registry import scorer
from veridical.core.scores import Score
from veridical.scorers.grounding._reference_statements import (
    SHARED,
    CheckerName,
    ExtractorName,
    Judging,
    entailed,
    gold_statements,
    shown,
    verdicts,
)


@scorer(
    "context_recall",
    level="response",
    version=2,
    needs={"contexts", "reference"},
    source="Es 2024 (Ragas), its library's context recall; statements after Hu 2024 (RefChecker)",
    auxiliary=True,
    raw_key="recall",
    **SHARED,
)
async def context_recall(
    record: Record,
    evidence: Evidence,
    *,
    counting: Literal["labels", "expected"] = "labels",
    extractor: ExtractorName = "clauses",
    checker: CheckerName = "nli_words",
    top: Annotated[int, Field(ge=1, le=1000)] = 8,
    nli: str | None = None,
    llm: str | None = None,
) -> Score:
    """Compute the share of the reference's statements that the contexts entail (retrieval).

    recall = statements of the gold answer that the contexts entail / all its statements. The
    response is not used, so the score does not affect the verdict. Of several references the one
    with the largest recall counts.

    Args:
        counting: ``labels`` counts statements labelled entailment; ``expected`` sums P(entailment).
        extractor, checker: as in ``claims``.
        top: number of passages per statement.
        nli: NLI model of the checker; the run's default if None.
        llm: LLM of the checkers ``llm`` and ``llm_joint``; the run's default if None.

    ``raw`` has the ``recall``, the index of the ``reference`` used, and its ``statements``. Each
    has its place in the reference, ``label``, ``probability`` of entailment and ``evidence`` (a
    place in the context ``index``). The risk is 1 - recall.

    Raises:
        NotApplicable: there is no context; no reference states anything; or the NLI model does not
            support their script.
    """
    judging = Judging(extractor, checker, top, nli, llm)
    sources = record.against("contexts")
    found = []
    for reference, statements in await gold_statements(record, evidence, extractor):
        judged = await verdicts(statements, sources, evidence, judging)
        recall = min(1.0, entailed(judged, counting) / len(judged))
        found.append((recall, reference.index, judged))
    recall, index, judged = max(found, key=lambda f: f[0])
    raw = {"recall": recall, "reference": index, "statements": shown(judged)}
    return Score.of(1 - recall, raw=raw)
