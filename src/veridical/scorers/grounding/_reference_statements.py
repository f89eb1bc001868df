"""Statements of a response or a gold answer, and which of them other texts entail: what factual
correctness, context recall and context precision have in common."""

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

#: How a text is taken apart. By no LLM: those look up what a model wrote in the response.
ExtractorName = Literal["response", "sentences", "clauses", "triplets", "spacy"]
CheckerName = Literal["nli_words", "nli", "llm", "llm_joint"]


class Judging(NamedTuple):
    """How statements are found and checked: the parameters of these scorers."""

    extractor: ExtractorName = "clauses"
    checker: CheckerName = "nli_words"
    top: int = 8
    nli: str | None = None
    llm: str | None = None

    def check(self) -> Checker:
        """The checker of statements."""
        options = {"nli": self.nli, "llm": self.llm}
        accepted = checkers.options_of(self.checker)
        return checkers.find_checker(
            self.checker, **{k: v for k, v in options.items() if k in accepted}
        )


def costs(extractor: str, checker: str, nli: str | None, llm: str | None, **_: object) -> set[Cost]:
    """What the parts ask for.

    Raises:
        UsageError: a model is named that the checker does not ask.
    """
    found = extractors.costs_of(extractor) | checkers.costs_of(checker)
    for name, value in (("nli", nli), ("llm", llm)):
        if value is not None and name not in found:
            raise UsageError(f"checker={checker} asks no {name}: leave {name}={value} out")
    return found


def prompts(checker: str, **_: object) -> tuple[str, ...]:
    """Templates by which the checker may ask an LLM."""
    return checkers.prompts_of(checker)


#: What these scorers declare alike.
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
    """The statements of ``text``, an answer to the record's prompt; none where it is blank or
    declines to answer. Places are in ``text``."""
    if not text.strip():
        return ()
    answer = Record(prompt=record.prompt, response=text)
    return (await extractors.find_extractor(extractor)(answer, evidence)).claims


async def response_statements(
    record: Record, evidence: Evidence, extractor: str
) -> tuple[Claim, ...]:
    """The response's statements, in its own sentences.

    Raises:
        NotApplicable: it is blank, or makes none.
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
    """Each gold answer that states something, with its statements.

    Raises:
        NotApplicable: there is none.
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
    """A verdict on each statement by ``sources`` read together."""
    return await judge(claims, sources, evidence, judging.check(), ReadingOptions(top=judging.top))


def entailed(judged: Sequence[Verdict], counting: str) -> float:
    """How many of the statements are entailed: those so labelled, or the sum of P(entailment)."""
    if counting == "expected":
        return sum(v.probabilities[LABELS[0]] for v in judged)
    return float(sum(v.label == LABELS[0] for v in judged))


def shown(judged: Sequence[Verdict]) -> list[dict[str, object]]:
    """Statements with their verdicts, as a raw value tells them: place and text of each, and of
    what it rests on."""
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
