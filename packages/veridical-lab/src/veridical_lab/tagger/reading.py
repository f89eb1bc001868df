"""Tagger's view of a response: sentence vectors and rule-based claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from veridical.claims.claim import Claim
from veridical.claims.extractors import triplets
from veridical.claims.extractors.sentences import sentence_claims
from veridical.text.citations import blanked_markers, without_markers
from veridical.text.words import word_spans
from veridical_lab.tagger.features import LONGEST, Sentence, sentence_of

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


class Read(NamedTuple):
    """A response that has been read.

    Attributes:
        texts: of each sentence the text, citations blanked, and where it starts in the response.
        sentences: those to be tagged, by index: neither longer than :data:`LONGEST` words nor a
            short answer that is read with its question.
        rules: what the rules claim of each sentence.
    """

    texts: Sequence[tuple[str, int]]
    sentences: Mapping[int, Sentence]
    rules: Sequence[Sequence[Claim]]


async def read_response(record: Record, evidence: Evidence) -> Read:
    """Read the response; all sentences are requested in one call.

    Raises:
        NotApplicable: it is empty, or the encoder does not support its script.
        ModelError: the encoder failed on a sentence, or gives no token vectors.
    """
    rules: list[list[Claim]] = [[] for _ in record.sentences]
    for claim in (await triplets.extract(record, evidence)).claims:
        rules[claim.sentence].append(claim)
    texts = [(blanked_markers(s.text), s.start) for s in record.sentences]
    tagged = [
        claim.sentence
        for claim in sentence_claims(record)
        if claim.text == without_markers(record.response[claim.start : claim.end])
        and len(word_spans(texts[claim.sentence][0])) <= LONGEST
    ]
    vectors = await evidence.token_vectors([texts[i][0] for i in tagged]) if tagged else []
    sentences = {i: sentence_of(texts[i][0], v) for i, v in zip(tagged, vectors, strict=True)}
    return Read(texts, sentences, rules)
