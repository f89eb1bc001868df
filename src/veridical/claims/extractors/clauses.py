"""Clause extractor: the default, offline and without a parser."""

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
    """Split each sentence into clauses by rules on word order.

    The rules split coordinated clauses and predicates, relative clauses, appositions, participles,
    lists of names, and statements in brackets about the subject. In ambiguous cases a sentence
    stays whole, and so do quotations, questions, conditions and reported speech. A clause without a
    subject takes that of the sentence as a prefix. ``parts`` then holds the places of both;
    ``start`` and ``end`` are those of the clause's own words. A claim's text is its parts in order,
    joined by spaces, without citation numbers; no word is added. A short answer to a question is
    one claim, combined with the question into a statement. The rules are for English; sentences in
    other languages stay whole.

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
    """Normalise a statement for comparison, as it may have gained a capital or a full stop."""
    return text.strip().rstrip(".").lower()
