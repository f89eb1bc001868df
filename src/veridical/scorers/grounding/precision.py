"""Factual precision, the share of an answer's claims that its sources support: what FActScore and
FacTool have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from veridical.claims.asking import verdict_request
from veridical.claims.attribution import Reading, judge
from veridical.claims.checkers import find_checker
from veridical.claims.select import select
from veridical.errors import NotApplicable, UsageError
from veridical.llm.verdicts import read_verdict
from veridical.records import Record, Source
from veridical.scores import EvidenceItem, Unit
from veridical.text.passages import Passage, windows
from veridical.text.relevance import most_about

if TYPE_CHECKING:
    from veridical.claims.claim import Claim, Extraction, Extractor
    from veridical.evidence import Evidence
    from veridical.llm.prompts import Prompt
    from veridical.registry import Cost

Sources = Literal["auto", "contexts", "reference"]
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
        """Its place in the response; ``raw`` is 1 if it is supported, else 0."""
        return Unit.of(
            self.claim.span(response),
            min(1.0, max(0.0, 1 - self.probability)),
            raw=float(self.supported),
            level="claim",
            label="supported" if self.supported else "unsupported",
            evidence=self.evidence,
        )


class _Window(NamedTuple):
    source: Source
    passage: Passage


def costs(name: str, extracting: set[Cost], checker: Judge, nli: str | None) -> set[Cost]:
    """What a scorer asks for, given what its extractor does.

    Raises:
        UsageError: the parameters do not go together.
    """
    if nli is not None and checker != "nli":
        raise UsageError(f"{name}(checker={checker}) asks no nli: leave nli={nli} out")
    checking: set[Cost] = {checker}
    return extracting | checking


def sources_of(record: Record, against: Sources) -> list[Source]:
    """The texts to check claims by: ``auto`` is the contexts where the record has some, else the
    reference.

    Raises:
        NotApplicable: there are none.
    """
    if against != "auto":
        return record.against(against)
    try:
        return record.against("contexts")
    except NotApplicable:
        pass
    try:
        return record.against("reference")
    except NotApplicable:
        raise NotApplicable("the record has no contexts or reference") from None


async def claims_of(record: Record, evidence: Evidence, extract: Extractor) -> Extraction:
    """The response's claims, at least one.

    Raises:
        NotApplicable: it makes none.
    """
    found = await extract(record, evidence)
    if found.abstained:
        raise NotApplicable("the response declines to answer")
    if not found.claims:
        raise NotApplicable("the response makes no claim")
    return found


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
        claims, sources, evidence, find_checker("nli", nli=nli), Reading(top=top)
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
    read = [_Window(s, p) for s in sources for p in windows(s.text)]
    distinct = list(dict.fromkeys(w.passage.text for w in read))
    chosen = await select([c.text for c in claims], distinct, evidence, top=top)
    texts = [[distinct[i] for i in ids] for ids in chosen]
    asked = [verdict_request(prompt, parts(c, t)) for c, t in zip(claims, texts, strict=True)]
    replies = await evidence.chat(asked, llm)
    found = []
    for claim, kept, reply in zip(claims, texts, replies, strict=True):
        verdict = read_verdict(reply, prompt)
        shares = verdict.probabilities or {verdict.answer: 1.0}
        probability = min(1.0, sum(p for name, p in shares.items() if name == "True"))
        supported = probability > 0.5
        own = [w for w in read if w.passage.text in set(kept)]
        item = _most_about(claim, own, evidence, probability if supported else None)
        found.append(Supported(claim, supported, probability, (item,), verdict.explanation))
    return found


def _most_about(
    claim: Claim, read: Sequence[_Window], evidence: Evidence, probability: float | None
) -> EvidenceItem:
    """The sentence of ``read`` that shares most words with the claim."""
    spans = [(w.source, s) for w in read for s in w.passage.sentences]
    words = [evidence.words(s.text) for _, s in spans]
    source, span = spans[most_about(evidence.words(claim.text), words)]
    return EvidenceItem.at(source, span.start, span.end, probability)


def details(judged: Sequence[Supported], found: Extraction) -> dict[str, Any]:
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
        "left_out": list(found.left_out[:_KEPT]),
    }
