"""Factual precision: share of claims supported by the sources.

Shared by FActScore and FacTool.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from veridical.claims.attribution import ReadingOptions, judge
from veridical.claims.checkers import find_checker
from veridical.claims.claim import Claim, Extraction, Extractor
from veridical.claims.select import select, source_windows
from veridical.core.evidence import Evidence
from veridical.core.records import Against, Record, Source
from veridical.core.registry import Cost
from veridical.core.scores import EvidenceItem, Unit
from veridical.errors import NotApplicable, UsageError
from veridical.llm.asking import ask_all, form_for, request
from veridical.prompts import Prompt
from veridical.scorers._most_about import most_about_of

Sources = Literal["auto", "contexts", "reference"]
AUTO: tuple[Against, ...] = ("contexts", "reference")
Judge = Literal["llm", "nli"]
_MAX_LISTED_REASONS = 20  # for rejected claims


class Supported(NamedTuple):
    """A claim with its verdict.

    Attributes:
        probability: probability that the sources support it.
        why: the judge's reasons, if any.
    """

    claim: Claim
    supported: bool
    probability: float
    evidence: tuple[EvidenceItem, ...]
    why: str | None = None

    def unit(self, response: str) -> Unit:
        """Return the claim as a unit; ``raw`` is 1 if it is supported, else 0."""
        return Unit.of(
            self.claim.span(response),
            min(1.0, max(0.0, 1 - self.probability)),
            raw=float(self.supported),
            level="claim",
            label="supported" if self.supported else "unsupported",
            evidence=self.evidence,
        )


def costs(name: str, extracting: set[Cost], checker: Judge, nli: str | None) -> set[Cost]:
    """Return the costs of a scorer, given those of its extractor.

    Raises:
        UsageError: ``nli`` is set, but the checker uses no NLI model.
    """
    if nli is not None and checker != "nli":
        raise UsageError(f"{name}(checker={checker}) uses no NLI model; remove nli={nli}")
    checking: set[Cost] = {checker}
    return extracting | checking


async def claims_of(record: Record, evidence: Evidence, extract: Extractor) -> Extraction:
    """Return the response's claims, at least one.

    Raises:
        NotApplicable: the response declines to answer or makes no claim.
    """
    extraction = await extract(record, evidence)
    if extraction.abstained:
        raise NotApplicable("the response declines to answer")
    if not extraction.claims:
        raise NotApplicable("the response makes no claim")
    return extraction


async def by_nli(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    nli: str | None,
    top: int,
) -> list[Supported]:
    """Judge claims by an NLI model: supported if one of the best ``top`` passages entails it."""
    verdicts = await judge(
        claims, sources, evidence, find_checker("nli", nli=nli), ReadingOptions(top=top)
    )
    return [
        Supported(v.claim, v.label == "entailment", v.probabilities["entailment"], v.evidence)
        for v in verdicts
    ]


async def by_llm(
    claims: Sequence[Claim],
    sources: Sequence[Source],
    evidence: Evidence,
    llm: str | None,
    top: int,
    prompt: Prompt,
    parts: Callable[[Claim, Sequence[str]], dict[str, Any]],
) -> list[Supported]:
    """Judge claims by a language model, one call per claim.

    Args:
        top: number of passages of whole sentences per claim, the best by BM25.
        prompt: a template whose answers have the values 1 (supported) and 0.
        parts: builds the template's parts from the claim and its passages.

    Raises:
        LlmError: a call returned no reply, or one without a verdict.
    """
    all_windows = source_windows([s.text for s in sources])
    distinct = list(dict.fromkeys(w.passage.text for w in all_windows))
    chosen = await select([c.text for c in claims], distinct, evidence, top=top)
    texts = [[distinct[i] for i in ids] for ids in chosen]
    form = form_for(evidence, llm)
    requests = [request(prompt, parts(c, t), form=form) for c, t in zip(claims, texts, strict=True)]
    verdicts = await ask_all(
        lambda calls: evidence.chat(calls, llm), requests, [prompt] * len(requests)
    )
    supports = []
    for claim, chosen_texts, verdict in zip(claims, texts, verdicts, strict=True):
        shares = verdict.probabilities or {verdict.answer: 1.0}
        probability = min(1.0, sum(p for name, p in shares.items() if name == "True"))
        supported = probability > 0.5
        names = set(chosen_texts)
        spans = [
            (sources[w.source], s)
            for w in all_windows
            if w.passage.text in names
            for s in w.passage.sentences
        ]
        item = most_about_of(evidence, claim.text, spans, probability if supported else None)
        supports.append(Supported(claim, supported, probability, (item,), verdict.explanation))
    return supports


def details(judged: Sequence[Supported], extraction: Extraction) -> dict[str, Any]:
    """Return the entries of a raw value other than its numbers."""
    return {
        "claims": [
            {
                "text": s.claim.text,
                "sentence": s.claim.sentence,
                "parts": s.claim.parts,
                "supported": s.supported,
                "probability": round(s.probability, 6),
                "why": s.why,
            }
            for s in judged
        ],
        "left_out": list(extraction.left_out[:_MAX_LISTED_REASONS]),
    }
