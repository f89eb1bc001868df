"""Each sentence of the response as a claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veridical.claims.abstain import abstains
from veridical.claims.claim import Claim, Extraction

if TYPE_CHECKING:
    from veridical.evidence import Evidence
    from veridical.records import Record


async def extract(record: Record, evidence: Evidence) -> Extraction:
    """One claim a sentence of ``record.sentences``, without white space around it.

    A sentence without a letter or digit claims nothing; a response that abstains has no claims.

    Raises:
        NotApplicable: the response is empty.

    Source: Hu et al. 2024 (RefChecker), section 5.1, "sentence".
    """
    if abstains(record.need_response()):
        return Extraction((), abstained=True)
    return Extraction(tuple(sentence_claims(record)))


def sentence_claims(record: Record) -> list[Claim]:
    """Every sentence with a letter or digit, whole."""
    claims = []
    for i, sentence in enumerate(record.sentences):
        text = sentence.text.strip()
        if any(map(str.isalnum, text)):
            start = sentence.start + sentence.text.index(text)
            claims.append(Claim(text, start, start + len(text), i))
    return claims
