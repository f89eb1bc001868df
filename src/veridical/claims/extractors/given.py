"""Claims that come with the record: another tool's, or those that people judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from veridical.claims.claim import Claim, Extraction, Triplet
from veridical.claims.triplets import Places, statement
from veridical.errors import ModelError, NotApplicable
from veridical.io.problems import shown
from veridical.records import clean_text

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """:func:`given_claims` as an extraction. An empty list means that the response abstains, as
    published (Hu et al. 2024, RefChecker, appendix A.4).

    Raises:
        NotApplicable: the response is empty, or the record has no claims of its own.
        ModelError: they are of another form.
    """
    record.need_response()
    try:
        found = given_claims(record)
    except ValueError as e:
        raise ModelError(f"'claims' {e}") from None
    return Extraction(tuple(found), abstained=not found)


def given_claims(record: Record) -> list[Claim]:
    """The claims in ``record.meta["claims"]``, a list of statements and of triplets (lists of
    three texts). Each is placed by the words it shares with the response; one that shares too few
    stands for the whole response.

    Raises:
        NotApplicable: there is no such list.
        ValueError: it is of another form.
    """
    given = record.meta.get("claims")
    if given is None:
        raise NotApplicable("the record has no claims of its own (a field 'claims')")
    places = Places(record)
    claims = []
    for told in as_claims(given):
        text, triplet = (told, None) if isinstance(told, str) else (statement(told), told)
        place = places.locate(told)
        if place is None:
            claims.append(Claim(text, 0, len(record.response), 0, triplet))
        else:
            claims.append(Claim(text, place.start, place.end, place.sentence, triplet, place.parts))
    return claims


def as_claims(given: Any) -> list[str | Triplet]:
    """A list of statements and triplets, of a list of texts and of lists of three.

    Raises:
        ValueError: it is none; the message says what is wrong.
    """
    if not isinstance(given, list):
        raise ValueError(f"must be a list of texts or triplets, got {shown(given)}")
    return [_claim(value, i) for i, value in enumerate(given)]


def _claim(value: Any, i: int) -> str | Triplet:
    parts = [value] if isinstance(value, str) else value
    fits = isinstance(parts, list) and all(isinstance(p, str) for p in parts)
    if not fits or len(parts) not in (1, 3) or not any(p.strip() for p in parts):
        raise ValueError(f"must hold texts or triplets of texts; at {i} is {shown(value)}")
    for part in parts:
        clean_text(part)
    return parts[0] if len(parts) == 1 else (parts[0], parts[1], parts[2])
