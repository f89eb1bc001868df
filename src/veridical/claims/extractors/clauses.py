"""Clauses as claims: the default extractor, offline and without a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.claim import Claim, Extraction
from veridical.claims.extractors.clause_rules import clauses_of
from veridical.claims.extractors.sentences import sentence_claims
from veridical.text.citations import blanked_markers, without_markers
from veridical.text.readable import readable

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


@unless_abstained
async def extract(record: Record, evidence: Evidence) -> Extraction:
    """The clauses of each sentence, by rules on the order of its words.

    Cut apart are coordinated clauses and predicates, relative clauses, appositions, participles,
    lists of names, and what brackets say of the subject, where the words leave no doubt; else a
    sentence stays whole, and so do quotations, questions, conditions and what somebody is reported
    to say. A clause without a subject of its own is given that of the sentence, in front: then
    ``parts`` holds the places of both, and ``start`` and ``end`` are those of the clause's own
    words. A claim's text is its parts in order, joined by spaces, without citations by number: no
    word is made up. A short answer to a question is one claim, whose text is the statement that
    both make. The rules know English; sentences of other languages stay whole.

    Raises:
        NotApplicable: the response is empty.
    """
    claims = []
    for sentence in sentence_claims(record):
        said = record.response[sentence.start : sentence.end]
        clauses = clauses_of(blanked_markers(said))
        own = _bare(sentence.text) == _bare(readable(without_markers(said)))
        if len(clauses) == 1 or not own:
            claims.append(sentence)
            continue
        for clause in clauses:
            parts = tuple((sentence.start + a, sentence.start + b) for a, b in clause.parts)
            claims.append(
                Claim(
                    readable(without_markers(" ".join(record.response[a:b] for a, b in parts))),
                    sentence.start + clause.start,
                    sentence.start + clause.end,
                    sentence.sentence,
                    parts=parts if len(parts) > 1 else (),
                )
            )
    return Extraction(tuple(claims))


def _bare(text: str) -> str:
    """A statement as it is compared: it may have got a capital and a stop."""
    return text.strip().rstrip(".").lower()
