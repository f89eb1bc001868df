"""Each sentence of the response as a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.claim import Claim, Extraction
from veridical.core.stated import stated_sentences, stating_sentences, without_lead_in
from veridical.text.spans import Span

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


@unless_abstained
async def extract(record: Record, evidence: Evidence) -> Extraction:
    """Return one claim per sentence of ``record.sentences``, stripped.

    A sentence that states nothing (see ``stating_sentences``) is skipped; a response that abstains
    has no claims.

    Raises:
        NotApplicable: the response is empty.

    Source: Hu et al. 2024 (RefChecker), section 5.1, "sentence".
    """
    return Extraction(tuple(sentence_claims(record)))


def sentence_claims(record: Record) -> list[Claim]:
    """Return every sentence that states something, without introductions ("Sure, ...").

    Sentences are stripped. A short first one is combined with the question: see
    :mod:`veridical.core.stated`.
    """
    stating = {s.start for s in stating_sentences(record)}
    spans = []
    for i, sentence in enumerate(record.sentences):
        if sentence.start in stating:
            text = sentence.text.strip()
            start = sentence.start + sentence.text.index(text)
            span = Span(start, start + len(text), text)
            spans.append((i, span))
    texts = stated_sentences(record, [span for _, span in spans])
    places = [without_lead_in(record, span) for _, span in spans]
    return [
        Claim(text, place.start, place.end, i)
        for (i, _), place, text in zip(spans, places, texts, strict=True)
    ]
