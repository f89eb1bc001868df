"""Clauses as claims: the default extractor, offline and without a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import abstains
from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.clause_rules import clauses_of

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """The clauses of each sentence, by rules on the order of its words.

    Cut apart are coordinated clauses and predicates, relative clauses, appositions, participles,
    lists of names, and what brackets say of the subject, where the words leave no doubt; else a
    sentence stays whole, and so do quotations, questions, conditions and what somebody is reported
    to say. A clause without a subject of its own is given that of the sentence, in front: then
    ``parts`` holds the places of both, and ``start`` and ``end`` are those of the clause's own
    words. A claim's text is its parts in order, joined by spaces: no word is made up. The rules
    know English; sentences of other languages stay whole.

    Raises:
        NotApplicable: the response is empty.
    """
    response = record.need_response()
    if abstains(response):
        return Extraction((), abstained=True)
    claims = []
    for i, sentence in enumerate(record.sentences):
        text = sentence.text.strip()
        if not any(map(str.isalnum, text)):
            continue
        offset = sentence.start + sentence.text.index(text)
        for clause in clauses_of(text):
            parts = tuple((offset + a, offset + b) for a, b in clause.parts)
            claims.append(
                Claim(
                    " ".join(response[a:b] for a, b in parts),
                    offset + clause.start,
                    offset + clause.end,
                    i,
                    parts=parts if len(parts) > 1 else (),
                )
            )
    return Extraction(tuple(claims))
