"""Statements of a response or gold answer, and their entailment.

Shared by factual correctness, context recall and context precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from veridical.claims import checkers, extractors
from veridical.claims.attribution import ReadingOptions, Verdict, judge
from veridical.claims.claim import Checker, Claim
from veridical.core.evidence import Evidence
from veridical.core.protocols import LABELS
from veridical.core.records import Record, Source
from veridical.core.registry import Cost
from veridical.errors import NotApplicable, UsageError

#: Extractors without an LLM; those locate the model's claims in the response.
ExtractorName = Literal["response", "sentences", "clauses", "triplets", "spacy"]
CheckerName = Literal["nli_words", "nli", "llm", "llm_joint"]


class Judging(NamedTuple):
    """The scorer parameters for extracting and checking statements."""

    extractor: ExtractorName = "clauses"
    checker: CheckerName = "nli_words"
    top: int = 8
    nli: str | None = None
    llm: str | None = None

    def check(self) -> Checker:
        """Return the checker of statements."""
        options = {"nli": self.nli, "llm": self.llm}
        accepted = checkers.options_of(self.checker)
        return checkers.find_checker(
            self.checker, **{k: v for k, v in options.items() if k in accepted}
        )


def costs(extractor: str, checker: str, nli: str | None, llm: str | None, **_: object) -> set[Cost]:
    """Return the costs of extractor and checker.

    Raises:
        UsageError: a model is named that the checker does not use.
    """
    found = extractors.costs_of(extractor) | checkers.costs_of(checker)
    for name, value in (("nli", nli), ("llm", llm)):
        if value is not None and name not in found:
            raise UsageError(f"checker={checker} does not use {name}; remove {name}={value}")
    return found


def prompts(checker: str, **_: object) -> tuple[str, ...]:
    """Return the prompt templates that the checker may send to an LLM."""
    return checkers.prompts_of(checker)


#: Declaration that these scorers share.
SHARED: dict[str, Any] = {
    "cost": "llm",
    "uses": {"nli"},
    "raw_is": "confidence",
    "presets": {"all"},
    "costs_by": costs,
    "prompts": prompts,
}


async def statements_of(
    text: str, record: Record, evidence: Evidence, extractor: str
) -> tuple[Claim, ...]:
    """Extract the statements of ``text``, an answer to the record's prompt.

    A blank or declining text has no statements. Places are in ``text``.
    """
    if not text.strip():
        return ()
    answer = Record(prompt=record.prompt, response=text)
    return (await extractors.find_extractor(extractor)(answer, evidence)).claims


async def response_statements(
    record: Record, evidence: Evidence, extractor: str
) -> tuple[Claim, ...]:
    """Extract the response's statements from its own sentences.

    Raises:
        NotApplicable: the response is blank, declines to answer or states nothing.
    """
    record.need_answer()
    found = await extractors.find_extractor(extractor)(record, evidence)
    if found.abstained:
        raise NotApplicable("the response declines to answer")
    if not found.claims:
        raise NotApplicable("the response states nothing")
    return found.claims


async def gold_statements(
    record: Record, evidence: Evidence, extractor: str
) -> list[tuple[Source, tuple[Claim, ...]]]:
    """Return each gold answer that states something, with its statements.

    Raises:
        NotApplicable: no reference states anything.
    """
    found = []
    for source in record.against("reference"):
        statements = await statements_of(source.text, record, evidence, extractor)
        if statements:
            found.append((source, statements))
    if not found:
        raise NotApplicable("the reference states nothing")
    return found


async def verdicts(
    claims: Sequence[Claim], sources: Sequence[Source], evidence: Evidence, judging: Judging
) -> list[Verdict]:
    """Judge each statement by all ``sources`` together."""
    return await judge(claims, sources, evidence, judging.check(), ReadingOptions(top=judging.top))


def entailed(judged: Sequence[Verdict], counting: str) -> float:
    """Return the number of entailed statements, by labels or as the sum of P(entailment)."""
    if counting == "expected":
        return sum(v.probabilities[LABELS[0]] for v in judged)
    return float(sum(v.label == LABELS[0] for v in judged))


def shown(judged: Sequence[Verdict]) -> list[dict[str, object]]:
    """Return statements and verdicts for a raw value, with the places of text and evidence."""
    return [
        {
            "text": v.claim.text,
            "start": v.claim.start,
            "end": v.claim.end,
            "label": v.label,
            "probability": round(v.probabilities[LABELS[0]], 6),
            "evidence": [
                {"index": e.index, "start": e.start, "end": e.end, "text": e.text}
                for e in v.evidence[:1]
            ],
        }
        for v in judged
    ]
