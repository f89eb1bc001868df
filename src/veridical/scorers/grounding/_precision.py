"""Factual precision, the share of an answer's claims that its sources support: what FActScore and
FacTool have in common."""

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
_KEPT = 20  # reasons why a model's claims were left out


class Supported(NamedTuple):
    """A claim with the verdict on it.

    Attributes:
        probability: that the sources support it.
        why: the judge's reasons, where it gave some.
    """

    claim: Claim
    supported: bool
    probability: float
    evidence: tuple[EvidenceItem, ...]
    why: str | None = None

    def unit(self, response: str) -> Unit:
        """The claim's place in the response; ``raw`` is 1 if it is supported, else 0."""
        return Unit.of(
            self.claim.span(response),
            min(1.0, max(0.0, 1 - self.probability)),
            raw=float(self.supported),
            level="claim",
            label="supported" if self.supported else "unsupported",
            evidence=self.evidence,
        )


def costs(name: str, extracting: set[Cost], checker: Judge, nli: str | None) -> set[Cost]:
    """What a scorer asks for, given what its extractor does.

    Raises:
        UsageError: the parameters do not go together.
    """
    if nli is not None and checker != "nli":
        raise UsageError(f"{name}(checker={checker}) asks no nli: leave nli={nli} out")
    checking: set[Cost] = {checker}
    return extracting | checking


async def claims_of(record: Record, evidence: Evidence, extract: Extractor) -> Extraction:
    """The response's claims, at least one.

    Raises:
        NotApplicable: it makes none.
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
    """Verdicts of an NLI model: a claim is supported if one of its best ``top`` passages entails
    it."""
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
    """Verdicts of a language model, one call a claim.

    Args:
        top: passages of whole sentences that a claim is checked by, the best by BM25.
        prompt: a template whose answers are worth 1 (supported) and 0.
        parts: of the template, by the claim and its passages.

    Raises:
        LlmError: a call brought no answer, or one without a verdict.
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
    """What a raw value says beside its numbers."""
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
        "left_out": list(extraction.left_out[:_KEPT]),
    }
