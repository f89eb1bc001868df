"""Places of claims by sentence embeddings, if shared words are insufficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from veridical.claims.claim import Claim
from veridical.claims.triplets import content, key_of
from veridical.core.evidence import Evidence
from veridical.core.records import Record
from veridical.text.words import lettered_spans

#: Minimum cosine between a claim's own words and the sentence assigned to it.
LEAST_COSINE = 0.35
_MOST_SENTENCES = 300


async def placed_by_embeddings(
    record: Record, claims: Sequence[Claim], evidence: Evidence
) -> list[Claim]:
    """Return the claims in response order, moving those whose sentence lacks their words.

    A claim is compared if its sentence lacks at least half of its content words, or if its place is
    the whole response. The embedding of the missing words is compared with that of each sentence.
    The claim moves to the sentence with the largest cosine if that is at least
    :data:`LEAST_COSINE`.

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
    """Return the content words that the claim's sentence lacks if they are at least half, else
    "".
    """
    words = content(claim.text)
    if _is_whole(record, claim):
        return claim.text
    held = content(record.sentences[claim.sentence].text)
    missing = words - held
    if 2 * missing.total() < words.total():
        return ""
    return " ".join(s.text for s in lettered_spans(claim.text) if key_of(s.text) in missing)


def _is_whole(record: Record, claim: Claim) -> bool:
    """Return True if no place was found for the claim, so it covers the response."""
    whole = (claim.start, claim.end) == (0, len(record.response))
    return whole and len(record.sentences) > 1
