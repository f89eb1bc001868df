"""Triplets by a tagger that was distilled from an LLM's (``veridical train extractor``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from veridical.claims.abstain import unless_abstained
from veridical.claims.claim import Claim, Extraction
from veridical.errors import UsageError
from veridical_lab.tagger.candidates import candidates, choose
from veridical_lab.tagger.model import Tagger, read_tagger
from veridical_lab.tagger.reading import Read, read_response

if TYPE_CHECKING:
    from veridical.core.evidence import Evidence
    from veridical.core.records import Record


@unless_abstained
async def extract(record: Record, evidence: Evidence, *, model: str) -> Extraction:
    """Extract the triplets that a trained tagger finds in each sentence.

    The run's token encoder reads each sentence. One network marks tails, another marks the head and
    the relation of each. A logistic regression chooses among these triplets and the clauses of the
    rules (:mod:`~veridical.claims.extractors.triplets`). A clause that the chosen claims hardly
    cover is kept. Claims use only words of the sentence: a relation's words may be separate, and a
    pronoun stays one.

    Args:
        model: the file written by ``veridical train extractor``.

    Raises:
        NotApplicable: the response is empty, or the encoder does not support its script.
        UsageError: the file is unusable, or was trained with another token encoder.
        ModelError: the encoder failed on a sentence, or gives no token vectors.

    Source:
        RefChecker distilled its own extractor, a 7B model, from Claude 2's triplets (Hu et al.
            2024, section 4.1); the tagger is ours.
    """
    tagger = await asyncio.to_thread(read_tagger, model)
    name, revision = await evidence.token_encoder_identity()
    if revision != tagger.revision:
        raise UsageError(
            f"{model} was trained with the token vectors of {tagger.encoder} "
            f"({tagger.revision}), not of {name} ({revision})"
        )
    read = await read_response(record, evidence)
    return Extraction(tuple(await asyncio.to_thread(claims_of, tagger, read)))


def claims_of(tagger: Tagger, read: Read) -> list[Claim]:
    """Return the claims of a response that has been read."""
    claims: list[Claim] = []
    for number, rules in enumerate(read.rules):
        sentence = read.sentences.get(number)
        if sentence is None:
            claims += rules
        else:
            text, start = read.texts[number]
            found = candidates(tagger.networks, text, start, number, sentence, rules)
            claims += choose(tagger.selection, found)
    return claims
