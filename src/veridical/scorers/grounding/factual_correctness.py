"""Factual correctness: mutual entailment of answer and gold answer statements."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from veridical.claims.attribution import Verdict
from veridical.core.evidence import Evidence
from veridical.core.records import Record, Source
from veridical.core.registry import scorer
from veridical.core.scores import Score, Unit
from veridical.scorers.grounding._reference_statements import (
    SHARED,
    CheckerName,
    ExtractorName,
    Judging,
    entailed,
    gold_statements,
    response_statements,
    shown,
    verdicts,
)


@scorer(
    "factual_correctness",
    level="claim",
    version=2,
    judges=True,
    needs={"reference"},
    source="Ragas 0.2 (FactualCorrectness); statements after Hu 2024 (RefChecker)",
    raw_key="score",
    **SHARED,
)
async def factual_correctness(
    record: Record,
    evidence: Evidence,
    *,
    mode: Literal["f1", "precision", "recall"] = "f1",
    counting: Literal["labels", "expected"] = "labels",
    extractor: ExtractorName = "clauses",
    checker: CheckerName = "nli_words",
    top: Annotated[int, Field(ge=1, le=1000)] = 8,
    nli: str | None = None,
    llm: str | None = None,
) -> Score:
    """Compute precision, recall and F1 of the response's statements against a gold answer's.

    Precision is the share of the response's statements that the reference entails. Recall is the
    share of the reference's that the response entails. F1 is 2 P R / (P + R), and 0 if both are 0.
    A correct answer that says more than the gold answer loses precision, and one that says less
    loses recall. The score measures equal content, not truth. Of several references the one with
    the best score counts.

    Args:
        mode: statistic used as ``score``; the risk is 1 - score.
        counting: ``labels`` counts statements labelled entailment, which gives few distinct values
            for short answers; ``expected`` sums P(entailment).
        extractor, checker: as in ``claims``.
        top: number of passages per statement.
        nli: NLI model of the checker; the run's default if None.
        llm: LLM of the checkers ``llm`` and ``llm_joint``; the run's default if None.

    ``raw`` has ``score``, ``precision``, ``recall`` and ``f1``, all in [0, 1], and ``statements``,
    the number in the response. It also has the index of the ``reference`` used, and its statements
    under ``recalled``. Each has its place in the reference, ``label``, ``probability`` of
    entailment and the ``evidence`` (a place in the response). Units are the response's statements:
    risk 1 - P(entailment), the label, and evidence in the reference.

    The verdict follows the units, so an answer that omits most of the reference and adds nothing is
    supported.

    Raises:
        NotApplicable: the response is blank, declines to answer or states nothing; no reference
            states anything; or the NLI model does not support their script.
    """
    judging = Judging(extractor, checker, top, nli, llm)
    statements = await response_statements(record, evidence, extractor)
    answer = [
        Source("reference", 0, record.answer)
    ]  # read, like the response, as an answer to the question
    found = []
    for source, gold in await gold_statements(record, evidence, extractor):
        made = await verdicts(statements, [source], evidence, judging)
        recalled = await verdicts(gold, answer, evidence, judging)
        found.append(_Correctness(source.index, made, recalled, mode, counting))
    best = max(found, key=lambda f: f.score)
    return Score.of(1 - best.score, raw=best.raw(), units=[_unit(record, v) for v in best.made])


class _Correctness(NamedTuple):
    """Statements of the response judged by one reference, and vice versa."""

    reference: int
    made: list[Verdict]
    recalled: list[Verdict]
    mode: str
    counting: str

    @property
    def values(self) -> dict[str, float]:
        """Return precision, recall and F1."""
        p = entailed(self.made, self.counting) / len(self.made)
        r = entailed(self.recalled, self.counting) / len(self.recalled)
        f1 = 2 * p * r / (p + r) if p + r else 0.0
        return {n: min(1.0, v) for n, v in (("precision", p), ("recall", r), ("f1", f1))}

    @property
    def score(self) -> float:
        return self.values[self.mode]

    def raw(self) -> dict[str, Any]:
        return {
            "score": self.score,
            **self.values,
            "statements": len(self.made),
            "reference": self.reference,
            "recalled": shown(self.recalled),
        }


def _unit(record: Record, verdict: Verdict) -> Unit:
    return Unit.of(
        verdict.claim.span(record.response),
        verdict.risk,
        raw=verdict.probabilities["entailment"],
        level="claim",
        label=verdict.label,
        probabilities=verdict.probabilities,
        evidence=verdict.evidence,
    )
