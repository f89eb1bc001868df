"""Places of claims by sentence embeddings, where shared words do not tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veridical.claims.claim import Claim
from veridical.claims.triplets import content, key_of
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.text.words import lettered_spans

#: Least cosine of a claim's own words with the sentence that they are taken to come from.
LEAST_COSINE = 0.35
_MOST_SENTENCES = 300


async def placed_by_embeddings(
    record: Record, claims: Sequence[Claim], evidence: Evidence
) -> list[Claim]:
    """Return the claims in the order of the response, those moved whose sentence lacks their words.

    A claim is compared where its sentence lacks half of its words of content or more, or where it
    stands for the whole response: by the embedding of the words that are lacking, with that of each
    sentence. It moves to the sentence of the largest cosine where that is at least
    :data:`LEAST_COSINE`, and stays where it is otherwise.

    Source: Hu et al. 2024 (RefChecker), appendix B.3, which compares elements of triplets with
    spans of the response by SimCSE and a threshold.
    """
    sentences = record.sentences[:_MOST_SENTENCES]
    lacking = {i: words for i, c in enumerate(claims) if (words := _lacking(record, c))}
    if not lacking or not sentences:
        return list(claims)
    texts = [*lacking.values(), *(s.text for s in sentences)]
    vectors = await evidence.embed(texts)
    cosines = vectors[: len(lacking)] @ vectors[len(lacking) :].T
    found = list(claims)
    for i, row in zip(lacking, cosines, strict=True):
        best = int(row.argmax())
        span = sentences[best]
        moves = best != claims[i].sentence or _is_whole(record, claims[i])
        if moves and row[best] >= LEAST_COSINE:
            found[i] = replace(claims[i], start=span.start, end=span.end, sentence=best, parts=())
    return sorted(found, key=lambda claim: claim.start)


def _lacking(record: Record, claim: Claim) -> str:
    """The words of a claim that its sentence lacks, where they are half of its words of content or
    more; else nothing."""
    words = content(claim.text)
    if _is_whole(record, claim):
        return claim.text
    held = content(record.sentences[claim.sentence].text)
    missing = words - held
    if 2 * missing.total() < words.total():
        return ""
    return " ".join(s.text for s in lettered_spans(claim.text) if key_of(s.text) in missing)


def _is_whole(record: Record, claim: Claim) -> bool:
    """Return True if no place was found for the claim, so that it stands for the response."""
    whole = (claim.start, claim.end) == (0, len(record.response))
    return whole and len(record.sentences) > 1
