"""Claims given in the record, by another tool or by annotators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.claims.claim import Claim, Extraction, Triplet
from veridical.claims.triplets import Places, statement
from veridical.core.records import clean_text
from veridical.errors import ModelError, NotApplicable
from veridical.text.display import shown

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """Return :func:`given_claims` as an extraction.

    An empty list means that the response abstains, as published (Hu et al. 2024, RefChecker,
    appendix A.4).

    Raises:
        NotApplicable: the response is empty, or the record has no field ``claims``.
        ModelError: the claims have another form.
    """
    record.need_response()
    try:
        claims = given_claims(record)
    except ValueError as e:
        raise ModelError(f"'claims' {e}") from None
    return Extraction(tuple(claims), abstained=not claims)


def given_claims(record: Record) -> list[Claim]:
    """Return the claims in ``record.meta["claims"]``, a list of statements and triplets.

    Triplets are lists of three texts. Each claim is located by the words it shares with the
    response; one that shares too few covers the whole response.

    Raises:
        NotApplicable: there is no such list.
        ValueError: the list has another form.
    """
    listed = record.meta.get("claims")
    if listed is None:
        raise NotApplicable("the record has no field 'claims'")
    places = Places(record)
    claims = []
    for item in as_claims(listed):
        text, triplet = (item, None) if isinstance(item, str) else (statement(item), item)
        place = places.locate(item)
        if place is None:
            claims.append(Claim(text, 0, len(record.response), 0, triplet))
        else:
            claims.append(Claim(text, place.start, place.end, place.sentence, triplet, place.parts))
    return claims


def as_claims(items: Any) -> list[str | Triplet]:
    """Convert a list of texts and of lists of three texts to statements and triplets.

    Raises:
        ValueError: the list has another form.
    """
    if not isinstance(items, list):
        raise ValueError(f"must be a list of texts or triplets, not {shown(items)}")
    return [_claim(value, i) for i, value in enumerate(items)]


def _claim(value: Any, i: int) -> str | Triplet:
    parts = [value] if isinstance(value, str) else value
    fits = isinstance(parts, list) and all(isinstance(p, str) for p in parts)
    if not fits or len(parts) not in (1, 3) or not any(p.strip() for p in parts):
        raise ValueError(f"must contain texts or triplets of texts; item {i} is {shown(value)}")
    for part in parts:
        clean_text(part)
    return parts[0] if len(parts) == 1 else (parts[0], parts[1], parts[2])
